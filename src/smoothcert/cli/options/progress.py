"""How a long command shows how far it is."""

from __future__ import annotations

from typing import Annotated, Literal

import tyro

Style = Literal["auto", "bar", "plain", "none"]
Progress = Annotated[
    Style,
    tyro.conf.arg(
        help="on standard error: a bar, a plain line every 30 seconds, or nothing; auto: a bar if that is a terminal"
    ),
]
