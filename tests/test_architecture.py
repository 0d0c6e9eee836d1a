"""The house: which room may use which, read from the imports."""

import ast
from pathlib import Path

import pytest

import smoothcert

SOURCE = Path(__file__).parents[1] / "src" / "smoothcert"

EVERYWHERE = {"errors"}
MAY_USE = {
    "files": set(),
    "machine": set(),
    "paper": set(),
    "stats": set(),
    "noise": set(),
    "attacks": {"files"},
    "models": {"files", "machine"},
    "interchange": {"models", "files"},
    "data": {"files"},
    "procedures": {"stats", "noise"},
    "smoothed": {"procedures", "noise", "models", "machine"},
    "objectives": {"attacks", "noise", "models"},
    "recipes": {"noise", "objectives", "attacks", "paper", "stats", "files", "machine"},
    "records": {"recipes", "procedures", "noise", "files", "machine"},
    "training": {
        "records",
        "recipes",
        "objectives",
        "smoothed",
        "noise",
        "models",
        "interchange",
        "data",
        "files",
        "machine",
    },
    "certification": {
        "records",
        "recipes",
        "procedures",
        "smoothed",
        "noise",
        "models",
        "interchange",
        "data",
        "files",
        "machine",
    },
    "analysis": {"records", "recipes", "objectives", "procedures", "stats", "noise", "paper", "files"},
    "figures": {"analysis", "paper", "files", "procedures", "noise"},
    "report": {"analysis", "figures", "paper", "procedures", "records", "data", "certification", "noise", "recipes"},
    "audit": {
        "certification",
        "models",
        "records",
        "procedures",
        "smoothed",
        "stats",
        "noise",
        "attacks",
        "data",
        "files",
        "recipes",
        "machine",
    },
    "reproduction": {
        "recipes",
        "training",
        "certification",
        "analysis",
        "figures",
        "paper",
        "procedures",
        "attacks",
        "data",
        "noise",
        "records",
        "files",
        "machine",
    },
}
ALLOWED = {**MAY_USE, "cli": set(MAY_USE), **{module: set() for module in EVERYWHERE}}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def rooms_used(code: str) -> set[str]:
    used = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        used |= {name.split(".")[1] for name in names if name.startswith("smoothcert.")}
    return used - {"__version__", *smoothcert.__all__}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_a_room_uses_only_the_rooms_it_may(file):
    room = room_of(file)
    if room in ("__init__", "__main__"):
        return
    used = rooms_used(file.read_text())
    assert used <= ALLOWED[room] | EVERYWHERE | {room}, f"{room} reaches into {used - ALLOWED[room] - {room}}"


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) == "cli"], ids=lambda f: f.name)
def test_commands_hold_no_lock(file):
    """Whoever writes takes the lock: a caller of the library needs it as much."""
    assert "sole_owner" not in file.read_text()


OF_THE_LIBRARY = (
    "training.loop", "training.team", "certification.run", "certification.crew", "certification.target", "audit.run",
    "audit.attack", "smoothed", "models", "machine.device",
)  # fmt: skip


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) == "cli"], ids=lambda f: f.name)
def test_commands_call_verbs_and_do_not_do_their_work(file):
    """What a command can do, ten lines of Python can do: it opens no model, makes no classifier, runs no loop."""
    tree = ast.parse(file.read_text())
    hints = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typing = {id(node) for hint in hints for node in ast.walk(hint)}
    used = {
        f"{node.module}."
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing
    }
    assert not [name for name in used if name.startswith(tuple(f"smoothcert.{inner}." for inner in OF_THE_LIBRARY))]


def test_a_forbidden_import_would_be_seen():
    assert rooms_used("from smoothcert import training") == {"training"}
    assert rooms_used("def f():\n    from smoothcert.training.loop import train") == {"training"}
    assert not rooms_used("from smoothcert.training import train") <= ALLOWED["stats"] | EVERYWHERE


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) in ("stats", "procedures")], ids=lambda f: f.name)
def test_statistics_know_nothing_of_torch(file):
    assert "torch" not in file.read_text().replace("no torch", "").replace("without torch", "")
