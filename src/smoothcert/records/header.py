"""Header: all that decides the rows of a certification log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.reading import shallow
from smoothcert.files.shown import shown
from smoothcert.machine.precision import PRECISIONS
from smoothcert.noise import Noise
from smoothcert.procedures.curve import Curve
from smoothcert.procedures.procedure import Procedure, procedure_of
from smoothcert.recipes.recipe import Recipe
from smoothcert.recipes.serialize import KINDS, kept, to_dict
from smoothcert.recipes.structure import require_table, structure
from smoothcert.recipes.unopened import Unopened
from smoothcert.records.selection import Selection

_OF_PROCEDURE = (
    "procedure",
    "bound",
    "radii",
    "label_aware",
    "table",
    "boundary",
    "budget",
    "plan",
    "n0",
    "n",
    "alpha",
)
_MOST_CLASSES = 10**6
_MOST_IMAGES = 10**8
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class Model:
    """f as it was certified."""

    name: str
    variant: str | None
    """how it was computed: its layers may be folded or laid out anew, which changes the last digits of its logits"""
    sha256: str | None
    said: Mapping[str, Any]
    """all that is written of it, these three included; of an f put together from parts, its `parts`"""

    @property
    def passes_per_vote(self) -> int:
        """Networks that a vote goes through, which is what it costs; logs say it where it is not 1."""
        found = self.said.get("passes_per_vote", 1)
        if type(found) is not int or found < 1:
            raise InputError(f"model.passes_per_vote must be a whole number from 1 on, not {shown(found)}")
        return found


@dataclass(frozen=True)
class Data:
    """The images a log selects from."""

    name: str
    split: str
    images: int
    fingerprint: str
    kind: str | None = None
    """folder, picture, array or code: of a user's own images, whose name is then no data set's"""
    labelled: bool = True
    """whether each row has a label, and with it `correct`"""

    def __post_init__(self) -> None:
        if not 1 <= self.images <= _MOST_IMAGES:  # readers list those that are missing
            raise InputError(f"data.images must be from 1 to {_MOST_IMAGES:,}, not {self.images}")

    def to_json(self) -> dict[str, Any]:
        """Older logs have neither of the last two, which are left out where they say nothing new."""
        said = asdict(self)
        return {k: v for k, v in said.items() if not (k == "kind" and v is None) and not (k == "labelled" and v)}


@dataclass(frozen=True)
class Header:
    """What two logs must share to be one. A log of ours states everything; a TSV log states nothing, all is None."""

    model: Model | None = None
    recipe: Recipe | None = None
    """how f was trained, where we trained it"""
    imported: Mapping[str, Any] | None = None
    """where the weights came from, where somebody else trained it"""
    data: Data | None = None
    selection: Selection | None = None
    selected: int | None = None
    """how many images the selection has"""
    noise: Noise | None = None
    num_classes: int | None = None
    procedure: Procedure | None = None
    seed: int | None = None
    seed_commitment: str | None = None
    """of a secret seed, which is then not here: see `records.secret_seed`"""
    device: str | None = None
    precision: str = "float32"
    """of the votes; logs older than this field have float32, which is left out"""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise InputError(f"precision must be {' or '.join(PRECISIONS)}, not {shown(self.precision)}")
        if self.num_classes is not None and not 2 <= self.num_classes <= _MOST_CLASSES:
            raise InputError(f"num_classes must be from 2 to {_MOST_CLASSES:,}, not {self.num_classes}")
        if self.seed_commitment is not None and (self.seed is not None or not _SHA256.fullmatch(self.seed_commitment)):
            raise InputError("seed_commitment must be a SHA-256 in hexadecimal digits, and no seed beside it")
        if self.procedure is not None and self.procedure.label_aware and not self.labelled:
            raise InputError("a label-aware procedure needs the label of every image, and there are none")
        if self.selected is not None and self.selected < 0:
            raise InputError(f"selected is a number of images, not {self.selected}")
        if self.selection is not None and self.data is not None:
            chosen = len(self.images)
            if self.selected not in (None, chosen):
                raise InputError(f"{self.selected} images are said to be selected, but it is {chosen}")

    @property
    def stated(self) -> bool:
        """Whether the log says anything of itself; a TSV log does not."""
        return self != UNSTATED

    @property
    def images(self) -> range:
        """Indices of the images that the log is to hold."""
        if self.selection is None or self.data is None:
            raise InputError("its header does not say which images were selected")
        return self.selection.of(self.data.images)

    @property
    def labelled(self) -> bool:
        """Whether the labels of the images were known."""
        return self.data is None or self.data.labelled

    @property
    def n0(self) -> int | None:
        return self._of_procedure("n0")

    @property
    def n(self) -> int | None:
        return self._of_procedure("n")

    def _of_procedure(self, key: str) -> int | None:
        return None if self.procedure is None else self.procedure.header().get(key)

    @property
    def alpha(self) -> float | None:
        return None if self.procedure is None else self.procedure.alpha

    @property
    def bound(self) -> str:
        return "single" if self.procedure is None else self.procedure.bound.name

    @property
    def grid(self) -> tuple[float, ...] | None:
        """The radii whose certification a `curve` log decided, to which it rounded down; None for any other log."""
        return self.procedure.radii if isinstance(self.procedure, Curve) else None

    @property
    def norm(self) -> str:
        """In which the radii are. The published TSV logs do not say; all of them are of Gaussian noise."""
        return "ℓ₂" if self.noise is None or self.noise.norm == 2 else "ℓ₁"

    @property
    def largest_radius(self) -> float | None:
        """What n unanimous votes give; None where nobody says, or by a theorem of somebody's own."""
        return None if self.procedure is None or isinstance(self.noise, Unopened) else self.procedure.largest

    def departures(self) -> dict[str, tuple[Any, Any]]:
        """In what it is not as its own recipe says: what → (here, there). Allowed if asked for and stated."""
        if self.recipe is None:
            return {}
        said = {
            "noise": (self.noise, self.recipe.objective.noise),
            "data": (self.data and self.data.name, self.recipe.data),
            "precision": (self.precision, self.recipe.precision),
            "model": (self.model and self.model.name, self.recipe.model),
        }
        return {what: both for what, both in said.items() if None not in both and both[0] != both[1]}

    def to_json(self) -> dict[str, Any]:
        """As it is written; what is not known is left out."""
        said = {
            "model": None if self.model is None else self.model.said,
            "recipe": None if self.recipe is None else to_dict(self.recipe),
            "imported": self.imported,
            "data": None if self.data is None else self.data.to_json(),
            "selection": None if self.selection is None else asdict(self.selection),
            "selected": self.selected,
            "noise": None if self.noise is None else to_dict(self.noise),
            "num_classes": self.num_classes,
            **({} if self.procedure is None else self.procedure.header()),
            "seed": self.seed,
            "seed_commitment": self.seed_commitment,
            "device": self.device,
            "precision": None if self.precision == "float32" else self.precision,
        }
        return {key: value for key, value in said.items() if value is not None}


UNSTATED = Header()
"""of a log that has none, as the community's TSV logs"""


def header_of(values: Any) -> Header:
    """The header that `to_json` wrote; InputError names the first thing in it that is unknown or cannot be."""
    given = require_table(shallow(values), "header")
    model, seed = given.pop("model", None), given.pop("seed", None)
    if seed is not None and type(seed) is not int:
        raise InputError(f"seed must be a whole number, not {shown(seed)}")
    of_procedure = {key: given.pop(key) for key in _OF_PROCEDURE if key in given}
    header: Header = structure(Header, given, "header", KINDS, kept)
    if of_procedure and header.noise is None:
        raise InputError("the noise is missing, without which n and alpha prove nothing")
    # Logs older than these two words are of CERTIFY.
    about = {"procedure": "paper", "bound": "single"} | of_procedure
    procedure = procedure_of(about, header.noise) if of_procedure and header.noise else None
    return replace(header, model=None if model is None else _model(model), procedure=procedure, seed=seed)


def _model(values: Any) -> Model:
    said = require_table(values, "model")
    known = {key: said.get(key) for key in ("name", "variant", "sha256")}
    model: Model = structure(Model, known | {"said": said}, "model", KINDS)
    _ = model.passes_per_vote  # refused here where it cannot be
    return model
