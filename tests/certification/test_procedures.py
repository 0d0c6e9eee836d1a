"""Procedures at work: packed, interrupted, resumed, in any order, an image gets the same certificate."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from smoothcert.analysis import read_results, summarize
from smoothcert.analysis.metrics import default_radii, paired_difference
from smoothcert.analysis.tables import as_json, cells
from smoothcert.certification.run import certify_images
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace
from smoothcert.procedures.certificate import ABSTAIN, conclude
from smoothcert.procedures.evidence import Evidence
from smoothcert.procedures.procedure import build
from smoothcert.records.log import read_certification
from smoothcert.records.selection import Selection
from smoothcert.smoothed import drive as driver
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.stats import least_n

TEST = load("fake", "test")
IMAGES, LABELS = TEST.batch(torch.arange(12))
PATTERNS = torch.stack([TEST.batch(torch.arange(c, 40, 10))[0].mean(0) for c in range(10)]).flatten(1).double()
NOISE = Gaussian(2.5)
KINDS = [
    ("paper", {}),
    ("paper", {"bound": "pair"}),
    ("curve", {}),
    ("curve", {"label_aware": True}),
    ("curve", {"bound": "pair"}),
    ("curve", {"bound": "pair", "label_aware": True}),
    ("adaptive", {}),
    ("adaptive", {"bound": "pair", "label_aware": True}),
    ("paper", {"label_aware": True}),
]


def f(x):
    return -torch.cdist(x.flatten(1).double(), PATTERNS)  # float64: no rounding that a batch size could change


def of(kind, noise=NOISE):
    name, options = kind
    radii = {} if name == "paper" else {"radii": (0.0, 0.5, 1.0, 2.0)}
    return build(name, noise, 20, 300, **radii, **options)


def certificates(procedure, order=range(12), batch="auto"):
    g = SmoothedClassifier(f, NOISE, 10, batch=batch)
    asked = [driver.Image(IMAGES[i], i, int(LABELS[i])) for i in order]
    return {image.index: certificate for image, certificate, _ in g.certificates(procedure, asked)}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_packing_order_and_batch_change_nothing(kind, monkeypatch):
    procedure = of(kind)
    whole = certificates(procedure)
    assert sorted(whole) == list(range(12)) and all(c.follows for c in whole.values())
    assert kind[0] != "curve" or len({c.votes for c in whole.values()}) > 1
    assert certificates(procedure, reversed(range(12)), batch=7) == whole
    monkeypatch.setattr(driver, "ROUND", 1)  # one image at a time
    assert certificates(procedure, [5, 3, 11], batch=64) == {i: whole[i] for i in (5, 3, 11)}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_an_edited_certificate_does_not_follow(kind):
    for c in list(certificates(of(kind), range(4)).values()):
        assert c.follows
        edits = {
            "radius": c.radius + 0.001,
            "label": (c.label + 1) % 10 if c.label != ABSTAIN else c.guess,
            "procedure": of(kind, Gaussian(2.4)),
        }
        for name, value in edits.items():
            assert not replace(c, **{name: value}).follows, name
        seen = {
            "estimation": (*c.estimation[:-1], c.estimation[-1] + 1),
            "selection": tuple(reversed(c.selection)) if c.selection else (1, *[0] * 9),
            "looks": c.looks[:-1],
            "given": 3 if c.evidence.given is None else None,
        }
        for name, value in seen.items():
            assert not replace(c, evidence=replace(c.evidence, **{name: value})).follows, name
        assert not replace(c, evidence=replace(c.evidence, looks=(*c.looks, c.looks[-1]))).follows
        assert not replace(c, procedure=replace(c.procedure, alpha=0.01)).follows


def test_paper_and_curve_certify_the_same_radii_where_votes_tell():
    paper, curve = certificates(of(KINDS[0])), certificates(of(KINDS[2]))
    for i in range(12):
        steps = [sum(r <= c.radius for r in curve[i].procedure.radii) * (not c.abstained) for c in (paper[i], curve[i])]
        assert abs(steps[0] - steps[1]) <= 1
    assert sum(c.votes for c in curve.values()) < sum(c.votes for c in paper.values())


def test_label_aware_paper_skips_what_counts_nothing_and_changes_nothing_else():
    g, labels = SmoothedClassifier(f, NOISE, 10), LABELS.clone()
    labels[::3] = (labels[::3] + 1) % 10  # images that are classified wrongly
    asked = [driver.Image(IMAGES[i], i, int(labels[i])) for i in range(12)]
    paper, aware = (
        {image.index: c for image, c, _ in g.certificates(of(kind), asked)} for kind in (KINDS[0], KINDS[-1])
    )
    skipped = 0
    for i, plain in paper.items():
        assert aware[i].selection == plain.selection and aware[i].follows
        if plain.guess == labels[i]:
            assert (aware[i].label, aware[i].radius, aware[i].estimation) == (
                plain.label,
                plain.radius,
                plain.estimation,
            )
        else:
            assert (aware[i].label, aware[i].radius, aware[i].n) == (ABSTAIN, 0.0, least_n(plain.alpha))
            skipped += 1
    assert skipped >= 4 and any(not c.abstained for c in aware.values())


def test_votes_that_were_skipped_certify_nothing_however_they_fall():
    procedure = of(KINDS[-1])
    wrong = Evidence((0, 20, *[0] * 8), given=0)
    unanimous = (procedure.next(wrong).stop, *[0] * 9)
    assert of(KINDS[0]).radius(Evidence((20, *[0] * 9)).looked(unanimous)) is not None  # they would have been enough
    assert conclude(procedure, wrong.looked(unanimous)).abstained


def run(log, kind, stop_after=None):
    procedure, rows = of(kind), []
    g = SmoothedClassifier(f, NOISE, 10)
    for row in certify_images(g, TEST, log, procedure, Selection(every=4), "test", {"model": {"name": "nearest"}}):
        rows.append(row)
        if len(rows) == stop_after:
            break
    return sorted(({k: v for k, v in row.items() if k != "seconds"} for row in rows), key=lambda row: row["index"])


@pytest.mark.parametrize("kind", [*KINDS[1:5], KINDS[-1]], ids=str)
def test_logs_go_on_after_an_interruption_and_never_mix(tmp_path, kind):
    whole = run(tmp_path / "whole.jsonl", kind)
    assert [row["index"] for row in whole] == list(range(0, 40, 4))
    log = tmp_path / "log.jsonl"
    for stop in (1, 4):
        run(log, kind, stop)
    log.write_bytes(log.read_bytes()[:-9])  # killed while writing
    assert run(log, kind) == whole
    assert read_certification(log).header.procedure == of(kind)
    for other in KINDS:
        if other != kind:
            with pytest.raises(InputError, match="other settings"):
                run(log, other)


def test_radii_of_a_grid_are_never_averaged(tmp_path):
    run(tmp_path / "curve.jsonl", KINDS[2])
    run(tmp_path / "paper.jsonl", KINDS[0])
    run(tmp_path / "pair.jsonl", KINDS[1])
    curve, paper, pair = (read_results(tmp_path / f"{name}.jsonl") for name in ("curve", "paper", "pair"))
    assert default_radii([curve]) == [0.0, 0.5, 1.0, 2.0]
    s = summarize(curve, [0.0, 0.25, 0.5])
    assert s.acr is None and s.certified_accuracy[0.25] is None and s.certified_accuracy[0.5] is not None
    _, ((_, acr, error, *_, zero, quarter, _),) = cells([s])
    assert (acr, error, quarter) == ("–", "–", "") and float(zero) == 100 * s.certified_accuracy[0.0]
    assert '"acr": null' in as_json([s]) and '"0.25": null' in as_json([s])
    assert summarize(paper, [0.25]).acr is not None
    assert summarize(pair, []).name == "test (pair bound)"
    for one, other in ((curve, paper), (paper, pair)):
        with pytest.raises(InputError):
            paired_difference(one, other)


def test_what_is_not_proved_is_refused():
    for name, noise, options, said in [
        ("curve", Laplace(1.0), {"bound": "pair"}, "Gaussian noise only"),
        ("paper", NOISE, {"radii": (1.0,)}, "as published"),
        ("paper", Laplace(1.0), {"bound": "pair"}, "Gaussian noise only"),
        ("paper", NOISE, {"bound": "triple"}, "single or pair"),
        ("curves", NOISE, {}, "did you mean curve"),
        ("curve", NOISE, {"radii": (1.0, 0.5)}, "increasing"),
        ("curve", NOISE, {"radii": (90.0,)}, "no radius"),
    ]:
        with pytest.raises(InputError, match=said):
            build(name, noise, 20, 300, **options)
    with pytest.raises(InputError, match="needs the label"):
        SmoothedClassifier(f, NOISE, 10).certify(IMAGES[0], procedure=of(KINDS[3]))
    with pytest.raises(InputError, match="smoothed by"):
        SmoothedClassifier(f, Gaussian(1.0), 10).certify(IMAGES[0], procedure=of(KINDS[0]))


def test_the_library_call_takes_a_name_or_a_procedure():
    g = SmoothedClassifier(f, NOISE, 10)
    many = g.certify_batch(
        IMAGES, 20, 300, index=0, procedure="curve", radii=(0.0, 0.5, 1.0, 2.0), label=LABELS.tolist()
    )
    assert {c.index: c for c in many} == certificates(of(KINDS[3]))
    assert many[3] == g.certify(IMAGES[3], index=3, procedure=of(KINDS[3]), label=int(LABELS[3]))
    assert g.certify_batch(IMAGES[:2], index=[7, 7], n=50)[1].index == 7  # the same noise for two images, if one likes


@pytest.mark.parametrize("bound", ["single", "pair"])
def test_watching_gives_certificates_that_only_improve(bound):
    g = SmoothedClassifier(f, NOISE, 10)
    seen = [c for c, _ in zip(g.watch(IMAGES[0], 20, step=37, bound=bound), range(40), strict=False)]
    assert all(c.follows for c in seen)
    assert all((b.label, b.radius) >= (a.label, a.radius) for a, b in pairwise(seen))
    assert seen[0].radius < seen[-1].radius and seen[-1].n > 1000
    assert not replace(seen[-1], radius=seen[-1].radius * 1.001).follows
    assert (g.votes(IMAGES[0], seen[-1].n) == seen[-1].estimation).all()
