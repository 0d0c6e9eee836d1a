"""smoothcert train"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.cli.machine import Machine
from smoothcert.cli.variant import Variant

if TYPE_CHECKING:
    from smoothcert.recipes import Recipe


@dataclass(frozen=True)
class Train:
    """Train a recipe (see `smoothcert recipes`). Called again, it goes on where it was stopped."""

    recipe: Positional[str]
    """name of a recipe, such as mnist5k/consistency/0.50, or a .toml or .json file of one"""
    out: Path | None = None
    """run folder (default: runs/RECIPE-seedN)"""
    seed: int = 0
    """decides initial weights, order and noise"""
    variant: Variant = field(default_factory=Variant)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.recipes import find, real_name

        recipe = replace(self.variant.of(find(self.recipe)), seed=self.seed)
        is_file = self.recipe.endswith((".json", ".toml"))
        name = Path(self.recipe).stem if is_file else real_name(self.recipe)
        folder = self.out or Path("runs") / self.variant.run_name(name, self.seed)
        row = train_showing(recipe, folder, self.machine)
        if not row:
            return
        accuracy = f"noisy test accuracy {100 * row['test_noisy_accuracy']:.1f}%"
        marked = f"  reduced run ({recipe.reduced})" if recipe.reduced else ""
        print(f"{folder}  {recipe.epochs} epochs  {accuracy}{marked}  (next: smoothcert certify {folder})")


def train_showing(recipe: Recipe, folder: Path, machine: Machine) -> dict[str, Any]:
    """Train to the end with a progress bar; the last epoch's row of the log, empty in all processes but the first."""
    from smoothcert.cli.display import at_most_every, bar
    from smoothcert.machine.processes import place
    from smoothcert.records.run_folder import RunFolder
    from smoothcert.training.log import read_training_log
    from smoothcert.training.loop import Epoch, train
    from smoothcert.training.team import joined

    device, here = machine.ready(), place()
    train_set, test_set = machine.load(recipe.data, "train"), machine.load(recipe.data, "test")
    with joined(here, device) as team, bar() as progress:
        task = progress.add_task(folder.name, total=None, note="")
        events = train(recipe, folder, train_set, test_set, device, team)
        for event, due in at_most_every(0.5, events):
            if isinstance(event, Epoch):
                continue
            if due and not progress.disable:
                done = event.epoch * event.steps + event.step
                note = f"epoch {event.epoch + 1}  {_losses(event.sums)}  {event.images_per_second:,.0f} images/s"
                progress.update(task, completed=done, total=recipe.epochs * event.steps, note=note)
    return read_training_log(RunFolder(folder).training_log)[-1] if here.first else {}


def _losses(sums: dict[str, Any]) -> str:
    images = float(sums["images"])
    means = {name: float(total) / images for name, total in sums.items() if name != "images"}
    accuracy = means.pop("noisy_accuracy")
    return "  ".join(f"{name} {mean:.3f}" for name, mean in means.items()) + f"  noisy acc {100 * accuracy:.1f}%"
