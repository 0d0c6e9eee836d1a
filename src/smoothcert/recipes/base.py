"""Recipe: all that decides a trained model."""

from __future__ import annotations

from dataclasses import dataclass

from smoothcert.errors import InputError
from smoothcert.objectives import Objective
from smoothcert.recipes.schedule import Schedule
from smoothcert.records.reading import shown

_MOST = 10**9  # of anything: more is a slip, and infinity would train nothing


@dataclass(frozen=True)
class Recipe:
    """Two runs of one recipe on one kind of machine end with the same weights."""

    data: str
    model: str
    objective: Objective
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
    fraction: float | None = None
    """train on this fraction of the images, evenly spaced; None: on all"""
    normalization: str = "standard"
    """first layer of the network, one of models.normalize.NORMALIZATIONS: MACER's authors had none"""
    seed: int = 0
    reduced: str | None = None
    """in what this is less than it was made from, as `scaled` writes it: whoever shows its numbers must say so"""

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
        if self.fraction is not None and (not isinstance(self.fraction, float) or not 0 < self.fraction < 1):
            raise InputError(f"recipe: fraction must lie between 0 and 1, not {shown(self.fraction)}")
        if not isinstance(self.reduced, str | None):
            raise InputError(f"recipe: reduced must be a text, not {shown(self.reduced)}")
        if self.images_per_step < 1:
            raise InputError(f"recipe: a batch of {self.batch} cannot be split into m={self.objective.m} slices")

    @property
    def num_hyperparameters(self) -> int:
        """How many the method asks one to choose, as the paper's table 3 counts: see `Objective.knobs`."""
        return len(self.objective.knobs)

    @property
    def images_per_step(self) -> int:
        return self.batch // self.objective.m if self.split_batch else self.batch
