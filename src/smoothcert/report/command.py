"""The command that makes a log like this one again, from what its header states."""

from __future__ import annotations

import shlex

from smoothcert.noise import Gaussian
from smoothcert.procedures.budget import Budgeted
from smoothcert.recipes.serialize import kind_of
from smoothcert.records.header import Header, Model
from smoothcert.report.plain_name import plain_name


def certify_command(header: Header) -> str | None:
    """`smoothcert certify …` with every setting written out; None where the log does not state them.

    RUN is the run folder of the model. Folders are left out: whoever calls it again has others; so are `--limit`,
    `--batch` and `--shard`, which decide nothing.
    """
    if header.model is None or header.data is None or header.noise is None or header.procedure is None:
        return None
    if isinstance(header.model.said.get("network"), str) or header.data.kind is not None:
        return None  # code and images of one's own are named by paths, which the log does not keep
    if "parts" in header.model.said:
        return None  # each part may be a run, whose folder the log does not keep
    of_a_run = header.recipe is not None or header.imported is not None
    words = ["smoothcert", "certify", "RUN" if of_a_run else plain_name(_source(header.model) or header.model.name)]
    words += [] if of_a_run else _of_a_checkpoint(header.model)
    noise = header.noise
    if isinstance(noise, Gaussian):
        words += ["--sigma", f"{noise.sigma!r}"]
    else:
        words += ["--noise", f"{kind_of(noise)}:{noise.scale!r}"]
    words += ["--dataset", plain_name(header.data.name), "--split", header.data.split]
    said = header.procedure.header()
    budgeted = isinstance(header.procedure, Budgeted)
    words += ["--budget", str(said["budget"])] if budgeted else ["--procedure", said["procedure"]]
    words += ["--bound", said["bound"]]
    for key in ("n0", "n", "alpha"):
        words += [f"--{key}", f"{said[key]}"] if said.get(key) else []
    words += ["--radii", *map(str, said["radii"])] if "radii" in said else []
    words += ["--label-aware"] if said.get("label_aware") else []
    if (chosen := header.selection) is not None:
        words += ["--every", str(chosen.every)] if chosen.every != 1 else []
        stop = header.data.images if chosen.stop is None else chosen.stop
        words += ["--range", str(chosen.start), str(stop)] if (chosen.start, stop) != (0, header.data.images) else []
    words += ["--seed", "secret" if header.seed is None else str(header.seed)]
    words += ["--precision", header.precision] + (["--device", header.device] if header.device else [])
    return shlex.join(words)


def _source(model: Model) -> str | None:
    """The file of a checkpoint, whose name is that of its network."""
    source = model.said.get("source")
    return source if isinstance(source, str) else None


def _of_a_checkpoint(model: Model) -> list[str]:
    """What such files do not say themselves."""
    layer = model.said.get("normalization")
    return ["--arch", model.name, "--normalization", layer] if _source(model) and isinstance(layer, str) else []
