"""The commands of a bash block: which they are, and whether they could be given."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator

from smoothcert.cli import COMMANDS, command_class
from smoothcert.cli.parse import parse
from tests.docs.block import ROOT

# Not ours.
LEFT_ALONE = {"cd", "export", "ls", "cat", ".", "git", "sbatch"}


def commands(text: str) -> Iterator[list[str]]:
    """Each simple command as a list of words, without comments; of a loop, its first turn."""
    values: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
        words.whitespace_split = True
        simple: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set(";&|"):
                while simple and simple[0] == "do":
                    simple.pop(0)
                if simple[:1] == ["for"]:
                    values[simple[1]] = simple[3]
                elif simple and simple != ["done"]:
                    yield [re.sub(r"\$(\w+)", lambda m: values.get(m[1], m[0]), word) for word in simple]
                simple = []
            else:
                simple.append(word)


def without_redirection(words: list[str]) -> list[str]:
    return words[: words.index(">")] if ">" in words else words


def of_smoothcert(words: list[str]) -> list[str] | None:
    """The arguments of our command, whether started alone or by torchrun."""
    if words[0] == "smoothcert":
        return without_redirection(words[1:])
    if words[0] == "torchrun" and words[-1:] != ["--"] and "--" in words:
        place = words.index("--")
        assert words[place - 2 : place] == ["-m", "smoothcert"], words
        return without_redirection(words[place + 1 :])
    return None


def check(words: list[str]) -> None:
    """Fails if this command could not be given as it stands."""
    arguments = of_smoothcert(words)
    if arguments is not None:
        _check_ours(arguments)
    elif words[0] == "python":
        _check_script(words[1:])
    elif words[0] == "make":
        targets = re.search(r"^\.PHONY:(.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
        assert set(words[1:]) <= set(targets), f"make has no {words[1:]}"
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        named = {extra for word in words for extra in re.findall(r"\[([\w,]+)\]", word)}
        assert {e for extra in named for e in extra.split(",")} <= set(extras), words
    else:
        assert words[0] in LEFT_ALONE, f"nobody knows how to try {' '.join(words)}"


def _check_ours(arguments: list[str]) -> None:
    if arguments in (["--help"], ["--version"]):
        return
    name, *options = arguments
    assert name in COMMANDS, f"there is no command {name}"
    if options != ["--help"]:
        parse(command_class(name), f"smoothcert {name}", options)


def _check_script(words: list[str]) -> None:
    if words[:2] == ["-m", "venv"]:
        return
    name = f"{words[1].replace('.', '/')}.py" if words[0] == "-m" else words[0]
    script = ROOT / name
    assert script.is_file(), f"there is no {name}"
    for option in [word for word in words if word.startswith("--")]:
        assert f'"{option}"' in script.read_text(), f"{name} has no option {option}"
