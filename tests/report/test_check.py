"""A page says of a log what `smoothcert verify` says of it."""

import json
import re

import pytest

from smoothcert.analysis import read_results
from smoothcert.certification.seal import reveal, sign
from smoothcert.errors import InputError
from smoothcert.files.jsonl import encode
from smoothcert.records.signature import new_key
from smoothcert.report.check import check_of
from smoothcert.report.entry import entry_of
from smoothcert.report.page import render
from tests.analysis.made import random_results
from tests.report.nearest import certified


@pytest.fixture
def log(tmp_path):
    return certified(tmp_path / "log.jsonl")


def words(log, **options):
    results = read_results(log)
    return [seal.words for seal in check_of(results, **options).seals(len(results), results.header.selected)]


def page(log):
    return render([entry_of(read_results(log), None, {})])


def forged(log, **changes):
    """The log with its first row changed, and checksums that fit; without closing row."""
    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    lines = [{key: value for key, value in line.items() if key != "crc"} for line in lines if "closing" not in line]
    lines[1] |= changes
    log.write_bytes(b"".join(map(encode, lines)))
    return log


def test_a_finished_log_is_complete_and_sealed(log):
    follow = "all certificates follow from their votes"
    assert words(log) == ["complete: 10 of 10 images", follow, "sealed", "public seed", "not signed"]
    html = page(log)
    assert "At least <strong>" in html and "Nothing is" not in html and 'class="claim"' in html


def test_the_radius_of_the_sentence_is_not_rounded_up(log):
    def said(radius):
        html = render([entry_of(read_results(log), None, {})], radius=radius)
        return re.search(r"size ≤\u00a0([^<]*)</strong>", html)[1]

    assert [said(r) for r in (0.0, 0.5, 1.0, 0.12345678, 20.0)] == ["0", "0.5", "1", "0.123456", "20"]


def test_an_unfinished_log_says_so(tmp_path):
    log = certified(tmp_path / "log.jsonl", limit=5)
    assert words(log)[0] == "INCOMPLETE: 5 of 10 images" and "without closing row" in words(log)
    assert "INCOMPLETE: 5 of 10 images" in page(log) and 'class="claim marked"' in page(log)


def test_a_forged_row_voids_the_claim(log):
    assert "DOES NOT VERIFY" in words(forged(log, radius=3.5))
    html = page(log)
    assert "Nothing is claimed:</strong> this log does not verify (image 0: the radius is 3.5, but" in html
    assert "At least <strong>" not in html and 'class="claim wrong"' in html


def test_a_log_without_votes_is_not_verified(log, tmp_path):
    assert check_of(random_results()).refused == "there is no log file"
    tsv = tmp_path / "x.tsv"
    tsv.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.5\t1\t0:00:01\n")
    assert words(tsv)[1] == "not verified: a TSV log holds neither votes nor settings"
    html = page(tsv)
    assert "The log says that" in html and "Nothing is promised here" in html and "At least <strong>" not in html
    with pytest.raises(InputError, match="cannot be signed"):
        check_of(read_results(tsv), tmp_path / "key.pub")


def test_a_header_that_cannot_be_verified_is_said_without_folders(log):
    lines = log.read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    del header["decides"]["num_classes"], header["crc"]
    log.write_bytes(b"".join((encode(header), *lines[1:-1])))
    said = words(log)[1]
    assert said.startswith("not verified: its header does not say") and str(log.parent) not in page(log)


def test_a_secret_seed_is_secret_until_it_is_revealed(tmp_path):
    log = certified(tmp_path / "log.jsonl", seed="secret")
    assert "seed still secret" in words(log)
    reveal(log)
    assert "seed revealed, fits its commitment" in words(log)


def test_a_signature_is_checked_with_its_key(log, tmp_path):
    public, other = new_key(tmp_path / "key"), new_key(tmp_path / "other")
    with pytest.raises(InputError, match="not signed"):
        check_of(read_results(log), public)
    sign(log, tmp_path / "key")
    assert words(log)[-1] == "signed, signature not checked"
    assert words(log, public_key=public)[-1] == "signature fits"
    with pytest.raises(InputError, match="signature is not one of this log"):
        check_of(read_results(log), other)
