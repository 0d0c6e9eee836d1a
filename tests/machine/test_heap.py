"""A process that keeps freed memory pays for its pages once."""

import platform
import subprocess
import sys

import pytest

from smoothcert.machine.heap import keep_freed_memory

FAULTS_OF_TEN_BUFFERS = """
import resource
from smoothcert.machine.heap import keep_freed_memory
{setting}
def fill():
    b"x" * (48 << 20)
fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(setting: str) -> int:
    command = [sys.executable, "-c", FAULTS_OF_TEN_BUFFERS.format(setting=setting)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has mallopt")
def test_kept_memory_is_taken_again_without_page_faults() -> None:
    assert faults("keep_freed_memory()") < 100 < faults("")


def test_a_c_library_without_the_switch_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (AttributeError, TypeError):

        def refuse(_: object, error: type[Exception] = error) -> None:
            raise error

        monkeypatch.setattr("ctypes.CDLL", refuse)
        keep_freed_memory()
