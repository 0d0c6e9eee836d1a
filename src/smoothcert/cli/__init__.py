"""The command line: one file per verb, imported only when it is called, so that --help is instant."""

from __future__ import annotations

import errno
import keyword
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from smoothcert import __version__
from smoothcert.errors import InputError, Notice, did_you_mean
from smoothcert.machine.processes import place

COMMANDS = {
    "demo": "train and certify two classifiers on real digits, and compare them",
    "recipes": "list what can be trained, with the paper's ACR and the cost",
    "show": "all that decides a recipe's result, as TOML, and its printed row",
    "train": "train a recipe",
    "reproduce": "train and certify what is missing of a table, and compare it with the paper",
    "advise": "which way to certificates is worth it for a model you have: as is, denoiser, fine-tune, train",
    "certify": "certify a run, or any model, on a test set or images of your own",
    "merge": "join the parts of a log that several processes wrote",
    "predict": "predict with a smoothed classifier",
    "check": "a gate for CI: is the certified accuracy high enough, or no worse than before?",
    "verify": "compute a log's certificates again from its votes, without the model",
    "reveal": "write the secret seed of a finished log into it",
    "sign": "sign a finished log, or make a key to sign with",
    "audit": "attack a log's certificates, and count which of them break",
    "selftest": "test the noise, and the coverage of certificates whose exact radius is known",
    "table": "certified accuracy and ACR of runs and logs",
    "plot": "certified accuracy against radius",
    "figure": "the paper's figures: panels by σ or ablation, p_A, log-probability gaps",
    "leaderboard": "rank runs and logs: ACR at equal n, certified accuracy, cost, p_A",
    "compare": "two runs or logs on the same images, with confidence intervals",
    "report": "one HTML page about runs and logs, to open offline",
    "export-tsv": "write a certification as the community's TSV",
    "data": "list data sets, or fetch one",
    "cost": "what trainings cost: memory, time by phase, hyperparameters",
    "gaps": "how far one image is from being misclassified under noise (figure 1)",
    "import": "turn somebody else's checkpoint into a run",
    "export": "write a run's network as ONNX or safetensors",
}
SHARED = ("train", "certify")  # what several processes of torchrun can do together
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and exit: 0 when done, 2 with one line on bad input, 130 when interrupted.

    Commands themselves exit with 1 where they are done and the answer is no, or some of the logs could not be read.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Before torch is loaded: threads that spin while they wait take the cores from whoever else has work there.
    # Beside two busy processes a training then ran at a thirtieth of its speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", Notice)
            warnings.showwarning = _notice(warnings.showwarning)
            _run(given)
        sys.stdout.flush()
    except InputError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        if _rank() == "0":
            print("smoothcert: interrupted; the same command goes on from here", file=sys.stderr)
        _leave(INTERRUPTED)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _leave(0)
    except OSError as error:
        what = "the disk is full: free some space and give the same command again"
        _fail(what if error.errno == errno.ENOSPC else f"{error.filename or 'system'}: {error.strerror or error}")
    sys.exit(0)


def _run(given: list[str]) -> None:
    if not given or given[0] in ("-h", "--help", "help"):
        print(_overview())
        return
    if given[0] in ("-V", "--version", "version"):
        print(_version())
        return
    name = given[0]
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        raise InputError(f"unknown {kind} {name!r}{did_you_mean(name, COMMANDS)} (see smoothcert --help)")
    from smoothcert.cli.parse import parse

    try:
        call = parse(command_class(name), f"smoothcert {name}", given[1:])
        if place().size > 1 and name not in SHARED:
            raise InputError(f"torchrun is for {' and '.join(SHARED)}: start `smoothcert {name}` without it")
    except InputError:
        if not place().first:
            _leave(2)  # all processes were called alike: the first one says what is wrong
        raise
    call()


def command_class(name: str) -> type[Callable[[], None]]:
    """The dataclass behind a command; only its own file is imported."""
    module = name.replace("-", "_") + "_" * keyword.iskeyword(name)
    command: type[Callable[[], None]] = getattr(
        import_module(f"smoothcert.cli.{module}"), name.title().replace("-", "")
    )
    return command


def _version() -> str:
    from importlib.metadata import version

    return f"smoothcert {__version__} (torch {version('torch')})"  # not by importing torch, which takes seconds


def _notice(others: Callable[..., None]) -> Callable[..., None]:
    """Notices as lines like all others; warnings of other kinds stay as they are shown."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, Notice):
            complain(str(message))
        else:
            others(message, category, *rest, **more)

    return show


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = (f"  {name:<{width}}  {purpose}" for name, purpose in COMMANDS.items())
    return "\n".join(
        (
            "usage: smoothcert COMMAND …\n",
            "Train, certify and compare randomized-smoothing classifiers with a provable guarantee.\n",
            *lines,
            "\n`smoothcert COMMAND --help` explains a command.",
        )
    )


def _fail(message: str) -> NoReturn:
    complain(message)
    _leave(2)


def complain(message: str) -> None:
    """One line on standard error, whatever the message holds."""
    who = "smoothcert" if _rank() == "0" else f"smoothcert (process {_rank()})"
    line = "".join(c if c.isprintable() else "?" for c in " ".join(message.split()))  # a file's text may be in it
    print(f"{who}: {line}", file=sys.stderr)


def _rank() -> str:
    return os.environ.get("RANK", "0")  # not place(), which may be what failed


def _leave(code: int) -> NoReturn:
    # Not sys.exit: threads of torch may still be busy, and nothing is left to be written.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
