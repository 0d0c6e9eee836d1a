"""smoothcert figure"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Figure:
    """The paper's figures from any set of runs and logs, published TSV logs included."""

    kind: Positional[Literal["curves", "ablation", "p-a", "gaps"]]
    """curves: certified accuracy, a panel per σ; ablation: the same by loss, m and λ; p-a: how sure predictions are;
    gaps: histograms of log-probability gaps, from a .npz file with an array per method"""
    logs: Positional[tuple[Path, ...]] = ()
    """run folders or log files"""
    label: tuple[str, ...] = ()
    """what to call the logs, those of --loss, --m and --lbd last, in their order (default: by what they differ in)"""
    out: Path | None = None
    """picture to write: .pdf, .png or .svg (default: KIND.pdf)"""
    loss: tuple[Path, ...] = ()
    """ablation: logs of the panel on the loss"""
    m: tuple[Path, ...] = ()
    """ablation: logs of the panel on the number of draws"""
    lbd: tuple[Path, ...] = ()
    """ablation: logs of the panel on λ"""

    def __call__(self) -> None:
        from smoothcert.cli.options.logs import readable
        from smoothcert.figures.curves import Panel, by_ablation, by_sigma, plot_panels
        from smoothcert.figures.gaps import plot_gaps, read_gaps
        from smoothcert.figures.p_a import plot_p_a

        out = self.out or Path(f"{self.kind}.pdf")
        named = {"loss": self.loss, "number of draws m": self.m, "weight λ": self.lbd}
        if any(named.values()) and self.kind != "ablation":
            raise InputError("--loss, --m and --lbd are for `figure ablation`")
        if self.kind == "gaps":
            if len(self.logs) != 1 or self.label:
                raise InputError("`figure gaps` takes one .npz file with an array of gaps per method, and no --label")
            plot_gaps(read_gaps(self.logs[0]), out)
            print(out)
            return
        with readable(self.logs, *named.values(), labels=self.label) as (logs, *others):
            everything = list(logs.values())
            if self.kind == "p-a":
                plot_p_a(everything, out)
            elif self.kind == "curves":
                plot_panels(by_sigma(everything), out)
            else:
                panels = by_ablation(everything) if everything else []
                for title, found in zip(named, others, strict=True):
                    panels += [Panel(title, tuple((r.name, r) for r in found.values()))] if found else []
                plot_panels(panels, out)
            print(out)
