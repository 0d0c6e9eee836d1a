"""smoothcert train"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.progress import Progress
from smoothcert.cli.options.variant import Variant


@dataclass(frozen=True)
class Train:
    """Train a recipe (see `smoothcert recipes`). Called again, it goes on where it was stopped.

    Example: smoothcert train mnist5k/consistency/0.50 --set lr=0.02 --scale 0.1
    """

    recipe: Positional[str]
    """name of a recipe, such as mnist5k/consistency/0.50, or a .toml or .json file of one"""
    out: Path | None = None
    """run folder (default: runs/RECIPE-seedN)"""
    init: Path | None = None
    """fine-tune: start from the weights of this run, or of a checkpoint of the recipe's network"""
    first: Path | None = None
    """a finished run to be the recipe's first network, where it has one (default: it is trained in OUT/first)"""
    classifier: str | None = None
    """of a denoiser that is trained for one: its run folder, or a model as certify takes it"""
    seed: int | None = None
    """decides initial weights, order and noise (default: the recipe's, 0 unless a file says another)"""
    progress: Progress = "auto"
    variant: Variant = field(default_factory=Variant)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.cli.display import shown
        from smoothcert.machine.processes import place
        from smoothcert.recipes import find_recipe, real_name
        from smoothcert.training.train import train

        recipe = self.variant.of(find_recipe(self.recipe))
        is_file = self.recipe.endswith((".json", ".toml"))
        name = Path(self.recipe).stem if is_file else real_name(self.recipe)
        begun = f"-from-{self.init.resolve().name}" if self.init and recipe.starts_from is None else ""
        seed = recipe.seed if self.seed is None else self.seed
        folder = self.out or Path("runs") / (self.variant.run_name(name, seed) + begun)
        given = {"init": self.init, "first": self.first, "classifier": self.classifier}
        run = shown(train(recipe, folder, seed=seed, **given, **self.machine.where()), folder.name, self.progress)
        if place().first:
            marked = f"  reduced run ({recipe.reduced})" if recipe.reduced else ""
            use = f"CLASSIFIER --denoiser {folder}" if recipe.objective.task != "classify" else f"{folder}"
            if recipe.objective.noise is None and recipe.objective.task == "classify":
                use += " --sigma 0.25"  # which it does not know
            print(f"{folder}  {recipe.epochs} epochs  {run.tested}{marked}  (next: smoothcert certify {use})")
