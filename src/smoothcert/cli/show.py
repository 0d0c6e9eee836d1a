"""smoothcert show"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from tyro.conf import Positional

from smoothcert.cli.options.variant import Variant

if TYPE_CHECKING:
    from smoothcert.paper import Row
    from smoothcert.recipes import Certification, Recipe


@dataclass(frozen=True)
class Show:
    """Print all that decides a recipe's result, as a TOML file that `smoothcert train` takes, and the printed row."""

    recipe: Positional[str]
    """name of a recipe, or a .toml or .json file of one"""
    seed: int | None = None
    """of training (default: the recipe's)"""
    json: bool = False
    """print one JSON document"""
    variant: Variant = field(default_factory=Variant)

    def __call__(self) -> None:
        from smoothcert.cli.display import print_json
        from smoothcert.recipes import find_recipe, printed_rows, to_dict, to_toml

        recipe = self.variant.of(find_recipe(self.recipe))
        recipe = recipe if self.seed is None else replace(recipe, seed=self.seed)
        certification = self.variant.certification_of(recipe)
        rows = printed_rows(self.recipe)
        if self.json:
            printed = [{"name": row.name, "title": row.title, **asdict(row)} for row in rows]
            about = {"name": self.recipe, "recipe": to_dict(recipe), "certification": asdict(certification)}
            print_json(about | {"printed": printed})
            return
        comments = [f"# {line}\n" for line in self._comments(recipe, certification, rows)]
        print("".join(comments) + to_toml(recipe), end="")

    def _comments(self, recipe: Recipe, certification: Certification, rows: Sequence[Row]) -> Iterator[str]:
        from smoothcert.cli.recipes import hours
        from smoothcert.recipes import ALIASES
        from smoothcert.recipes.estimate import MACHINE, estimate

        yield self.recipe + (f", which is {ALIASES[self.recipe]}" if self.recipe in ALIASES else "")
        if recipe.reduced:
            yield f"REDUCED, {recipe.reduced}; its numbers are not those of the printed rows"
        if self.variant.settings:
            yield f"CHANGED, {', '.join(self.variant.settings)}; its numbers are not those of the printed rows"
        if rows:
            yield f"follows the paper's {'text' if self.recipe.endswith('/text') else 'released code'}"
        c = certification
        images = "all test images" if c.every == 1 else f"one test image in {c.every:,}"
        certified = f"certified with n0 = {c.n0}, n = {c.n:,}, alpha = {c.alpha:g} on {images}"
        if recipe.objective.task != "classify":
            yield "a denoiser: certified together with a classifier, as in certify CLASSIFIER --denoiser RUN"
        elif recipe.objective.noise is None:
            yield f"{certified}, under the noise of --sigma"
        else:
            yield f"{certified}, under the noise of training"
        cost = estimate(recipe, certification)
        spent = f"{hours(cost.training_hours)} h to train, {hours(cost.certification_hours)} h to certify"
        yield f"{cost.passes_per_image} passes an image and epoch; estimate for {MACHINE}: {spent}"
        for row in rows:
            acr = f"{row.acr:.3f}" if row.acr_sd is None else f"{row.acr:.4f} ± {row.acr_sd:.4f}"
            accuracy = "  ".join(f"{r:.2f}: {percent:.{row.digits}f}" for r, percent in row.accuracy)
            yield f"printed as {row.name}, {row.title}: ACR {acr}" + (f"; % at {accuracy}" if accuracy else "")
