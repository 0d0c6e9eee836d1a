"""Who asks for votes, and when it has enough: the procedures by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from smoothcert.errors import InputError, did_you_mean
from smoothcert.noise import Noise
from smoothcert.procedures.adaptive import Adaptive
from smoothcert.procedures.bound import Bound, bound_of
from smoothcert.procedures.budget import Budgeted
from smoothcert.procedures.curve import Curve
from smoothcert.procedures.evidence import Ask, Evidence
from smoothcert.procedures.fixed import Fixed
from smoothcert.procedures.radius import default_radii, require_drawable

PROCEDURES = ("paper", "curve", "adaptive")


class Procedure(Protocol):
    """Questions and answer as functions of the votes: P[the radius is larger than the true one] ≤ α, whatever f is.

    Nothing but the votes of one image decides, so a certificate can be computed again from them, and images may be
    worked on in any order and company.
    """

    @property
    def name(self) -> str: ...
    @property
    def bound(self) -> Bound: ...
    @property
    def noise(self) -> Noise: ...
    @property
    def alpha(self) -> float: ...
    @property
    def label_aware(self) -> bool:
        """Whether the class judged is the image's label, as in a benchmark, instead of the selection votes' choice."""

    @property
    def floors_radii(self) -> bool:
        """Whether radii are points of a grid: then they must not be averaged."""

    @property
    def largest(self) -> float:
        """The radius of unanimous votes."""

    def next(self, evidence: Evidence) -> Ask | None:
        """The votes wanted now, or None: there are enough."""

    def radius(self, evidence: Evidence) -> float | None:
        """The certified radius, or None to abstain, once `next` wants nothing more."""

    def header(self) -> dict[str, Any]:
        """All that decides, for the head of a log; `procedure_of` reads it back."""


def build(
    name: str,
    noise: Noise,
    n0: int = 100,
    n: int = 100_000,
    alpha: float = 0.001,
    *,
    bound: str = "single",
    radii: tuple[float, ...] | None = None,
    label_aware: bool = False,
    exact: bool = True,
) -> Procedure:
    """The procedure of this name; radii: a grid (default: 0, 0.25, … as far as n unanimous votes reach).

    exact=False: `adaptive` as in older logs.
    """
    require_drawable(n)
    if name == "paper":
        if radii is not None:
            raise InputError("paper is CERTIFY as published: a grid of radii has no place in it")
        return Fixed(noise, n0, n, alpha, bound_of(bound), label_aware)
    if name not in PROCEDURES:
        raise InputError(f"unknown procedure {name!r}{did_you_mean(name, PROCEDURES)}")
    grid = default_radii(noise, n, alpha) if radii is None else tuple(map(float, radii))
    if name == "adaptive":
        return Adaptive(noise, grid, n0, n, alpha, bound_of(bound), label_aware, exact)
    return Curve(noise, grid, 0 if label_aware else n0, n, alpha, bound_of(bound), label_aware)


def procedure_of(header: Mapping[str, Any], noise: Noise) -> Procedure:
    """The procedure whose `header()` this is; one whose table is not the one written there is refused."""
    try:
        name, radii, n0, n = (header.get(key) for key in ("procedure", "radii", "n0", "n"))
        alpha, aware = header["alpha"], header.get("label_aware", False)
        whole = all(type(value) is int for value in (n0, n))
        if not (whole and type(alpha) is float and type(aware) is bool and type(header["bound"]) is str):
            raise InputError("n0 and n must be whole numbers, alpha a number, label_aware true or false")
        if name == Budgeted.name:
            return _budgeted(header, noise)
        if "budget" in header or "plan" in header:
            raise InputError(f"{name} has no budget and no plan")
        grid = None if radii is None else tuple(map(float, radii))
        if name != "paper" and grid is None:
            raise InputError("the radii of the grid are missing")
        boundary = header.get("boundary")  # logs older than this word divide α between the looks
        if boundary not in ((None, "exact") if name == "adaptive" else (None,)):
            raise InputError("only adaptive has a boundary, and it is exact")
        options: dict[str, Any] = {"bound": header["bound"], "radii": grid, "label_aware": aware}
        options["exact"] = boundary == "exact"
        found = build(str(name), noise, int(n0 or 0), int(n or 0), alpha, **options)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"the header does not describe a procedure: {error}") from error
    differing = [key for key, value in found.header().items() if header.get(key) != value]
    if differing:
        raise InputError(f"the header's {', '.join(differing)} does not follow from its other settings")
    return found


def _budgeted(header: Mapping[str, Any], noise: Noise) -> Budgeted:
    plan, budget, n = header["plan"], header["budget"], header["n"]
    if type(plan) is not list or not all(type(number) is int for number in (budget, *plan)):
        raise InputError("the plan must be a list of whole numbers, and the budget one")
    bound, aware = bound_of(header["bound"]), header.get("label_aware", False)
    found = Budgeted(noise, tuple(plan), budget, n, header["alpha"], bound, aware)
    if found.n0 != header["n0"]:
        raise InputError("the plan must have a number for 0, 1, …, n0 errors")
    return found
