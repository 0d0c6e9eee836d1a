"""smoothcert demo"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from smoothcert.cli.machine import Machine


@dataclass(frozen=True)
class Demo:
    """Train Gaussian and Gaussian + Consistency at σ = 0.5 on real digits, certify both, and compare them."""

    out: Path = Path("demo")
    """folder for the runs and the plot"""
    seed: int = 0
    """of training and certification"""
    n: int = 5_000
    """votes for each certificate (the paper takes 100,000)"""
    every: int = 10
    """certify every k-th of the 1,000 held-out images"""
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.analysis import read_results, summarize
        from smoothcert.analysis.metrics import default_radii, paired_difference
        from smoothcert.analysis.plots import plot_curves
        from smoothcert.analysis.tables import cells
        from smoothcert.certification.selection import Selection
        from smoothcert.certification.target import open_target
        from smoothcert.cli.certify import certify_showing
        from smoothcert.cli.display import print_table
        from smoothcert.cli.train import train_showing
        from smoothcert.procedures.fixed import Fixed
        from smoothcert.recipes import find

        device = self.machine.ready()
        runs = [self.out / f"{method}-seed{self.seed}" for method in ("gaussian", "consistency")]
        for run in runs:
            recipe = find(f"mnist5k/{run.name.partition('-')[0]}/0.50")
            train_showing(replace(recipe, seed=self.seed), run, self.machine)
            target = open_target(str(run), device)
            g, procedure = target.smoothed(self.seed, device), Fixed(target.noise, n=self.n)
            certify_showing(target, g, procedure, Selection(self.every), self.machine)
        results = [read_results(run) for run in runs]
        radii = default_radii(results)
        print_table(*cells([summarize(r, radii) for r in results]))
        difference, error = paired_difference(results[1], results[0])
        print(f"\nConsistency − Gaussian: ACR {difference:+.3f} ± {error:.3f} (paired, {len(results[0])} images)")
        picture = self.out / "certified-accuracy.png"
        plot_curves(results, picture)
        print(f"certified accuracy (%) by radius; plot: {picture}")
