"""smoothcert audit and selftest, as a user calls them."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from smoothcert.audit.run import resume
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.files.jsonl import decode, encode
from smoothcert.noise import NOISES
from tests.cli.running import fails, smoothcert

ROOT = Path(__file__).parents[2]
MODEL = "tests.audit.linear:make"
HOW = ["--sigma", "4", "--dataset", "fake", "--device", "cpu"]
FAST = ["--votes", "1000", "--steps", "5", "--restarts", "1", "--views", "4", "--device", "cpu"]


def certify(out, *options):
    done = smoothcert("certify", MODEL, *HOW, "--n", "1000", "--every", "4", "--out", out, *options, cwd=out.parent)
    assert done.returncode == 0, done
    return out


def edited(log, change, header=None):
    """The log with another content and valid checksums."""
    first, *rows, _closing = [decode(line) for line in log.read_bytes().splitlines(keepends=True)]
    log.write_bytes(b"".join(map(encode, [header(first) if header else first, *map(change, rows)])))
    return log


def audit(log, *options):
    return smoothcert("audit", MODEL, "--log", log, *FAST, *options, cwd=log.parent)


def refused(log, *options, model=MODEL):
    return fails("audit", model, "--log", log, *FAST, *options, cwd=log.parent)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return certify(tmp_path_factory.mktemp("audit") / "certify.jsonl").read_bytes()


@pytest.fixture
def log(tmp_path, made):
    (tmp_path / "certify.jsonl").write_bytes(made)
    return tmp_path / "certify.jsonl"


def test_certificates_hold_and_the_attack_wins_outside(log):
    done = audit(log, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert found["violations"] == [] and found["sound"] and found["p_value"] == 1 and found["attacked"] == 10
    assert found["found"] >= 9 and 1 < found["least_ratio"] <= found["median_ratio"] < 2
    again = audit(log)  # all rows are there: nothing is attacked twice
    assert again.returncode == 0 and "0 violations inside the radius: no contradiction to alpha" in again.stdout
    lines = again.stdout.splitlines()
    assert lines[0].split() == ["image", "class", "radius", "found", "at", "ratio", "tried"] and len(lines[1]) <= 80


def test_a_certificate_with_twice_the_radius_is_caught(log):
    edited(log, lambda row: row | {"radius": 2 * row["radius"]})
    done = audit(log)
    assert done.returncode == 1 and "the certificates do not hold" in done.stdout and "VIOLATION" in done.stdout
    (name, *_) = sorted(log.parent.glob("audit-*.npy"))
    index = int(name.stem.split("-")[1])
    (row,) = [r for r in map(decode, log.read_bytes().splitlines(keepends=True)[1:-1]) if r["index"] == index]
    x = load("fake", "test").batch(np.array([index]))[0].numpy().astype(np.float64)
    assert np.linalg.norm(np.load(name).astype(np.float64) - x) < row["radius"]


def test_the_audit_can_check_that_it_would_win(log):
    done = audit(log, "--radius-factor", "2", "--images", "5")
    assert done.returncode == 1 and "radius ×2 (pretended)" in done.stdout and "SELF-CHECK" in done.stdout
    assert (log.parent / "audit-x2.jsonl").exists() and not (log.parent / "audit.jsonl").exists()


def test_abstained_images_are_skipped_and_counted(log):
    edited(log, lambda row: row | ({"predict": -1, "radius": 0.0} if row["index"] in (0, 4) else {}))
    found = json.loads(audit(log, "--images", "5", "--json").stdout)
    assert (found["images"], found["attacked"], found["abstained"]) == (5, 4, 1)  # rows 0, 8, 16, 24, 32
    assert "no certificate" in refused(edited(log, lambda row: row | {"predict": -1}))


@pytest.mark.parametrize(
    "options",
    [["--procedure", "curve"], ["--procedure", "adaptive", "--label-aware"], ["--bound", "pair"]],
    ids=["curve", "adaptive", "pair"],
)
def test_every_procedure_is_attacked_for_what_it_claims(tmp_path, options):
    log = certify(tmp_path / "certify.jsonl", *options)
    found = json.loads(audit(log, "--images", "3", "--json").stdout)
    claimed = {row["index"]: row["radius"] for row in map(decode, log.read_bytes().splitlines(keepends=True)[1:-1])}
    assert found["sound"] and all(row["radius"] == claimed[row["index"]] for row in found["rows"])


def test_laplace_certificates_are_attacked_in_l1(tmp_path):
    done = smoothcert("certify", MODEL, "--noise", "laplace:3", *HOW[2:], "--n", "1000", "--every", "10", cwd=tmp_path)
    assert done.returncode == 0, done
    (log,) = tmp_path.glob("*.jsonl")
    done = audit(log)
    assert done.returncode == 0 and "(ℓ1, 1,000 votes each)" in done.stdout


def test_after_kill_9_the_same_command_goes_on(log):
    whole = json.loads(audit(log, "--json", "--out", "whole.jsonl").stdout)["rows"]
    out = log.parent / "audit.jsonl"
    command = [sys.executable, "-m", "smoothcert", "audit", MODEL, "--log", str(log), *FAST, "--threads", "1"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (out.exists() and out.read_bytes().count(b"\n") >= 3) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    before = out.read_bytes()
    out.write_bytes(before + b'{"index":')  # a torn line, as a crash leaves it
    found = json.loads(audit(log, "--json").stdout)["rows"]
    assert out.read_bytes().startswith(before)
    assert [{**row, "seconds": 0} for row in found] == [{**row, "seconds": 0} for row in whole]


def test_what_is_not_the_same_is_refused(log):
    assert audit(log, "--images", "1").returncode == 0
    assert "other settings (seed: 0 there, 1 asked for)" in refused(log, "--images", "1", "--seed", "1")
    assert "images: 1 there, 10 asked for" in refused(log)
    assert "another model" in refused(log, model="tests.audit.linear:other")
    assert "the log is about" in refused(log, "--sigma", "1")
    assert "other settings (certificates" in refused(
        edited(log, lambda row: row | {"radius": row["radius"] / 2}), "--images", "1"
    )
    other = {"name": "fake", "split": "test", "images": 40, "fingerprint": "0"}
    edited(log, lambda row: row, lambda first: first | {"decides": first["decides"] | {"data": other}})
    assert "other images" in refused(log)
    assert "--log" in fails("audit", MODEL, cwd=log.parent)
    for options in (["--images", "0"], ["--radius-factor", "0"], ["--votes", "5"]):
        assert "smoothcert: " in refused(log, *options)


def test_two_audits_do_not_share_a_log(log):
    import fcntl

    with (log.parent / ".audit.jsonl.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "another process" in refused(log)


def test_a_file_that_is_no_audit_is_left_alone(tmp_path):
    path = tmp_path / "audit.jsonl"
    for content in (b"notes\n", b"notes", encode({"format": "else"})):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not an audit"):
            resume(path, {})
        assert path.read_bytes() == content
    path.unlink()
    _, writer = resume(path, {"a": 1})
    writer.append({"index": 1})
    writer.close()
    path.write_bytes(path.read_bytes().replace(b'"index":1', b'"index":2'))
    with pytest.raises(InputError, match="line 2 is damaged"):
        resume(path, {"a": 1})


def test_selftest_says_what_it_tested_and_turns_red(tmp_path, monkeypatch):
    few = ["selftest", "--votes", "400", "--points", "20", "--device", "cpu"]
    done = smoothcert(*few, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["failed"] == 0 and {c["noise"] for c in found["checks"]} >= {
        "all", *(law.__name__.lower() for law in NOISES.values()),
    }  # fmt: skip
    assert found["level"] * len(found["checks"]) == pytest.approx(1e-6)
    from smoothcert.smoothed import votes

    real = votes.generator_for
    monkeypatch.setattr(votes, "generator_for", lambda device, seed, *rest: real(device, *rest))
    done = smoothcert(*few, cwd=tmp_path)
    assert done.returncode == 1 and "FAILED" in done.stdout and "checks failed" in done.stdout
