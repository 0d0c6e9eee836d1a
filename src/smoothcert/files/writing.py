"""Files that are either there whole or not there, and folders that have one owner."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from smoothcert.errors import InputError


def write_atomically(path: Path, data: bytes) -> None:
    """After a crash at any moment `path` holds either its old bytes or the new ones."""
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

    Those who hold it shared tolerate each other, but no sole owner.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{purpose}.lock").open("a") as file:
        try:
            _lock(file.fileno(), shared)
        except OSError as error:
            raise InputError(f"{folder}: another process is busy with it: wait, or use another folder") from error
        yield


def _lock(handle: int, shared: bool) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        if not shared:  # which Windows does not offer
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
