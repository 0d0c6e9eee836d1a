"""The house: which room may use which, read from the imports."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "smoothcert"

EVERYWHERE = {"errors"}
MAY_USE = {
    "records": set(),
    "machine": set(),
    "paper": set(),
    "stats": {"records"},
    "noise": set(),
    "attacks": {"records"},
    "models": {"records"},
    "data": {"records"},
    "procedures": {"stats", "noise"},
    "smoothed": {"procedures", "noise"},
    "objectives": {"noise"},
    "recipes": {"noise", "objectives", "attacks", "paper", "records"},
    "training": {"recipes", "noise", "models", "data", "records", "machine"},
    "certification": {"recipes", "procedures", "smoothed", "noise", "models", "data", "records", "machine"},
    "analysis": {"recipes", "certification", "procedures", "paper", "records"},
    "audit": {"certification", "procedures", "smoothed", "stats", "noise", "attacks", "data", "records"},
    "reproduction": {"recipes", "analysis", "certification", "paper", "data", "noise", "records"},
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
    return used - {"__version__"}


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


def test_a_forbidden_import_would_be_seen():
    assert rooms_used("from smoothcert import training") == {"training"}
    assert rooms_used("def f():\n    from smoothcert.training.loop import train") == {"training"}
    assert not rooms_used("from smoothcert.training import train") <= ALLOWED["stats"] | EVERYWHERE


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) in ("stats", "procedures")], ids=lambda f: f.name)
def test_statistics_know_nothing_of_torch(file):
    assert "torch" not in file.read_text().replace("no torch", "").replace("without torch", "")
