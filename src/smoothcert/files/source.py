"""Python code that is named as package.module:Name: imported where that was asked for, and told by its hash."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeGuard

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import one_line

_SPEC = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_LONGEST = 200  # letters
# Whoever sends a file must not have Python's own functions called by naming them in it.
_NOT_ONES_OWN = {*sys.stdlib_module_names, "__main__", "smoothcert"}


def is_spec(name: object) -> TypeGuard[str]:
    """Whether it reads as package.module:Name.

    >>> is_spec("mine.losses:Focal"), is_spec("cross_entropy")
    (True, False)
    """
    return isinstance(name, str) and len(name) <= _LONGEST and _SPEC.fullmatch(name) is not None


def spec_of(kind: type) -> str | None:
    """package.module:Name under which another process finds this class; None: in no file, or in a function."""
    module = sys.modules.get(kind.__module__)
    name = _main_name() if kind.__module__ == "__main__" else kind.__module__
    found = name is not None and getattr(module, kind.__qualname__, None) is kind
    return f"{name}:{kind.__name__}" if found else None


def imported(spec: str) -> Any:
    """What `package.module:Name` names. Its module is imported, so its code runs: for names that a person gave.

    The current folder is searched last.
    """
    if not is_spec(spec):
        raise InputError(f"{spec!r} is not of the form package.module:Name")
    name, _, attribute = spec.partition(":")
    module = _module(name)
    if not hasattr(module, attribute):
        names = [known for known in vars(module) if not known.startswith("_")]
        raise InputError(f"{spec}: {name} has no {attribute}{did_you_mean(attribute, names)}")
    return getattr(module, attribute)


def sha256_of(name: str) -> str:
    """Of the file of a module, which is imported; InputError where the code in memory is not that of the file."""
    module = _module(name)
    if not (path := getattr(module, "__file__", None)):
        raise InputError(f"{name} is in no file of its own, so that nobody could tell whether it is the same later")
    with Path(path).open("rb") as file:
        source = file.read()
    if path.endswith(".py") and not _compiled_from(module, source):
        raise InputError(f"{path} has changed since Python imported it: start Python anew")
    return hashlib.sha256(source).hexdigest()


def sha256_on_disk(name: str) -> str:
    """Of the file that importing the module would run, found without running anything, no package above it either."""
    _require_ones_own(name)
    path: str | None = None
    if name == _main_name():
        path = sys.modules["__main__"].__file__
    else:
        parts, folders = name.split("."), [*sys.path, os.getcwd()]
        for depth in range(1, len(parts) + 1):
            found = PathFinder.find_spec(".".join(parts[:depth]), folders)
            path, folders = (found.origin, list(found.submodule_search_locations or ())) if found else (None, [])
    if path is None or not Path(path).is_file():
        raise InputError(f"cannot find {name} here or on Python's path: go to the folder it is in, or set PYTHONPATH")
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_ones_own(name: str) -> None:
    if name.split(".")[0] in _NOT_ONES_OWN:
        raise InputError(f"{name} is not a module of one's own: give the file another name")


def _module(name: str) -> ModuleType:
    _require_ones_own(name)
    if name == _main_name():  # a second copy would run the script again
        return sys.modules["__main__"]
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # console scripts start without it
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        hint = "" if error.name != name else " here or on Python's path: go to the folder it is in, or set PYTHONPATH"
        raise InputError(f"cannot import {name}: no module named {error.name}{hint}") from error
    except Exception as error:  # anything at all can happen inside somebody's module
        raise InputError(f"importing {name} raised {one_line(error)}") from error


def _main_name() -> str | None:
    """As what the running script can be imported: `python own.py` is own; None in a notebook or at the prompt."""
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return str(spec.name)
    name = Path(getattr(main, "__file__", None) or "").stem
    return name if name.isidentifier() else None


def _compiled_from(module: ModuleType, source: bytes) -> bool:
    """Whether the functions of the module, and of its classes, are those of this source."""
    try:
        there = set(_nested(compile(source, str(module.__file__), "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return False
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    own += [value for kind in own if isinstance(kind, type) for value in vars(kind).values()]
    codes = [code for value in own if isinstance(code := getattr(value, "__code__", None), CodeType)]
    return all(code in there for code in codes if code.co_filename == module.__file__)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
