"""Recipe: all that decides a trained model."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.machine.precision import PRECISIONS
from smoothcert.objectives import Goal
from smoothcert.recipes.first_network import FirstNetwork
from smoothcert.recipes.init import Init
from smoothcert.recipes.muon import Muon
from smoothcert.recipes.sampler import Sampler
from smoothcert.recipes.schedule import Schedule
from smoothcert.recipes.source import Source
from smoothcert.recipes.unopened import Unopened

_MOST = 10**9  # of anything: more is a slip, and infinity would train nothing


@dataclass(frozen=True)
class Recipe:
    """Two runs of one recipe on one kind of machine end with the same weights."""

    data: str
    model: str
    objective: Goal
    epochs: int
    lr: float
    schedule: Schedule
    batch: int = 256
    split_batch: bool = False
    """cut each batch into m slices, each an optimiser step of its own, as the paper's released code does"""
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 1e-4
    second_moment: float | None = None
    """β₂ of AdamW, which then takes the place of SGD, with `momentum` as β₁ and without Nesterov; None: SGD"""
    muon: Muon | None = None
    """takes the filters and matrices; what is above is then for the rest"""
    ema: float | None = None
    """decay per step of the exponential moving average of weights and batch-norm statistics, which is then tested and
    kept; None: the last weights are"""
    precision: str = "float32"
    """"bfloat16": forward and backward passes, attacks included, under autocast; weights, batch-norm statistics, losses
    and optimiser stay in float32"""
    fraction: float | None = None
    """train on this fraction of the images, evenly spaced; None: on all"""
    held_out: int | None = None
    """put this many training images aside, evenly spaced: the run is tested and certified on them, and settings can be
    chosen by it; None: train on all, test on the test set"""
    shift: int | None = None
    """shift training images at random, by up to so many pixels each way, zeros coming in; None: as the data set does
    by itself, which is by 4 for CIFAR-10 and not at all for MNIST"""
    normalization: str = "standard"
    """first layer of the network, one of models.normalize.NORMALIZATIONS: MACER's authors had none"""
    first: FirstNetwork | None = None
    """trained before this one; its votes on the training images are what some objectives ask for"""
    sampler: Sampler | None = None
    """leaves training images out or shows some more often; None: each epoch has every image once"""
    starts_from: str | None = None
    """name of the recipe a finished run of which has to be given as the weights to start from"""
    init: Init | None = None
    """the weights to start from: `train` fills it in from those it is given; None: the weights of the seed"""
    seed: int = 0
    reduced: str | None = None
    """in what this is less than it was made from, by `reduced_recipe`: whoever shows its numbers must say so"""
    sources: tuple[Source, ...] | None = None
    """of parts that are code of one's own: `train` fills it in, so that a recipe in a run folder has it"""

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch", 1), ("lr", 0), ("momentum", 0), ("weight_decay", 0)):
            value = getattr(self, name)
            if not least <= value <= _MOST:
                raise InputError(f"recipe: {name} must be at least {least} and a plain number, not {value}")
        if self.second_moment is not None:
            if not isinstance(self.second_moment, float) or not 0 < self.second_moment < 1:
                raise InputError(f"recipe: second_moment must lie between 0 and 1, not {shown(self.second_moment)}")
            if self.nesterov or self.momentum >= 1:
                raise InputError("recipe: AdamW (second_moment) needs nesterov = false and momentum below 1")
        for name in ("fraction", "ema"):
            share = getattr(self, name)
            if share is not None and (not isinstance(share, float) or not 0 < share < 1):
                raise InputError(f"recipe: {name} must lie between 0 and 1, not {shown(share)}")
        if self.held_out is not None and not 1 <= self.held_out <= _MOST:
            raise InputError(f"recipe: held_out must be a number of images, not {shown(self.held_out)}")
        if self.shift is not None and not 0 <= self.shift <= _MOST:
            raise InputError(f"recipe: shift must be a number of pixels, not {shown(self.shift)}")
        if self.precision not in PRECISIONS:
            raise InputError(f"recipe: precision must be {' or '.join(PRECISIONS)}, not {shown(self.precision)}")
        if not isinstance(self.reduced, str | None):
            raise InputError(f"recipe: reduced must be a text, not {shown(self.reduced)}")
        if not isinstance(self.starts_from, str | None):
            raise InputError(f"recipe: starts_from must be the name of a recipe, not {shown(self.starts_from)}")
        if self._knows_its_wishes and self.objective.wants_votes and self.first is None:
            raise InputError("recipe: a term wants the votes of a first network: name its recipe, first.recipe")
        if self._knows_its_wishes and self.first is not None and not self.objective.wants_votes:
            raise InputError("recipe: no term wants the votes of a first network: leave `first` out")
        if self.sampler is not None and (self.objective.noise is None or self.objective.task != "classify"):
            raise InputError("recipe: a sampler is for classifiers that are trained under noise: leave it out")
        if self.images_per_step < 1:
            raise InputError(f"recipe: a batch of {self.batch} cannot be split into m={self.objective.m} slices")

    @property
    def _knows_its_wishes(self) -> bool:
        """A part that was read without its code does not say what it wants."""
        return not any(isinstance(part, Unopened) for part in (*self.objective.terms, self.objective.attack))

    @property
    def num_hyperparameters(self) -> int:
        """How many the method asks one to choose, as the paper's table 3 counts: see `Objective.knobs`."""
        return len(self.objective.knobs)

    @property
    def images_per_step(self) -> int:
        return self.batch // self.objective.m if self.split_batch else self.batch
