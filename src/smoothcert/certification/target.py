"""What is certified: f in its final form, with the noise and the test set it is meant for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import torch
from torch import Tensor

from smoothcert import models
from smoothcert.certification.composed import Part, composed
from smoothcert.certification.denoiser import TASKS, denoiser_part, standard_deviation
from smoothcert.certification.own_code import require_trained, sources_of
from smoothcert.data import ImageSet, load, own_of, splits
from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.interchange.factory import network_of
from smoothcert.interchange.foreign_model import open_model
from smoothcert.interchange.weights import digest, load_weights, require_model
from smoothcert.machine.device import Where, prepare
from smoothcert.machine.precision import Precision, require_precision
from smoothcert.noise import Noise, on_grid, same_law
from smoothcert.recipes.serialize import noise_from_dict
from smoothcert.recipes.structure import structure
from smoothcert.records.run_folder import RunFolder
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.votes import precision_of


class ModelOptions(Where, total=False):
    """What the caller says about a model, which a run of ours mostly says itself, and where to work with it."""

    noise: Noise | Literal["grid"] | None
    """"grid": the run's own noise, drawn exactly on the grid of 8-bit images"""
    dataset: str | None
    """name of a data set; or images of one's own: a folder, picture or array file, or package.module:name"""
    labels: str | os.PathLike[str] | None
    """of one's own images: a CSV with the columns file,label, or a .npy file"""
    classes: Sequence[str] | None
    """the model's classes in its order, where the labels of one's own images are their names"""
    split: str | None
    """of the data set (default: test, or the images that the run's training put aside)"""
    arch: str | None
    """network of a checkpoint: its name, or package.module:factory"""
    num_classes: int | None
    input_shape: tuple[int, ...] | None
    normalization: str | None
    precision: Precision | None
    """of f (default: that of the run's training, float32 for others' models)"""
    trust: bool
    """run code that came with the model: saved programs, and a run's own network or noise whose source has changed"""
    ensemble: Sequence[str | os.PathLike[str]] | None
    """further runs or models: f is the sum of the logits of all of them"""
    denoiser: str | os.PathLike[str] | None
    """before f: the run folder of a denoiser, FILE.onnx, …, package.module:factory, diffusers:FOLDER"""
    denoiser_arch: str | None
    """package.module:factory that builds the network of a denoiser's weights"""
    denoiser_range: tuple[float, float] | None
    """of the images that a foreign denoiser works with, as (−1, 1) (default: 0 to 1)"""
    mirror: bool
    """f is the sum of the logits of an image and its mirror image"""


_LONGEST_NAME = 120  # of a log's file, which gets endings yet
_SAID_OF_OTHERS = ("arch", "num_classes", "input_shape", "normalization")


@dataclass(frozen=True)
class Target:
    """f as it is certified and deployed; `about` is what a certificate says of it."""

    name: str
    f: Callable[[Tensor], Tensor] = field(repr=False)
    num_classes: int
    input_shape: tuple[int, ...]
    noise: Noise
    data: str | None
    split: str
    about: dict[str, Any]
    log: Path
    """where its certificates go unless another place is named"""

    device: torch.device
    options: ModelOptions
    loaded: ImageSet | None = field(default=None, repr=False)
    """its images, where they were needed to open it"""
    note: str = ""
    """what its user should hear: that the noise is not that of its training"""

    def smoothed(self, seed: int, batch: int | Literal["auto"] = "auto") -> SmoothedClassifier:
        return SmoothedClassifier(self.f, self.noise, self.num_classes, seed=seed, batch=batch, device=self.device)

    def images(self) -> ImageSet:
        """The images it is certified on: those of the data set it was trained on, unless the caller named others."""
        if self.data is None:
            raise InputError(f"{self.name}: does not say its data: name images, or a data set with --dataset")
        found = _load(self.data, self.split, self.options) if self.loaded is None else self.loaded
        self.require_fit(found)
        return found

    def require_fit(self, test_set: ImageSet) -> None:
        own = own_of(test_set)
        if test_set.shape != self.input_shape:
            sizes = " but the model takes ".join("×".join(map(str, s)) for s in (test_set.shape, self.input_shape))
            raise InputError(f"the images of {test_set.name} are {sizes}" + ": convert them first" * (own is not None))
        if own is not None and not own.all_classes:
            largest = int(test_set.labels.max())
            if largest >= self.num_classes:
                which = int(test_set.labels.argmax())
                raise InputError(
                    f"{test_set.name}: label {largest} of {own.names[which] if own.names else f'image {which}'} is out "
                    f"of range: the classes of {self.name} are 0 … {self.num_classes - 1}"
                )
        elif test_set.num_classes != self.num_classes:
            raise InputError(
                f"{test_set.name} has {test_set.num_classes} classes but {self.name} tells {self.num_classes} apart"
            )


def open_target(run: str | os.PathLike[str], **options: Unpack[ModelOptions]) -> Target:
    """A run folder of ours (or its weights file), or anything that `interchange.open_model` reads.

    A network or noise of one's own, which the run names as package.module:Name, is imported.

    Args:
        run: a run folder, or a model: FILE.onnx, TorchScript, FILE.pt2, FILE.pth.tar, package.module:factory,
            timm:NAME, torchvision:NAME
        options: data, device, threads, workers as for `train`; precision of f; for others' models noise, dataset,
            arch, num_classes, input_shape, normalization; dataset, labels and classes for one's own images; ensemble,
            denoiser and mirror for an f put together from parts

    Returns:
        f in its final form, with its noise, the name of its data set, and what a certificate says about it

    Example:
        >>> open_target("nowhere")
        Traceback (most recent call last):
        smoothcert.errors.InputError: nowhere: no such run or model file: see `smoothcert train --help`
    """
    spec = os.fspath(run)
    given = (options.get(name) for name in ("labels", "classes"))
    if options.get("dataset") is None and any(value is not None for value in given):
        raise InputError("--labels and --classes are for images of one's own: name their folder")
    members, denoiser = [os.fspath(each) for each in options.get("ensemble") or ()], options.get("denoiser")
    if denoiser is None and (options.get("denoiser_arch") or options.get("denoiser_range")):
        raise InputError("--denoiser-arch and --denoiser-range are for a denoiser: name it with --denoiser")
    if denoiser is not None and options.get("noise") in (None, "grid"):
        raise InputError(f"{spec}: say which noise {denoiser} is to remove, with --sigma")
    first = _open_one(spec, options, members)
    if not members and denoiser is None and not options.get("mirror"):
        return first
    return _composed(first, members, options)


def _open_one(spec: str, options: ModelOptions, beside: Sequence[str] = ()) -> Target:
    """One run or model. What is said of others' models is not for the runs `beside` which there are such models."""
    if not _is_run(spec, options):
        if not Path(spec).exists() and ":" not in spec:
            raise InputError(f"{spec}: no such run or model file: see `smoothcert train --help`")
        return _from_model(spec, options)
    if any(not _is_run(other, options) for other in beside):
        options = {**options, **dict.fromkeys(_SAID_OF_OTHERS)}  # type: ignore[typeddict-item]
    return _from_run(Path(spec), options)


def _is_run(spec: str, options: ModelOptions) -> bool:
    path, by_factory = Path(spec), ":" in (options.get("arch") or "")
    return path.is_dir() or (path.suffix == ".safetensors" and not by_factory)


def _composed(first: Target, members: Sequence[str], options: ModelOptions) -> Target:
    """f of all parts in place of the first one's; each in the precision of the first."""
    precision: Any = precision_of(first.f)
    told: ModelOptions = {**options, "noise": first.noise, "precision": precision}
    targets, shape = [first], first.input_shape
    for spec in members:
        own: Any = {**told, "dataset": first.data, **dict.fromkeys(_SAID_OF_OTHERS)}
        shaped: ModelOptions = own
        if not _is_run(spec, options):  # its images have been opened once
            shaped = {**told, "dataset": None, "input_shape": options.get("input_shape") or shape}
        targets.append(_open_one(spec, shaped, [spec]))
        if (targets[-1].input_shape, targets[-1].num_classes) != (shape, first.num_classes):
            sizes = ("×".join(map(str, t.input_shape)) + f" and {t.num_classes} classes" for t in (targets[-1], first))
            raise InputError(f"{spec}: is for images of {next(sizes)}, but {first.name} of {next(sizes)}")
    denoiser, sigma = options.get("denoiser"), 1.0
    before = None
    if denoiser is not None:
        sigma = standard_deviation(first.noise)
        how = {"arch": options.get("denoiser_arch"), "range": options.get("denoiser_range"), "precision": precision}
        how["trust"] = options.get("trust", False)
        before = denoiser_part(os.fspath(denoiser), shape, first.noise, first.device, **how)
    notes = _beside_each_other(first, targets[1:], before, sigma)
    kept = ("recipe", "imported")
    parts = [
        Part(each.f, each.name, each.about["model"] | {key: each.about[key] for key in kept if key in each.about})
        for each in targets
    ]
    whole = composed(parts, before, sigma, options.get("mirror", False))
    if before is None:  # behind a denoiser a classifier need not have seen this noise
        notes = [*dict.fromkeys(each.note for each in targets if each.note), *notes]
    about, name = whole.about, whole.name
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{about['sha256'][:8]}"
    log = Path(f"{name}.certify.jsonl")
    return replace(first, name=name, f=whole.f, about={"model": about}, log=log, note="; ".join(notes))


def _beside_each_other(first: Target, others: Sequence[Target], denoiser: Part | None, sigma: float) -> list[str]:
    """What the user should hear of parts that were trained apart."""
    notes = []
    asides = [(each.name, each.about.get("recipe")) for each in others]
    if denoiser is not None:
        recipe = denoiser.about.get("recipe")
        asides.append((denoiser.name, recipe))
        sigmas = ((recipe or {}).get("objective") or {}).get("sigmas")
        if sigmas and sigma not in sigmas:
            named = ", ".join(f"{each:g}" for each in sigmas)
            notes.append(f"the denoiser was trained for σ = {named}, and is told {sigma:g}")
    if first.split.startswith("held-out-"):
        aside = (first.about.get("recipe") or {}).get("held_out")
        seen = [name for name, recipe in asides if recipe is None or recipe.get("held_out") != aside]
        notes.extend(f"{name} may have been trained on these images: they were put aside for others" for name in seen)
    return notes


def _from_run(path: Path, options: ModelOptions) -> Target:
    folder = RunFolder(path if path.is_dir() else path.resolve().parent)
    file = folder.model if path.is_dir() else path
    if path.is_dir() and not file.exists():
        if folder.cannot_go_on:
            raise InputError(f"{path}: its weights were not kept: train it again, with another --out")
        if folder.recipe.exists():
            raise InputError(f"{path}: its training is not finished: give the same `smoothcert train` command again")
        raise InputError(f"{path}: not a run folder (no {file.name})")
    if any(options.get(name) is not None for name in _SAID_OF_OTHERS):
        raise InputError(f"{path}: a run knows its network: --arch and the like are for others' models")
    weights, about = load_weights(file)
    if about.get("task") in TASKS:
        raise InputError(f"{path}: is a denoiser: name it with --denoiser, as in certify CLASSIFIER --denoiser {path}")
    require_model(file, about, "noise", "dataset")
    trust = options.get("trust", False)
    require_trained(file, about, about["model"], trust)
    network = network_of(about["model"])(about["num_classes"], about["normalization"])
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(f"{file}: does not fit {about['model']}: {' '.join(str(error).split())}") from error
    device = prepare(options)
    precision = options.get("precision") or about.get("recipe", {}).get("precision", "float32")
    require_precision(precision, device)
    f = models.frozen(network.to(device), precision)
    shape: tuple[int, ...] = f.input_shape or structure(tuple[int, ...], about.get("input_shape"), "input_shape", {})
    normalization, noise = about["normalization"], _noise_of(file, about, options.get("noise"), trust)
    if options.get("dataset") is None and ":" in str(about["dataset"]):  # a file does not decide what is imported
        raise InputError(f"{path}: was trained on {shown(about['dataset'])}: name it with --dataset to import it")
    described: dict[str, Any] = {
        "model": {
            "name": about["model"],
            "variant": f.variant if normalization == "standard" else f"{f.variant}, normalization {normalization}",
            "sha256": digest(weights),
            **({"passes_per_vote": f.passes_per_vote} if f.passes_per_vote > 1 else {}),
            **sources_of(about["model"], noise),
        },
        **{key: about[key] for key in ("recipe", "imported") if key in about},
    }
    return Target(
        name=folder.path.resolve().name,
        f=f,
        num_classes=about["num_classes"],
        input_shape=shape,
        noise=noise,
        data=options.get("dataset") or about["dataset"],
        split=options.get("split") or splits(about.get("recipe", {}).get("held_out"))[1],
        about=described,
        log=folder.certification_log,
        device=device,
        options=options,
        note=_departure(noise, about["noise"] and noise_from_dict(about["noise"])),
    )


def _load(data: str, split: str, options: ModelOptions) -> ImageSet:
    how = options.get("data"), options.get("workers"), options.get("labels"), options.get("classes")
    return load(data, split, *how)


def _departure(noise: Noise, trained: Noise | None) -> str:
    if trained is None:
        return f"the noise is {noise}, but the model was trained without any: a denoiser before it would help"
    return "" if same_law(noise, trained) else f"the noise is {noise}, but the model was trained with {trained}"


def _noise_of(file: Path, about: dict[str, Any], said: Noise | Literal["grid"] | None, trust: bool) -> Noise:
    if said is not None and said != "grid":
        return said
    if about["noise"] is None:
        raise InputError(f"{file}: was trained without noise: give that of its certificates with --sigma")
    require_trained(file, about, about["noise"].get("kind") if isinstance(about["noise"], dict) else None, trust)
    own = noise_from_dict(about["noise"], opens=True)
    return on_grid(own) if said == "grid" else own


def _from_model(spec: str, options: ModelOptions) -> Target:
    noise = options.get("noise")
    if noise is None or noise == "grid":
        raise InputError(f"{spec}: does not say its noise: give it with --sigma (certify with the σ of its training)")
    said: dict[str, Any] = {name: options.get(name) for name in _SAID_OF_OTHERS}
    device, precision = prepare(options), options.get("precision") or "float32"
    require_precision(precision, device)
    data, split = options.get("dataset"), options.get("split") or "test"
    loaded = None if data is None else _load(data, split, options)
    said |= {"image_shape": None if loaded is None else loaded.shape, "trust": options.get("trust", False)}
    opened = open_model(spec, **said, precision=precision)
    f = opened.f.to(device) if isinstance(opened.f, torch.nn.Module) else opened.f
    name = re.sub(r"[^\w.+-]+", "-", spec).strip("-.")
    return Target(
        name=name,
        f=f,
        num_classes=opened.num_classes,
        input_shape=opened.input_shape,
        noise=noise,
        data=data,
        split=split,
        about={"model": opened.about | sources_of(opened.about.get("network") or spec, noise)},
        log=Path(f"{name}.certify.jsonl"),
        device=device,
        options=options,
        loaded=loaded,
    )
