"""Our docstrings say "Example:"; Griffe shows doctests as code under "Examples:" only."""

from __future__ import annotations

import re
from typing import Any

import griffe

_HEADING = re.compile(r"^Example:$", re.M)


class Examples(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = _HEADING.sub("Examples:", obj.docstring.value)
