"""smoothcert compare"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.errors import InputError

if TYPE_CHECKING:
    from smoothcert.analysis.compare import Comparison


@dataclass(frozen=True)
class Compare:
    """A − B on the images both have: ACR and certified accuracy, paired, with confidence intervals."""

    logs: Positional[tuple[Path, ...]]
    """A and B: run folders or log files"""
    radii: tuple[float, ...] = ()
    """radii of the certified accuracies (default: 0, 0.25, … up to the largest)"""
    confidence: float = 0.95
    """of each interval by itself"""
    json: bool = False
    """print one JSON document"""

    def __call__(self) -> None:
        from smoothcert.analysis import read_results
        from smoothcert.analysis.compare import compare
        from smoothcert.analysis.names import told_apart
        from smoothcert.cli.display import print_json

        if len(self.logs) != 2:
            raise InputError(f"name two runs or logs to compare, not {len(self.logs)}")
        if any(not 0 <= r < float("inf") for r in self.radii):
            raise InputError("--radii must be numbers >= 0")
        one, other = told_apart([read_results(path) for path in self.logs])
        found = compare(one, other, list(self.radii) or None, self.confidence)
        if self.json:
            settings = {k: [getattr(r.header, k) for r in (one, other)] for k in ("n", "alpha")}
            print_json(asdict(found) | settings)
        else:
            _print(found)


def _print(found: Comparison) -> None:
    from smoothcert.analysis.tables import radius_name
    from smoothcert.cli.display import print_table

    level = f"{100 * found.confidence:g} %"
    print(f"A  {found.one}\nB  {found.other}\n{found.images:,} images in common, intervals at {level}")
    if found.acr is None:
        print("ACR: no difference, for a log knows its radii only on a grid")
    else:
        acr = found.acr
        print(
            f"ACR  A {acr.one:.3f}  B {acr.other:.3f}  A − B {acr.difference:+.4f} ± {acr.standard_error:.4f} (s.e.)  "
            f"t {_interval(acr.t_interval, 4)}  bootstrap {_interval(acr.bootstrap_interval, 4)}"
        )
    header = ["radius", "A %", "B %", "A − B", level, "only A", "only B", "McNemar p"]
    rows = [
        [
            radius_name(d.radius),
            f"{100 * d.one:.2f}",
            f"{100 * d.other:.2f}",
            f"{100 * d.difference:+.2f}",
            _interval((100 * d.interval[0], 100 * d.interval[1]), 2),
            str(d.only_one),
            str(d.only_other),
            f"{d.p_value:.2g}",
        ]
        for d in found.accuracy
    ]
    print_table(header, rows)
    for note in found.notes:
        print(f"note: {note}")


def _interval(ends: tuple[float, float], digits: int) -> str:
    return f"{ends[0]:+.{digits}f} … {ends[1]:+.{digits}f}"
