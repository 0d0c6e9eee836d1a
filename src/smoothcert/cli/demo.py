"""smoothcert demo"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.variant import Variant

_EPOCHS = 8  # of the recipe's twenty: nobody should wait a minute for a demo
_PAUSE = 5.0  # seconds between two lines of progress where there is no terminal


@dataclass(frozen=True)
class Demo:
    """Train Gaussian and Gaussian + Consistency at σ = 0.5 on real digits, certify both, and compare them.

    In bfloat16 where the machine computes it, which is 1.5 times as fast; the table says which. Certified under grid
    noise: the digits are 8-bit images.
    """

    out: Path = Path("demo")
    """folder for the runs and the plot"""
    seed: int = 0
    """of training and certification"""
    n: int = 2_000
    """votes for each certificate (the paper takes 100,000)"""
    every: int = 10
    """certify every k-th of the 1,000 held-out images"""
    variant: Variant = field(default_factory=Variant)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.analysis import read_results, summarize
        from smoothcert.analysis.metrics import default_radii, paired_difference
        from smoothcert.analysis.tables import cells
        from smoothcert.certification.certify_run import certify_run
        from smoothcert.cli.display import print_table, shown
        from smoothcert.figures.curves import plot_curves
        from smoothcert.machine.precision import fast_precision
        from smoothcert.noise import Gaussian
        from smoothcert.procedures.procedure import build
        from smoothcert.recipes import find_recipe
        from smoothcert.records.selection import Selection
        from smoothcert.training.train import train

        Selection(self.every)  # before anything is trained: are these settings possible?
        build("paper", Gaussian(0.5), n=self.n)
        results, where = [], self.machine.where()
        precision = fast_precision(where)
        for method in ("gaussian", "consistency"):
            run = self.out / f"{method}-seed{self.seed}"
            short = replace(find_recipe(f"mnist5k/{method}/0.50"), epochs=_EPOCHS, precision=precision)
            recipe = self.variant.of(short)
            shown(train(recipe, run, seed=self.seed, **where), run.name, pause=_PAUSE)
            certification = certify_run(run, n=self.n, every=self.every, seed=self.seed, noise="grid", **where)
            results.append(read_results(shown(certification, f"certify {run.name}", pause=_PAUSE)))
        radii = default_radii(results)
        print_table(*cells([summarize(r, radii) for r in results]))
        difference, error = paired_difference(results[1], results[0])
        print(f"\nConsistency − Gaussian: ACR {difference:+.3f} ± {error:.3f} (paired, {len(results[0])} images)")
        picture = self.out / "certified-accuracy.png"
        plot_curves(results, picture)
        print(f"certified accuracy (%) by radius, f in {precision}; plot: {picture}")
