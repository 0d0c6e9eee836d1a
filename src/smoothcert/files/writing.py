"""Files that are either there whole or not there, and folders that have one owner."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from smoothcert.errors import InputError

_LEAVING = 1.0  # seconds: more than enough for one of several owners to leave


def write_atomically(path: Path, data: bytes) -> None:
    """After a crash at any moment `path` holds either its old bytes or the new ones; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def refuse_to_replace(path: Path, read: Iterable[Path]) -> None:
    """InputError where writing `path` would replace one of the files that are read, however it is spelled."""
    if path.exists() and any(other.exists() and path.samefile(other) for other in read):
        raise InputError(f"{path}: is what is read here: name another file to write")


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def sole_owner(folder: Path, purpose: str, shared: bool = False) -> Iterator[None]:
    """Hold `folder` for one process at a time; the lock dies with its owner, also after kill -9.

    Those who hold it shared tolerate each other, but no sole owner. The lock file is deleted by its last owner, where
    the system can (Windows cannot while it is open). A folder made for it is deleted with it, if nothing else came in.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    path = folder / f".{purpose}.lock"
    with _locked(path, shared) as file:
        try:
            yield
        finally:
            _delete(path, file, shared)
            with contextlib.suppress(OSError):  # not empty, or not there any more
                for one in made:
                    one.rmdir()


def _locked(path: Path, shared: bool) -> IO[str]:
    """The lock file, open and locked. A lock on one that was deleted meanwhile holds nobody off: once more."""
    patience = time.monotonic() + (_LEAVING if shared else 0.0)
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("a")
        except FileNotFoundError:  # the folder was deleted meanwhile
            continue
        try:
            _lock(file.fileno(), shared)
        except OSError as error:
            file.close()
            # One of several owners who leaves asks for a moment whether it is the last: that is no sole owner.
            if time.monotonic() < patience:
                time.sleep(0.01)
                continue
            raise InputError(f"{path.parent}: another process is busy with it: wait, or use another folder") from error
        if _is_there(path, file):
            return file
        file.close()


def _delete(path: Path, file: IO[str], shared: bool) -> None:
    """While it is locked for this process alone, so that nobody can hold what is deleted; else it stays."""
    with contextlib.suppress(OSError):
        if shared:
            _lock(file.fileno(), shared=False)  # fails while others hold it
        if _is_there(path, file):
            path.unlink()


def _is_there(path: Path, file: IO[str]) -> bool:
    """Whether the path still leads to the file that was opened."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _lock(handle: int, shared: bool) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        if not shared:  # which Windows does not offer
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
