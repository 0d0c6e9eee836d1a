"""certify_run(budget=N): planned once, killed at any instant, gone on with, verified.

Seen red: pilot votes drawn again with the image, a log of other images gone on with, a pilot that overlooks the label.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import smoothcert as command

from smoothcert import InputError, certify_run
from smoothcert.certification.pilot import pilot_path
from smoothcert.certification.verify import verify
from smoothcert.files.jsonl import encode, linked
from smoothcert.noise import Gaussian
from smoothcert.procedures.budget import Budgeted
from smoothcert.records.log import read_certification
from smoothcert.smoothed.votes import Voter

ROOT = Path(__file__).parents[2]
RUN = ROOT / "results" / "runs" / "mnist-consistency-fast-0.50-seed0"
BUDGET = 5_000
UNANIMOUS = np.eye(10, dtype=np.int64)[3]
SMALL = {"budget": BUDGET, "n0": 50, "n": 2000, "every": 4, "dataset": "fake", "device": "cpu", "threads": 1}


def certify(log, **options):
    return certify_run(RUN, log, **(SMALL | options))


def rows(log):
    found = ({k: v for k, v in row.items() if k != "seconds"} for row in read_certification(log).rows)
    return sorted(found, key=lambda row: row["index"])


def spent(log):
    return sum(sum(row["selection"].values()) + sum(row["estimation"].values()) for row in rows(log))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return certify(tmp_path_factory.mktemp("budget") / "log.jsonl").finish()


def test_the_budget_is_kept_and_its_plan_stands_in_the_header(whole):
    header = read_certification(whole).header
    assert isinstance(header.procedure, Budgeted) and header.procedure.budget == BUDGET
    assert header.to_json()["budget"] == BUDGET and len(header.to_json()["plan"]) == 51
    assert BUDGET - 10 < spent(whole) <= BUDGET
    assert len({sum(row["estimation"].values()) for row in rows(whole)}) > 2
    assert any(row["radius"] > 0 for row in rows(whole))
    assert verify(whole).problems == () and verify(whole).votes == spent(whole)
    assert not pilot_path(whole).exists()


def test_no_vote_is_drawn_twice(tmp_path, monkeypatch):
    drawn, count = [], Voter.count
    monkeypatch.setattr(Voter, "count", lambda self, asked, *more: drawn.extend(asked) or count(self, asked, *more))
    log = certify(tmp_path / "log.jsonl").finish()
    assert sum(request.stop - request.start for request in drawn) == spent(log) <= BUDGET


KILLED = """
import os, signal, sys
from smoothcert import certify_run
from tests.certification.test_budget import RUN, SMALL
for done, event in enumerate(certify_run(RUN, sys.argv[1], **SMALL), 1):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("events", [1, 2, 7])
def test_a_killed_certification_ends_as_if_nothing_had_happened(tmp_path, whole, events):
    """Killed after the pilot, after the first certificate, and after some."""
    log = tmp_path / "log.jsonl"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(log), str(events)], cwd=ROOT, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert log.exists() == (events > 1)
    certify(log).finish()
    assert rows(log) == rows(whole) and read_certification(log).header == read_certification(whole).header
    assert spent(log) <= BUDGET and verify(log).problems == () and not pilot_path(log).exists()


def test_limit_and_a_lost_pilot_file_change_nothing(tmp_path, whole):
    log = tmp_path / "log.jsonl"
    certify(log, limit=4).finish()
    assert len(rows(log)) == 4 and pilot_path(log).exists()
    assert read_certification(log).header == read_certification(whole).header
    pilot_path(log).unlink()
    with pytest.raises(InputError, match="other settings"):
        certify(log, seed=1).finish()  # and none of its votes are left behind
    certify(log).finish()
    assert rows(log) == rows(whole) and not pilot_path(log).exists()


def test_pilot_votes_that_fall_otherwise_cannot_exceed_the_budget(tmp_path, monkeypatch):
    """On another machine, say: unanimous ones ask for the most."""
    log = tmp_path / "log.jsonl"
    certify(log, limit=4).finish()
    before = log.read_bytes()
    pilot_path(log).unlink()
    count = Voter.count
    monkeypatch.setattr(Voter, "count", lambda self, *asked: count(self, *asked).sum(1, keepdims=True) * UNANIMOUS)
    with pytest.raises(InputError, match="exceed the budget: choose another --out"):
        certify(log).finish()
    assert log.read_bytes() == before


def test_pilot_votes_of_another_log_are_refused(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log, limit=4).finish()
    said = json.loads(pilot_path(log).read_text())
    few = said["votes"] | {"36": {"0": 3}}
    for broken in ({}, said | {"plan": said["plan"][::-1]}, said | {"votes": few}, said | {"votes": [1]}):
        pilot_path(log).write_text(json.dumps(broken))
        with pytest.raises(InputError, match="delete it, and they are drawn again"):
            certify(log).finish()


def test_another_budget_or_other_images_are_refused(tmp_path, whole):
    before = whole.read_bytes()
    for other, said in (
        ({"budget": BUDGET + 1}, "other settings"),
        ({"budget": None}, "other settings"),
        ({"n0": 40}, "other settings"),
        ({"n": 3000}, "other settings"),
        ({"n": 1000}, "other settings"),
        ({"noise": Gaussian(0.25)}, "other settings"),
        ({"seed": 1}, "other settings"),
        ({"alpha": 0.01}, "other settings"),
        ({"every": 2}, "choose another --out"),
        ({"stop": 20}, "choose another --out"),
    ):
        with pytest.raises(InputError, match=said):
            certify(whole, **other).finish()
    assert whole.read_bytes() == before
    for options, said in (
        ({"procedure": "adaptive"}, "leave out --procedure"),
        ({"radii": (0.5,)}, "leave out --procedure and --radii"),
        ({"shard": "0/2"}, "one process"),
        ({"budget": 599}, "at least 600"),
    ):
        with pytest.raises(InputError, match=said):
            certify(tmp_path / "new.jsonl", **options).finish()
    assert not (tmp_path / "new.jsonl").exists()


def test_label_aware_with_the_pair_bound(tmp_path):
    log = certify(tmp_path / "log.jsonl", label_aware=True, bound="pair").finish()
    assert spent(log) <= BUDGET and verify(log).problems == ()
    for row in rows(log):  # pilot votes against the label: a lost image
        if row["selection"].get(str(row["label"]), 0) < 10:
            assert sum(row["estimation"].values()) == 10


def forged(log, path, change):
    """With another header, all checksums made anew."""
    header, *lines = (json.loads(line) for line in log.read_text().splitlines())
    change(header["decides"])
    kept = [encode({k: v for k, v in line.items() if k != "crc"}) for line in (header, *lines[:-1])]
    closing = {k: v for k, v in lines[-1].items() if k != "crc"}
    next(iter(closing.values()))["chain"] = linked(kept)
    path.write_bytes(b"".join([*kept, encode(closing)]))
    return path


def test_verify_notices_a_budget_that_was_not_kept_or_not_shared_out_so(tmp_path, whole):
    def smaller(header):
        header["budget"] = spent(whole) - 1

    def unused(header):  # a number that no image needs: all rows follow
        pilots = {50 - max(row["selection"].values()) for row in rows(whole)}
        header["plan"][max(set(range(51)) - pilots)] += 1

    assert verify(forged(whole, tmp_path / "same.jsonl", lambda _: None)).problems == ()
    assert "where the budget is" in str(verify(forged(whole, tmp_path / "less.jsonl", smaller)).problems)
    assert "its plan is not" in str(verify(forged(whole, tmp_path / "plan.jsonl", unused)).problems)


def test_the_command_says_it(tmp_path):
    words = ["--budget", "2000", "--n0", "50", "--every", "8", "--dataset", "fake", "--out", "log.jsonl"]
    done = command("certify", RUN, *words, cwd=tmp_path)
    assert done.returncode == 0 and "budget 2,000, single bound" in done.stdout
    assert command("verify", "log.jsonl", cwd=tmp_path).returncode == 0
    refused = command("certify", RUN, *words, "--radius", "0.5", cwd=tmp_path)
    assert refused.returncode == 2 and "--budget" in refused.stderr
