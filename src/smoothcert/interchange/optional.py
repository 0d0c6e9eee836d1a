"""Packages that only some users need."""

from __future__ import annotations

import importlib
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line as one_line


def optional(package: str, extra: str) -> Any:
    """The imported package, or one line that says how to get it."""
    root = package.split(".")[0]
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != root:
            raise InputError(f"{root} is installed but needs {error.name}, which is not") from error
        raise InputError(f"{root} is not installed: pip install 'smoothcert[{extra}]'") from None
    except Exception as error:  # a build for another torch raises whatever its own start raises
        raise InputError(f"{root} is installed but cannot be imported: {one_line(error)}") from error
