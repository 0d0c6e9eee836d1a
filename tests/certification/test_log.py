"""The certification log: append-only, resumable, and nobody can change a byte of it unseen."""

from dataclasses import replace

import pytest
import torch

from smoothcert.certification.run import certify_images, to_row
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.procedures.certificate import certify as prove
from smoothcert.procedures.fixed import Fixed
from smoothcert.records.log import read_certification
from smoothcert.records.selection import Selection
from smoothcert.smoothed.classifier import SmoothedClassifier

TEST = load("fake", "test")
NOISE = Gaussian(0.5)
CERTIFY = Fixed(NOISE, n0=20, n=100)


def f(x):
    patterns = torch.stack([TEST.batch(torch.arange(c, 40, 10))[0].mean(0) for c in range(10)]).flatten(1)
    return -torch.cdist(x.flatten(1), patterns)


def certify(log, procedure=CERTIFY, selection=Selection(every=4), limit=None, stop_after=None, seed=0, f=f):  # noqa: B008
    g = SmoothedClassifier(f, NOISE, 10, seed=seed)
    rows = []
    about = {"model": {"name": "nearest"}}
    for row in certify_images(g, TEST, log, procedure, selection, "test", about, limit):
        rows.append(row)
        if len(rows) == stop_after:
            break
    return rows


def timeless(rows):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return timeless(certify(tmp_path_factory.mktemp("log") / "log.jsonl"))


def test_every_selected_image_is_certified_once(whole):
    assert [row["index"] for row in whole] == list(range(0, 40, 4))
    assert sum(row["correct"] for row in whole) >= 9
    assert all(sum(row["estimation"].values()) == 100 and sum(row["selection"].values()) == 20 for row in whole)


def test_an_abstention_is_never_correct_however_good_the_guess():
    unsure, sure = (replace(prove([20, 0], votes, NOISE, 0.001), index=0) for votes in ([52, 48], [99, 1]))
    assert unsure.abstained and unsure.guess == 0
    assert to_row(unsure, 0, 0.0)["correct"] == 0
    assert to_row(sure, 0, 0.0)["correct"] == 1


@pytest.mark.parametrize("stops", [[1], [3, 5], [2, 2, 9]])
def test_it_goes_on_after_an_interruption(tmp_path, whole, stops):
    log = tmp_path / "log.jsonl"
    for stop in stops:
        certify(log, stop_after=stop)
    assert timeless(certify(log)) == whole
    assert timeless(read_certification(log).rows) == whole


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_half_written_last_line_is_dropped_and_done_again(tmp_path, whole, cut):
    log = tmp_path / "log.jsonl"
    certify(log, stop_after=4)
    log.write_bytes(log.read_bytes()[:-cut])
    assert len(read_certification(log).rows) == 3
    assert timeless(certify(log)) == whole


def test_a_torn_header_starts_again(tmp_path, whole):
    log = tmp_path / "log.jsonl"
    certify(log, stop_after=1)
    log.write_bytes(log.read_bytes()[:200])
    assert timeless(certify(log)) == whole


def test_any_flipped_byte_is_noticed(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log, stop_after=3)
    data = log.read_bytes()
    for position in range(0, len(data) - 1, 7):
        for flip in (1, 32):
            damaged = bytearray(data)
            damaged[position] ^= flip
            log.write_bytes(damaged)
            with pytest.raises(InputError):
                read_certification(log)


def test_other_settings_are_refused_and_named(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log, stop_after=2)
    before = log.read_bytes()
    for kwargs, named in [
        ({"procedure": Fixed(NOISE, n0=20, n=200)}, "n: 100 there, 200 asked for"),
        ({"procedure": Fixed(NOISE, n0=20, n=100, alpha=0.01)}, "alpha"),
        ({"seed": 1}, "seed"),
        ({"selection": Selection(every=5)}, "selection.every"),
    ]:
        with pytest.raises(InputError, match=named):
            certify(log, **kwargs)
    assert log.read_bytes() == before


def test_a_foreign_file_is_never_overwritten(tmp_path):
    log = tmp_path / "thesis.txt"
    for content in (b"my only copy", b"my only copy\n", b'{"json": 1}\n'):
        log.write_bytes(content)
        with pytest.raises(InputError):
            certify(log)
        assert log.read_bytes() == content


def test_limit_ends_early_and_a_later_call_goes_on(tmp_path, whole):
    log = tmp_path / "log.jsonl"
    assert len(certify(log, limit=3)) == 3
    assert len(certify(log, limit=5)) == 5
    assert timeless(certify(log)) == whole


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(every=15), [0, 15, 30]),
        (Selection(1, 3, 6), [3, 4, 5]),
        (Selection(10, 5), [5, 15, 25, 35]),
        (Selection(1, 38, 99), [38, 39]),
    ],
)
def test_a_selection_is_every_kth_image_from_start_to_stop(selection, expected):
    assert list(selection.of(40)) == expected


@pytest.mark.parametrize("bad", [{"every": 0}, {"start": -1}, {"start": 5, "stop": 5}])
def test_empty_selections_are_refused(bad):
    with pytest.raises(InputError):
        Selection(**bad)
    with pytest.raises(InputError, match="no image"):
        Selection(start=40).of(40)


def test_votes_of_another_precision_are_not_added_to_a_log(tmp_path, monkeypatch):
    def in_bfloat16(x):
        return f(x.bfloat16().float())

    in_bfloat16.precision = "bfloat16"
    monkeypatch.setenv("SMOOTHCERT_EMULATE_BF16", "1")
    certify(tmp_path / "log.jsonl", limit=1)
    with pytest.raises(InputError, match="precision: None there, bfloat16 asked for"):
        certify(tmp_path / "log.jsonl", f=in_bfloat16)
    certify(tmp_path / "other.jsonl", limit=1, f=in_bfloat16)
    assert read_certification(tmp_path / "other.jsonl").header.precision == "bfloat16"
