"""A log's certificates computed again from its counts: no model, no data, no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.files.shown import shown
from smoothcert.noise import Noise
from smoothcert.procedures.budget import Budgeted
from smoothcert.procedures.certificate import conclude
from smoothcert.procedures.evidence import Counts, Evidence, Look
from smoothcert.procedures.procedure import Procedure
from smoothcert.recipes.unopened import Unopened
from smoothcert.records.log import acr_of, missing
from smoothcert.records.parts import read_whole
from smoothcert.records.row import Row, Votes
from smoothcert.records.secret_seed import revealed_seed
from smoothcert.records.signature import refuse_unsigned


@dataclass(frozen=True)
class Verification:
    """What was recomputed, and all that does not follow: (image, what is wrong), image None for the log as a whole."""

    path: Path
    name: str
    procedure: str
    bound: str
    rows: int
    selected: int
    """images that the header promises"""
    votes: int
    closed: bool
    """whether a closing row says that nothing was changed since it was finished; older logs have none"""
    acr: float | None
    changed: tuple[str, ...]
    """in what it was certified otherwise than its recipe says, as its header states"""
    seed: str
    """"public", "secret" or "revealed": then it is the one the header commits to"""
    signed: bool
    """whether a public key was given, whose owner then signed it: else it is refused"""
    problems: tuple[tuple[int | None, str], ...]


def verify(path: Path, public_key: Path | None = None, noise: Noise | None = None) -> Verification:
    """Every row must be what its procedure gives for its votes, and its votes those the procedure asks for.

    That includes the radius, class, correctness, every count, and through them n, n₀, α and the noise of the header;
    tables of boundaries are computed anew. All images that the header selects must be there, the closing row must fit
    (a log that it does not fit is refused when it is read), the header must not contradict its own recipe unless it
    says so, a revealed seed must be the one committed to, and a budget must be kept, and shared out as the pilot votes
    say. Whether f cast these votes and the data set has these labels `recompute` can tell. Code that the log names is
    not imported: `noise` is the log's, where that is one of somebody's own, for it has the theorem that the radii
    follow from.
    """
    log = read_whole(path)
    header, problems, votes = log.header, list[tuple[int | None, str]](), 0
    if header.procedure is None or header.num_classes is None:
        raise InputError(f"{log.path}: its header does not say by which procedure, or for how many classes")
    procedure = header.procedure
    if isinstance(header.noise, Unopened):
        if noise is None or header.noise != noise:
            name, scale = header.noise.kind, header.noise.scale
            raise InputError(
                f"{log.path}: its radii follow from a theorem of somebody's own: if you trust that code, "
                f"name it with --noise {name}:{scale!r}"
            )
        procedure = replace(procedure, noise=noise)
    stated, changed = log.environment.get("changed"), list[str]()
    for what, (here, there) in header.departures().items():
        if what != "model" and isinstance(stated, list) and what in stated:
            changed.append(f"{what} {shown(here)} instead of {shown(there)}")
        else:
            problems.append((None, f"its {what} is {shown(here)}, but its recipe says {shown(there)}"))
    for row in log.rows:
        try:
            if row["index"] not in header.images:
                raise InputError("it is not among the images that the header selects")
            votes += _row(row, procedure, header.num_classes)
        except InputError as error:
            problems.append((row["index"], str(error)))
    if missing(log):
        here = len(header.images) - len(missing(log))
        problems.append((None, f"{here} of {len(header.images)} selected images: INCOMPLETE"))
    elif isinstance(header.procedure, Budgeted) and not problems:
        problems += [(None, what) for what in _overspent(header.procedure, log.rows, votes, header.num_classes)]
    revealed = revealed_seed(log)
    if public_key is not None:
        refuse_unsigned(log, public_key)
    return Verification(
        path=log.path,
        name=log.name,
        procedure=header.procedure.name,
        bound=header.bound,
        rows=len(log.rows),
        selected=len(header.images),
        votes=votes,
        closed=log.closing is not None,
        acr=acr_of(header, log.rows),
        changed=tuple(changed),
        seed="public" if header.seed_commitment is None else "secret" if revealed is None else "revealed",
        signed=public_key is not None,
        problems=tuple(problems),
    )


def _row(row: Row, procedure: Procedure, num_classes: int) -> int:
    """The votes of a row that follows; InputError says what does not."""
    label = row.get("label")
    if label is not None and label >= num_classes:
        raise InputError(f"label {label} is not one of the {num_classes} classes")
    selection, estimation = dense(row.get("selection"), num_classes), dense(row.get("estimation"), num_classes)
    evidence = Evidence(selection if any(selection) else (), given=_given(row, procedure))
    if not evidence.selection and evidence.given is None:
        raise InputError("there are no selection votes, and no label was given")
    if "looks" in row:
        evidence = replace(evidence, estimation=estimation, looks=tuple(Look(*look) for look in row["looks"]))
    else:
        evidence = evidence.looked(estimation)
    again = conclude(procedure, evidence)
    if row["predict"] != again.label:
        raise InputError(f"predict is {row['predict']}, but the votes give {again.label}")
    if row["radius"] != again.radius:
        raise InputError(f"the radius is {row['radius']!r}, but the votes give {again.radius!r}")
    if label is not None and row["correct"] != int(again.label == label):
        raise InputError(f"correct is {row['correct']}, with class {again.label} and label {label}")
    return again.votes


def _overspent(procedure: Budgeted, rows: Sequence[Row], votes: int, num_classes: int) -> Iterator[str]:
    """Whether more votes were drawn than the budget has, or the plan is not that of the pilot votes of these images."""
    if votes > procedure.budget:
        yield f"{votes:,} votes were drawn where the budget is {procedure.budget:,}"
        return
    pilots = [Evidence(dense(row.get("selection"), num_classes), given=_given(row, procedure)) for row in rows]
    if procedure.shared_out([pilot.pilot_errors for pilot in pilots]) != procedure:
        yield "its plan is not the one that its budget and these pilot votes give"


def _given(row: Row, procedure: Procedure) -> int | None:
    return row["label"] if procedure.label_aware else None


def dense(votes: Votes | None, num_classes: int) -> Counts:
    """Votes by class, those without votes included; InputError for a class that there is not."""
    if votes is None:
        raise InputError("the votes are missing")
    counts = [0] * num_classes
    for name, count in votes.items():
        known = len(name) <= 7 and name.isdecimal() and str(int(name)) == name and int(name) < num_classes
        if not known:
            raise InputError(f"votes for {shown(name)}, which is not one of the {num_classes} classes")
        if count < 1:
            raise InputError(f"{count} votes for class {name}")
        counts[int(name)] = count
    return tuple(counts)
