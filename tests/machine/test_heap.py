"""A process that keeps freed memory does not ask the system for it again."""

import platform
import subprocess
import sys

import pytest

from smoothcert.machine.heap import keep_freed_memory

MEBIBYTES_LEFT_AFTER_FREEING_48 = """
import resource
from pathlib import Path
from smoothcert.machine.heap import keep_freed_memory
{setting}
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20
before = resident()
b"x" * (48 << 20)
print(resident() - before)
"""


def left_after_freeing_48(setting: str) -> int:
    command = [sys.executable, "-c", MEBIBYTES_LEFT_AFTER_FREEING_48.format(setting=setting)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_freed_memory_stays_with_the_process_only_where_that_is_asked_for() -> None:
    assert left_after_freeing_48("keep_freed_memory()") >= 47
    assert left_after_freeing_48("") <= 1


def test_a_c_library_without_the_switch_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (AttributeError, TypeError):

        def refuse(_: object, error: type[Exception] = error) -> None:
            raise error

        monkeypatch.setattr("ctypes.CDLL", refuse)
        keep_freed_memory()
