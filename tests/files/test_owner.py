"""One owner at a time, and no lock file left behind.

Seen red: a lock taken for good without looking whether its file is still there; a file deleted by one of several who
hold it; a file deleted after the lock was given back.
"""

import os
import signal
import subprocess
import sys

import pytest

from smoothcert.errors import InputError
from smoothcert.files import writing
from smoothcert.files.writing import sole_owner

# Whoever is inside leaves a mark, and looks for those of others that may not be there.
PROCESS = """
import os, sys, time
from pathlib import Path
from smoothcert.errors import InputError
from smoothcert.files.writing import sole_owner

folder, until, shared = Path(sys.argv[1]), time.time() + float(sys.argv[2]), sys.argv[3] == "shared"
mark, times = folder / f"{'shared' if shared else 'sole'}-{os.getpid()}", 0
while time.time() < until:
    try:
        with sole_owner(folder, "x", shared=shared):
            mark.touch()
            others = [path.name for path in folder.glob("s*-*") if path != mark]
            assert not [name for name in others if not shared or name.startswith("sole")], others
            os.sched_yield()
            times += 1
            mark.unlink()
    except InputError:
        pass
print(times)
"""


@pytest.mark.parametrize("kinds", [("sole", "sole"), ("sole", "shared", "shared")], ids=" ".join)
def test_processes_that_come_and_go_never_meet_and_leave_nothing(tmp_path, kinds):
    command = [sys.executable, "-c", PROCESS, str(tmp_path), "2"]
    processes = [subprocess.Popen([*command, kind], stdout=subprocess.PIPE, text=True) for kind in kinds]
    times = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(kinds) and min(times) > 0
    assert not list(tmp_path.iterdir())


def test_a_lock_on_a_file_that_was_just_deleted_is_not_taken_for_one(tmp_path, monkeypatch):
    path, lock, deleted = tmp_path / ".x.lock", writing._lock, []

    def lock_late(handle, shared):
        if not deleted:  # between our opening and our locking the owner before us leaves
            deleted.append(path.unlink())
        lock(handle, shared)

    monkeypatch.setattr(writing, "_lock", lock_late)
    with sole_owner(tmp_path, "x"):
        assert deleted and path.exists()
        with pytest.raises(InputError, match="another process"), sole_owner(tmp_path, "x"):
            pass


def test_the_last_of_several_owners_takes_the_file_away(tmp_path):
    path = tmp_path / ".x.lock"
    with sole_owner(tmp_path, "x", shared=True):
        with sole_owner(tmp_path, "x", shared=True):
            pass
        assert path.exists()
        with pytest.raises(InputError, match="another process"), sole_owner(tmp_path, "x"):
            pass
    assert not path.exists()


def test_one_who_leaves_does_not_turn_another_away(tmp_path, monkeypatch):
    """The one who leaves holds the file alone for an instant."""
    import fcntl

    held = (tmp_path / ".x.lock").open("a")
    fcntl.flock(held, fcntl.LOCK_EX)
    monkeypatch.setattr(writing.time, "sleep", lambda _: held.close())
    with sole_owner(tmp_path, "x", shared=True):
        assert held.closed


def test_a_killed_owner_is_none_and_the_next_one_cleans_up(tmp_path):
    code = "import sys, time; from pathlib import Path; from smoothcert.files.writing import sole_owner\n"
    code += "with sole_owner(Path(sys.argv[1]), 'x'): print('in', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "in\n"
    with pytest.raises(InputError, match="another process"), sole_owner(tmp_path, "x"):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / ".x.lock").exists()
    with sole_owner(tmp_path, "x"):
        pass
    assert not list(tmp_path.iterdir())


def test_what_was_written_keeps_its_folder(tmp_path):
    with sole_owner(tmp_path / "a" / "b", "x"):
        (tmp_path / "a" / "b" / "kept").touch()
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["kept"]
    with pytest.raises(ZeroDivisionError), sole_owner(tmp_path / "c" / "d", "x"):
        raise ZeroDivisionError
    assert not (tmp_path / "c").exists() and os.listdir(tmp_path) == ["a"]
