"""Made-up logs for tests."""

import numpy as np

from smoothcert.analysis import Results
from smoothcert.files.jsonl import encode
from smoothcert.noise import Gaussian
from smoothcert.procedures.procedure import build
from smoothcert.records.header import header_of
from smoothcert.records.log import FORMAT

ABOUT = {"n0": 100, "n": 1000, "alpha": 0.001, "noise": {"kind": "gaussian", "sigma": 0.5}}


def curve_about(*radii, n=1000):
    """The header of a `curve` log: its radii are rounded down to this grid."""
    law = Gaussian(0.5)
    procedure = build("curve", law, 100, n, 0.001, bound="single", radii=radii, label_aware=False)
    return {**ABOUT, **procedure.header()}


def results(label, predict, radius, name="x", about=None, index=None):
    label, predict = np.array(label), np.array(predict)
    radius = np.where(predict == -1, 0.0, np.array(radius, float))
    index = np.arange(len(label)) if index is None else np.array(index)
    return Results(name, index, label, predict, radius, label == predict, header_of(ABOUT if about is None else about))


def random_results(images=200, seed=0, **options):
    rng = np.random.default_rng(seed)
    label = np.random.default_rng(99).integers(0, 3, images)  # the same for every seed: one test set
    predict = np.where(rng.random(images) < 0.85, label, rng.integers(-1, 3, images))
    return results(label, predict, rng.gamma(2, 0.4, images).clip(0, 1.9), **options)


def write_log(path, made, votes=True, **about):
    """`made` as a log of ours, with votes for its class."""
    decides = {**made.header.to_json(), "selected": len(made), **about}
    lines = [encode({"format": FORMAT, "name": made.name, "decides": decides, "environment": {}})]
    for i in range(len(made)):
        row = {"index": int(made.index[i]), "label": int(made.label[i]), "predict": int(made.predict[i])}
        row |= {"radius": float(made.radius[i]), "correct": int(made.correct[i])}
        if votes:
            row |= {"selection": {"1": 100}, "estimation": {"0": 3, "1": 990, "2": 7}}
        lines.append(encode({**row, "seconds": 0.25}))
    path.write_bytes(b"".join(lines))
    return path
