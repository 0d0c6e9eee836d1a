"""Our logs as the community's TSV: idx, label, predict, radius, correct, time."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import ROUND_FLOOR, Context, Decimal

from smoothcert.analysis.results import Results
from smoothcert.errors import InputError


def to_tsv(results: Results, digits: int | None = None) -> str:
    """One line per image, in the log's order. Abstentions are −1 with radius 0.0, as everywhere in that format.

    Without `digits` a radius is printed so that it is read back as the same float; with, cut to so many significant
    digits towards zero. The format's usual `{:.3}` rounds to nearest and so prints radii that were never certified.
    """
    if digits is not None and digits < 1:
        raise InputError(f"--digits must be at least 1, not {digits}")
    lines = ["idx\tlabel\tpredict\tradius\tcorrect\ttime"]
    for i in range(len(results)):
        radius = radius_text(float(results.radius[i]), digits)
        whole = results.index[i], results.label[i], results.predict[i]
        lines.append(f"{whole[0]}\t{whole[1]}\t{whole[2]}\t{radius}\t{int(results.correct[i])}\t{_time(results, i)}")
    return "\n".join(lines) + "\n"


def radius_text(radius: float, digits: int | None = None) -> str:
    """The shortest decimal of this float, or its first significant digits: never more than the radius.

    >>> radius_text(0.9529, 3), radius_text(1.9999, 3), radius_text(0.3), radius_text(0.0, 3)
    ('0.952', '1.99', '0.3', '0.0')
    """
    if digits is None or radius == 0:
        return repr(radius)
    return format(Context(prec=digits, rounding=ROUND_FLOOR).plus(Decimal(repr(radius))), "f")


def _time(results: Results, i: int) -> str:
    seconds = float(results.seconds[i]) if results.seconds is not None else math.nan
    return str(timedelta(seconds=seconds)) if math.isfinite(seconds) else ""
