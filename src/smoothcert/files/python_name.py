"""package.module:name, as Python finds it."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.shown import one_line


def imported(spec: str) -> Any:
    """What `package.module:name` names. The module is imported, so its code runs: only for what a user asked for.

    The current folder is searched last.
    """
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise InputError(f"{spec!r} is not of the form package.module:name")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # console scripts start without it
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"{spec}: cannot import {module_name}: no module named {error.name}") from error
    except Exception as error:  # anything at all can happen inside somebody's module
        raise InputError(f"{spec}: importing {module_name} raised {one_line(error)}") from error
    if not hasattr(module, attribute):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise InputError(f"{spec}: {module_name} has no {attribute}{did_you_mean(attribute, names)}")
    return getattr(module, attribute)
