"""A log on a leaderboard: what it is of, what it cost, and what it would hold with fewer votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smoothcert.analysis.fewer_votes import certified_with_fewer_votes, votes_against, with_fewer_votes
from smoothcert.analysis.metrics import contributions
from smoothcert.analysis.printed import rows_for
from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import recipe_setting, setting_of
from smoothcert.analysis.training_cost import training_cost
from smoothcert.errors import InputError
from smoothcert.noise import AnyGaussian, Gaussian, Noise
from smoothcert.paper import published
from smoothcert.procedures.bound import SINGLE
from smoothcert.procedures.certificate import ABSTAIN
from smoothcert.procedures.fixed import Fixed
from smoothcert.recipes import RECIPES, Certification, Recipe, find_recipe, from_dict
from smoothcert.recipes.estimate import training_passes
from smoothcert.records.header import Header
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log

Floats = NDArray[np.float64]
# Against the five logs themselves: at most 1.1 points, mostly below 0.3 (tests/reference/test_leaderboard.py). With
# fewer votes a radius is a concave function of what it was, as it saturates, so that of a mean it comes out too high.
_OF_MEANS = (
    "means of several trainings: their certified accuracies are of each image's mean radius, ±1 point; "
    "brought down to fewer votes, their ACR is up to 0.003 too high"
)


@dataclass(frozen=True)
class Contestant:
    """What a log does not say itself is filled in, or None."""

    results: Results
    origin: str
    data: str
    noise: Noise
    n: int
    alpha: float
    passes: float | None = None
    minutes: float | None = None
    reductions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.results.name

    @property
    def law(self) -> tuple[str, float]:
        """What its noise shares with that of others on a board: a Gaussian's σ, on the grid of pixels or not."""
        kind = (
            "σ =" if isinstance(self.noise, AnyGaussian) else getattr(self.noise, "called", type(self.noise).__name__)
        )
        return kind, self.noise.scale

    @property
    def noise_words(self) -> str:
        """Two digits, as papers have it, where they are all of them."""
        kind, scale = self.law
        two = kind == "σ =" and float(f"{scale:.2f}") == scale
        return f"{kind} {scale:.2f}" if two else f"{kind} {scale!r}"

    @property
    def procedure(self) -> str:
        procedure = self.results.header.procedure
        return "paper" if procedure is None else f"{procedure.name}, {procedure.bound.name} bound"

    @property
    def reducible(self) -> bool:
        """Whether its votes follow from its radii: CERTIFY with the single bound under Gaussian noise."""
        procedure = self.results.header.procedure
        fixed = procedure is None or (isinstance(procedure, Fixed) and procedure.bound == SINGLE)
        return fixed and isinstance(self.noise, AnyGaussian)

    @property
    def passes_per_vote(self) -> int:
        model = self.results.header.model
        return 1 if model is None else model.passes_per_vote

    @property
    def reduced(self) -> str | None:
        return ", ".join(self.reductions) or None

    def of_images(self, index: NDArray[np.int64]) -> Contestant:
        """The same with these images only, in this order; InputError where it lacks one."""
        if not np.isin(index, self.results.index).all():
            raise InputError(f"{self.results.name}: lacks images that it is asked about")
        order = np.argsort(self.results.index)
        at = order[np.searchsorted(self.results.index, index, sorter=order)]
        columns = {c: getattr(self.results, c)[at] for c in ("index", "label", "predict", "radius", "correct")}
        votes = self.results.estimation
        kept = None if votes is None else tuple(votes[i] for i in at)
        return replace(self, results=replace(self.results, **columns, seconds=None, estimation=kept))

    @property
    def certified(self) -> NDArray[np.bool_]:
        """Which images have a certificate of the right class; its radius may be 0, the first of a `curve`."""
        return self.results.correct & (self.results.predict != ABSTAIN)

    @property
    def p_a(self) -> Floats:
        """p̂_A of each image: votes for its label, of all. Where a log holds no votes they follow from its radii."""
        votes = self.results.estimation
        if votes is None:
            return 1 - votes_against(self.results.radius, self.noise.scale, self.n, self.alpha) / self.n
        shares = [v.get(str(y), 0) / max(1, sum(v.values())) for v, y in zip(votes, self.results.label, strict=True)]
        return np.array(shares, np.float64)

    def at(self, n: int, radii: Sequence[float]) -> tuple[Floats, Floats]:
        """radius · 1[correct] of each image (B,) and whether it is certified at each radius (B, R), with n votes.

        Where the log has more, their means over all ways to leave votes out.
        """
        each = contributions(self.results)
        if n == self.n:
            certified = self.certified[:, None] & (self.results.radius[:, None] >= np.asarray(radii, np.float64))
            return each, certified.astype(np.float64)
        how = self.noise.scale, self.n, n
        return with_fewer_votes(each, *how, self.alpha), certified_with_fewer_votes(each, *how, radii, self.alpha)


def contestant(results: Results) -> Contestant:
    """A log of ours says all of it. A TSV log: data set and σ by its path; n and α are taken to be the papers'."""
    header = results.header
    if not header.stated:
        return _unstated(results)
    if header.noise is None or header.n is None or header.alpha is None or header.data is None:
        raise InputError(f"{results.name}: its header does not say data, noise, n and α: it cannot be ranked")
    split = "" if header.data.split == "test" else f" ({header.data.split})"
    found = Contestant(
        results,
        "ours",
        f"{header.data.name}{split}",
        header.noise,
        header.n,
        header.alpha,
        _passes(header),
        _minutes(results),
        tuple(_reductions(results)),
    )
    if results.estimation is None and not found.reducible:
        raise InputError(f"{results.name}: its rows hold no votes: it cannot be ranked")
    return found


def authors_logs(beside: Sequence[Contestant]) -> list[Contestant]:
    """Those that the package carries of the same data set and σ, at single bound and α = 0.001.

    Not those that stand among `beside` as TSV logs already.
    """
    one = beside[0]
    if (
        not isinstance(one.noise, AnyGaussian)
        or one.alpha != Certification.alpha
        or one.results.header.bound != "single"
    ):
        return []
    there = [setting_of(other.results) for other in beside if other.origin == "TSV"]
    found = []
    for name, recipe in RECIPES.items():
        if recipe.objective.noise is None:
            continue
        setting = recipe_setting(recipe, recipe.objective.noise.scale)
        same = (setting.dataset, setting.sigma) == (one.data, one.noise.sigma)
        known = any(
            (s.network, s.method) == (setting.network, setting.method) and s.lbd in (None, setting.lbd) for s in there
        )
        if same and not known and (log := published(name)) is not None:
            right = log.contribution > 0
            predict = np.where(right, log.label, ABSTAIN)
            title = name if log.seeds == 1 else f"{name}, mean of {log.seeds}"
            results = Results(title, log.index, log.label, predict, log.contribution, right)
            entered = _taken_as_paper(results, "authors", one.data, one.noise.sigma, recipe)
            found.append(replace(entered, notes=() if log.seeds == 1 else (_OF_MEANS,)))
    return found


def _unstated(results: Results) -> Contestant:
    setting = setting_of(results)
    if setting.sigma is None or setting.dataset is None:
        raise InputError(
            f"{results.name}: a TSV log does not say its data set and σ, and its path does not either: "
            "name it as in mnist_gaussian_sigma0.50.tsv"
        )
    row = next(iter(rows_for(results)), None)
    recipe = None if row is None else find_recipe(row.recipes[0])
    return _taken_as_paper(results, "TSV", setting.dataset, setting.sigma, recipe)


def _taken_as_paper(results: Results, origin: str, data: str, sigma: float, recipe: Recipe | None) -> Contestant:
    n, alpha = Certification.n, Certification.alpha
    largest, possible = float(results.radius.max()), Fixed(Gaussian(sigma), n=n, alpha=alpha).largest
    if largest > possible * 1.005 + 0.001:  # three digits, to nearest
        raise InputError(
            f"{results.name}: holds a radius of {largest:g}, more than {n:,} votes at σ = {sigma:g} can give "
            f"({possible:.3f}): is it of another σ?"
        )
    passes = None if recipe is None else training_passes(recipe)
    return Contestant(results, origin, data, Gaussian(sigma), n, alpha, passes)


def _passes(header: Header) -> float | None:
    """Of an f that was put together from parts, those of all its parts; None where one does not say its recipe."""
    parts = None if header.model is None else header.model.said.get("parts")
    said = [part.get("recipe") if isinstance(part, dict) else None for part in parts] if isinstance(parts, list) else []
    try:
        if header.recipe is not None:
            return training_passes(header.recipe)
        return None if not said or None in said else sum(training_passes(from_dict(recipe)) for recipe in said)
    except InputError:  # of a later version, a task of another kind, or a first network by a recipe that is not here
        return None


def _reductions(results: Results) -> Iterator[str]:
    recipe, selected = results.header.recipe, results.header.selected
    if recipe is not None and recipe.reduced:
        yield f"reduced run: {recipe.reduced}"
    if selected is not None and len(results) < selected:
        yield f"unfinished: {len(results):,} of {selected:,} images"


def _minutes(results: Results) -> float | None:
    """Of the training whose folder the log lies in, by its median epoch, as others may have been disturbed.

    None where it started from the weights of another one, which lies elsewhere.
    """
    folder, recipe = RunFolder((results.path or Path()).parent), results.header.recipe
    try:
        if results.path is None or recipe is None or recipe.init is not None or folder.read_recipe() != recipe:
            return None
        rows = read_training_log(folder.training_log)
        spent = training_cost(rows) if rows else None
    except InputError:  # no run folder, or one whose training is not told
        return None
    return None if spent is None else spent.epochs * spent.epoch_seconds / 60
