"""smoothcert advise"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tyro.conf import Positional

from smoothcert.cli.options.machine import Machine
from smoothcert.cli.options.model import Model
from smoothcert.cli.options.progress import Progress

if TYPE_CHECKING:
    from smoothcert.certification.advice import Advice


@dataclass(frozen=True)
class Advise:
    """Say which way to certificates is worth it for a model you have: certify it as it is, put a denoiser before it,
    fine-tune it, or train one under noise.

    Measures on a few images the accuracy without noise, under noise of several σ, and the certified accuracy to expect
    at a radius. These are estimates, no certificates. With a denoiser, all of it also behind the denoiser. The
    noise is Gaussian, of each of --sigmas: --sigma and --noise are refused.

    Example: smoothcert advise classifier.onnx --dataset mnist --radius 0.5
    """

    run: Positional[str]
    """run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, weights (FILE.pth.tar, .pt), package.module:factory,
    timm:NAME, torchvision:NAME"""
    own_images: Positional[str | None] = None
    """your own images, instead of the test set: a folder of pictures (with --labels, or a folder per class), .npy,
    .npz, package.module:name"""
    radius: float = 0.5
    """in l2, at which images are to be certified"""
    sigmas: tuple[float, ...] = (0.12, 0.25, 0.5, 1.0)
    """standard deviations of the noise to try"""
    images: int = 200
    """how many images, evenly spaced"""
    votes: int = 100
    """noisy copies of each image, for each σ"""
    seed: int = 0
    """decides the noise"""
    json: bool = False
    """print one JSON document"""
    progress: Progress = "auto"
    model: str | None = None
    """package.module:factory that builds the network of a file of weights (state_dict)"""
    others: Model = field(default_factory=Model)
    machine: Machine = field(default_factory=Machine)

    def __call__(self) -> None:
        from smoothcert.certification.advise import advise
        from smoothcert.cli.display import print_json, shown

        options: dict[str, Any] = {**self.others.options(self.machine, self.own_images, self.model)}
        how = {name: getattr(self, name) for name in ("radius", "sigmas", "images", "votes", "seed")}
        advice = shown(advise(self.run, **how, **options), "advise", self.progress)
        command = self._command(advice)
        if self.json:
            print_json(asdict(advice) | {"command": command})
        else:
            _print(advice, options.get("denoiser") is not None, command)

    def _command(self, advice: Advice) -> str | None:
        """What to type next, with what was said of the model and its images."""
        from smoothcert.recipes import ALIASES, RECIPES

        if advice.way in ("as is", "denoiser"):
            images = [] if self.own_images is None else [self.own_images]
            said = [*self._said(advice.way == "denoiser"), "--sigma", f"{advice.sigma:g}", "--every", "10"]
            return shlex.join(["smoothcert", "certify", self.run, *images, *said])
        if advice.way == "check the input":
            return None
        data = (self.others.dataset or self._own_data() or "").replace("_", "-")
        name = f"{data}/consistency/{advice.sigma:.2f}"
        begin = ["--init", self.run] if advice.way == "fine-tune" else []
        return shlex.join(["smoothcert", "train", name if name in {**RECIPES, **ALIASES} else "RECIPE", *begin])

    def _said(self, denoised: bool) -> Iterator[str]:
        """The options that say what model and images are, as they were given."""
        groups: tuple[Any, ...] = (self.others, self.machine)
        given = {f.name: getattr(group, f.name) for group in groups for f in fields(group)}
        usual = {f.name: f.default for group in groups for f in fields(group)}
        for name, value in {"model": self.model, **given}.items():
            if value == usual.get(name) or (name.startswith("denoiser") and not denoised):
                continue
            yield f"--{name.replace('_', '-')}"
            if value is not True:
                yield from map(str, value if isinstance(value, tuple) else (value,))

    def _own_data(self) -> str | None:
        """Of a run: what it was trained on."""
        from pathlib import Path

        from smoothcert.records.run_folder import RunFolder

        folder = RunFolder(Path(self.run))
        return folder.read_recipe().data if folder.recipe.exists() else None


def _print(advice: Advice, tried: bool, command: str | None) -> None:
    from smoothcert.analysis.tables import floored
    from smoothcert.cli.display import print_table

    header = ["σ", "reach", "as is: noisy", f"certified at {advice.radius:g}"]
    header += ["denoised: clean", "noisy", "certified"] if tried else []
    rows = []
    for m in (m for m in advice.measured if not m.denoised):
        row = [f"{m.sigma:g}", floored(m.reach, 2), _percent(m.noisy), _percent(m.certified)]
        beside = [b for b in advice.measured if b.denoised and b.sigma == m.sigma]
        rows.append(row + [_percent(value) for b in beside for value in (b.clean, b.noisy, b.certified)])
    print(f"accuracy without noise {_percent(advice.clean)} ({advice.images} images, {advice.votes} votes each)\n")
    print_table(header, rows)
    print("\nEstimates from few votes, not certificates; reach is the largest radius that 100,000 votes can certify.")
    for sentence in (*advice.warnings, *_sentences(advice, tried)):
        print(sentence[0].upper() + sentence[1:] + ".")
    if command is not None:
        print(f"Next: {command}" + "  (`smoothcert recipes` lists them)" * ("RECIPE" in command.split()))


def _sentences(advice: Advice, tried: bool) -> list[str]:
    from smoothcert.certification.advice import WORTH

    plain, behind = advice.best(denoised=False), advice.best(denoised=True)
    assert plain is not None
    rule = f"({100 * WORTH:g} % of the clean accuracy would be worth it)"
    as_is = f"as it is the model keeps {_percent(plain.certified)} at radius {advice.radius:g} (σ = {plain.sigma:g})"
    denoised = "" if behind is None else f", behind the denoiser {_percent(behind.certified)} (σ = {behind.sigma:g})"
    found = f"{as_is}{denoised}"
    not_tried = "" if tried else ", or try a denoiser (--denoiser)"
    return {
        "as is": [found, "Certify it as it is"],
        "denoiser": [found, "Certify it behind the denoiser; fine-tuning under noise may still give more"],
        "fine-tune": [found, f"Fine-tune it under noise from its own weights{not_tried} {rule}"],
        "train": [found, f"Its weights cannot be fine-tuned here: train a network under noise{not_tried} {rule}"],
        "check the input": [
            "Nothing can be advised before that is mended (--normalization, --classes, or a factory that scales)"
        ],
    }[advice.way]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
