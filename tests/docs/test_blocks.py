"""Every code block of every page works: it is run, or at least could be given as it stands."""

import contextlib
import json
import re
import sys

import pytest
import yaml

from smoothcert.errors import InputError
from smoothcert.recipes.recipe_file import read_recipe
from tests.cli.running import smoothcert
from tests.docs.block import MODES, PAGES, ROOT, Block, blocks
from tests.docs.shell import check, commands, of_smoothcert

BLOCKS = {page: blocks(page) for page in PAGES}
NUMBER = re.compile(r"[-−+]?\d[\d.,]*")


class Session:
    """The blocks of one page, one after another, in one folder and one Python."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = folder, capsys
        self.names = {"__name__": "__main__", "ROOT": ROOT}
        self.printed = ""

    def do(self, block):
        getattr(self, f"{block.language}_{block.mode}")(block)

    def python_run(self, block):
        exec(compile("\n" * block.line + block.text, str(block.page), "exec"), self.names)
        self.printed = self.capsys.readouterr().out

    setup_run = python_run

    def python_file(self, block):
        (self.folder / block.more).write_text(block.text)

    toml_file = python_file

    def python_compile(self, block):
        assert block.more, "say why it is not run"
        code = compile(block.text, str(block.page), "exec")
        imports = [line for line in block.text.splitlines() if re.match(r"(from|import) smoothcert", line)]
        exec("\n".join(imports), {})
        assert code.co_names

    def bash_parse(self, block):
        for words in commands(block.text):
            check(words)

    def bash_run(self, block):
        self.printed, more = "", block.more.removeprefix("with ").split()
        for words in commands(block.text):
            check(words)
            arguments = of_smoothcert(words)
            assert words[0] == "smoothcert" and arguments, f"only our own commands are run, not {words}"
            done = smoothcert(*arguments, *more, cwd=self.folder)
            assert done.returncode == 0, done
            self.printed += done.stdout

    def toml_recipe(self, block):
        (self.folder / "block.toml").write_text(block.text)
        read_recipe(self.folder / "block.toml")

    def json_read(self, block):
        json.loads(block.text)

    def yaml_read(self, block):
        yaml.safe_load(block.text)

    def text_show(self, block):
        pass

    def text_output(self, block):
        assert self.printed == block.text

    def text_like(self, block):
        assert shape(self.printed) == shape(block.text)


def shape(text):
    """Numbers differ from machine to machine, and with them the width of columns."""
    return re.sub(r"[\s─━]+", " ", NUMBER.sub("0", text)).strip()


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCKS[page]], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "path", [*sys.path])  # a factory's folder is added to it
    before = set(sys.modules)
    session = Session(tmp_path, capsys)
    try:
        for block in BLOCKS[page]:
            with named(block):
                session.do(block)
    finally:
        for name in set(sys.modules) - before:  # two pages may have a file of the same name
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


@contextlib.contextmanager
def named(block):
    """Whatever fails says in which block."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the block at {block}")
        raise


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_says_its_language_and_a_mode_that_exists(page):
    for block in BLOCKS[page]:
        assert block.mode in MODES.get(block.language, ()), f"{block}: ```{block.language}, test: {block.mode}"
    fences = len(re.findall(r"^\s*```", page.read_text(), re.M))
    assert fences == 2 * sum(block.language != "setup" for block in BLOCKS[page]), "a fence is not seen as a block"
    marks = page.read_text().count("\n<!-- test:")
    assert marks == sum(block.marked for block in BLOCKS[page]), "a mark stands above no block"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_command_hides_in_an_indented_block(page):
    outside = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    assert not re.findall(r"\n\n {4}(?:smoothcert|python|torchrun|make|pip) .*", outside)


@pytest.mark.parametrize(
    ("language", "mode", "text"),
    [
        ("python", "run", "import smoothcert\nsmoothcert.nothing"),
        ("python", "compile", "from smoothcert import nothing"),
        ("bash", "parse", "smoothcert certfy RUN"),
        ("bash", "parse", "smoothcert certify RUN --evry 10"),
        ("bash", "parse", "for m in a b; do smoothcert train $m --sede 1 && smoothcert certify $m; done"),
        ("bash", "parse", "torchrun --nproc-per-node 2 -m smoothcert -- certify RUN --nothing"),
        ("bash", "parse", "python bench/nothing.py"),
        ("bash", "parse", "python bench/votes.py --nothing"),
        ("bash", "parse", "make nothing"),
        ("bash", "parse", "pip install 'smoothcert[nothing]'"),
        ("bash", "parse", "rm -rf /"),
        ("bash", "run", "smoothcert table nowhere"),
        ("toml", "recipe", 'data = "mnist"'),
        ("json", "read", "{"),
        ("text", "output", "something"),
        ("text", "like", "something"),
    ],
)
def test_a_wrong_block_is_noticed(language, mode, text, tmp_path, capsys):
    block = Block(tmp_path / "page.md", 1, language, mode, "because", text + "\n")
    with pytest.raises((AssertionError, AttributeError, ImportError, InputError, ValueError)):
        Session(tmp_path, capsys).do(block)
