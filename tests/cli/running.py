"""Running a command in this process, which has waited for torch already."""

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from smoothcert import cli


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def smoothcert(*arguments, cwd):
    out, errors, here = io.StringIO(), io.StringIO(), Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_leave", sys.exit)  # the real one ends the process
        os.chdir(cwd)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
                cli.main(list(map(str, arguments)))
        except SystemExit as stop:
            code = stop.code or 0
        finally:
            os.chdir(here)
    return Done(code, out.getvalue(), errors.getvalue())


def fails(*arguments, cwd):
    """The one line that a wrong call prints."""
    done = smoothcert(*arguments, cwd=cwd)
    assert done.returncode == 2, done
    assert done.stdout == "" and done.stderr.count("\n") == 1 and done.stderr.startswith("smoothcert: "), done.stderr
    return done.stderr
