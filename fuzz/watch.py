"""One input under watch: its time, its memory, and whether anything in it was executed."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from fuzz import canary
from smoothcert.errors import InputError

SECONDS = 5.0
MEMORY = 2**30  # bytes of address space beyond what the process has
RESIDENT = 384 * 2**20  # bytes by which one input may raise the peak of the process
FORBIDDEN = (
    "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.remove",
    "os.rmdir", "os.chmod", "os.symlink", "os.link", "subprocess.Popen", "pickle.find_class", "socket.connect",
    "socket.getaddrinfo", "urllib.Request", "ctypes.dlopen", "shutil.rmtree",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """`find` is empty where the reader did its duty; else it names what went wrong, and where."""

    accepted: bool
    seconds: float
    find: str = ""
    details: str = ""


class TooSlow(BaseException):
    """Not an Exception: nobody who catches those may catch this."""


class _Auditor:
    """Python reports what could reach outside; while an input is watched, that is written down."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.seen: list[str] = []
        sys.addaudithook(self._hear)  # cannot be taken away again

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            if not isinstance(arguments[0], int) and not _is_inside(arguments[0], self.folder):
                self.seen.append(f"open for writing {arguments[0]!r}")
        elif event in FORBIDDEN and not (event == "os.remove" and _is_inside(arguments[0], self.folder)):
            self.seen.append(f"{event} {arguments!r}"[:200])


def _is_inside(path: Any, folder: str) -> bool:
    return os.path.realpath(os.fsdecode(path)).startswith(folder + os.sep)


_auditor = _Auditor()


def watched(read: Callable[[Path], object], path: Path, seconds: float = SECONDS, resident: int = RESIDENT) -> Outcome:
    """Read `path`. Fine is a value or an InputError, in time, in memory, without a side effect beside `path`."""
    canary.fired.clear()
    before = _start_peak()
    start = time.perf_counter()
    find, details, accepted = "", "", False
    with _limits(path.parent, seconds):
        try:
            read(path)
            accepted = True
        except InputError as error:
            if any(isinstance(cause, MemoryError) for cause in _causes(error)):
                find, details = f"memory-{_place(error)}", _text(error)
            elif len(" ".join(str(error).split())) > 2000:
                find, details = f"long-message-{_place(error)}", str(error)[:300]
        except TooSlow as error:
            find, details = f"slow-{_place(error)}", _text(error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            find, details = f"{type(error).__name__}-{_place(error)}", _text(error)
        seen = list(_auditor.seen)
    spent = time.perf_counter() - start
    if canary.fired or seen:
        find, details = "executed", "; ".join([*seen, *canary.fired])
    elif not find and _peak() - before > resident:
        find, details = "resident", f"the peak rose by {(_peak() - before) >> 20} MiB"
    elif not find and spent > seconds:  # C code does not hear the alarm
        find, details = "slow-outside-python", f"{spent:.1f} s"
    return Outcome(accepted, spent, find, details)


@contextlib.contextmanager
def _limits(folder: Path, seconds: float) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, _too_slow)
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _auditor.seen.clear()
    _auditor.folder = os.path.realpath(folder)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + MEMORY, hard))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        _auditor.folder = None
        sys.dont_write_bytecode = bytecode
        signal.signal(signal.SIGALRM, before)


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _start_peak() -> int:
    """Forget the highest peak so far; what is resident now."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _peak()


def _peak() -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _place(error: BaseException) -> str:
    """The innermost line of ours on the way to the error."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "smoothcert" in Path(frame.filename).parts]
    return f"{Path(ours[-1].filename).stem}-{ours[-1].name.strip('_<>')}" if ours else "elsewhere"


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-6))[-3000:]
