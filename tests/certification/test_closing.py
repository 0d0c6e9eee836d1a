"""A finished log ends with a closing row, however it came about; a secret seed stays secret until it is revealed."""

import contextlib
import gzip
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from forging import opened, sealed
from tests.cli.running import fails, smoothcert

from smoothcert.certification.crew import Shard
from smoothcert.certification.merge import merge
from smoothcert.certification.run import certify_images
from smoothcert.certification.seal import reveal
from smoothcert.certification.verify import verify
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.files.jsonl import encode
from smoothcert.noise import Gaussian
from smoothcert.procedures.procedure import build
from smoothcert.records.log import read_certification
from smoothcert.records.parts import files_of, part_path, read_whole
from smoothcert.records.secret_seed import SecretSeed, secret_path, secret_seed_for
from smoothcert.records.selection import Selection
from smoothcert.smoothed.classifier import SmoothedClassifier

TEST = load("fake", "test")
PATTERNS = torch.stack([TEST.batch(torch.arange(c, 40, 10))[0].mean(0) for c in range(10)]).flatten(1).double()
NOISE = Gaussian(0.5)


def certify(log, every=4, crew=None, limit=None, stop_after=None, kind="paper", secret=None):
    g = SmoothedClassifier(
        lambda x: -torch.cdist(x.flatten(1).double(), PATTERNS),
        NOISE,
        10,
        seed=0 if secret is None else secret.number,
    )
    procedure = build(kind, NOISE, n0=20, n=100, radii=None if kind == "paper" else (0.0, 0.25))
    about = {"model": {"name": "nearest"}}
    with contextlib.closing(
        certify_images(g, TEST, log, procedure, Selection(every), "test", about, limit, crew, secret)
    ) as rows:
        for number, _ in enumerate(rows, 1):
            if number == stop_after:
                return


def fits(log):
    """Whether the file is just what a second implementation of the closing row gives for its rows."""
    return log.read_bytes() == sealed(opened(log)) and read_certification(log).closing is not None


def is_closed(log):
    return read_whole(log).closing is not None


@pytest.mark.parametrize("kind", ["paper", "curve", "adaptive"])
def test_a_finished_log_is_closed_and_an_unfinished_one_is_not(tmp_path, kind):
    log = tmp_path / "log.jsonl"
    for unfinished in ({"stop_after": 3}, {"limit": 5}):
        certify(log, kind=kind, **unfinished)
        assert read_certification(log).closing is None
        assert (None, f"{len(opened(log)) - 1} of 10 selected images: INCOMPLETE") in verify(log).problems
    certify(log, kind=kind)
    assert fits(log) and verify(log).problems == () and verify(log).closed
    assert (read_certification(log).closing["acr"] is None) == (kind == "curve")
    before = log.read_bytes()
    certify(log, kind=kind)
    assert log.read_bytes() == before


def test_a_crash_before_while_or_after_it_is_written_is_recovered_from(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log)
    whole = log.read_bytes()
    start = len(whole) - len(whole.splitlines(keepends=True)[-1])
    for end in range(start - 5, len(whole)):
        log.write_bytes(whole[:end])
        assert not is_closed(log)
        certify(log)
        assert fits(log) and len(read_certification(log).rows) == 10
    assert log.read_bytes() == whole


def test_a_closed_log_of_fewer_images_is_opened_again_and_closed_anew(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log, every=8)
    assert fits(log)
    certify(log, every=4, stop_after=7)
    assert not is_closed(log) and len(read_certification(log).rows) == 7
    certify(log, every=4)
    assert fits(log) and verify(log).problems == ()


def test_an_older_log_gets_its_closing_row_when_it_is_certified_again_or_merged(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log)
    whole = log.read_bytes()
    for finish in (certify, lambda log: merge([log])):
        log.write_bytes(b"".join(map(encode, opened(log))))
        assert verify(log).problems == () and not verify(log).closed
        finish(log)
        assert log.read_bytes() == whole


def test_parts_are_closed_when_their_share_is_done_and_so_is_what_they_are_merged_to(tmp_path):
    log = tmp_path / "log.jsonl"
    certify(log, crew=Shard(0, 2))
    certify(log, crew=Shard(1, 2), stop_after=7)
    assert [fits(part) for part in files_of(log)] == [True, False] and not is_closed(log)
    certify(log, crew=Shard(1, 2))
    assert all(map(fits, files_of(log))) and is_closed(log) and verify(log).problems == ()
    merge([log], allow_gaps=True)
    assert files_of(log) == [log] and fits(log)
    log.unlink()
    certify(log, crew=Shard(0, 2))
    assert merge([log], allow_gaps=True).missing and not is_closed(log)  # what has gaps is not finished


def test_merge_holds_parts_against_their_closing_rows(tmp_path):
    log = tmp_path / "log.jsonl"
    for number in range(2):
        certify(log, crew=Shard(number, 2))
    part = part_path(log, "1-of-2")
    lines = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:2] + lines[3:]))
    assert "has 4 rows, but its closing row says 5" in fails("merge", log, cwd=tmp_path)


def test_a_packed_closed_log_is_gone_on_with_and_stays_as_it_is(tmp_path):
    log, packed = tmp_path / "certify.jsonl", tmp_path / "certify.jsonl.gz"
    certify(log, every=8)
    packed.write_bytes(gzip.compress(log.read_bytes(), mtime=0))
    before = packed.read_bytes()
    log.unlink()
    assert verify(packed).closed
    certify(log, every=4)
    assert fits(log) and packed.read_bytes() == before


def test_a_secret_seed_is_nowhere_to_be_seen_until_it_is_revealed(tmp_path):
    log = tmp_path / "log.jsonl"
    secret = secret_seed_for(log)
    certify(log, secret=secret, stop_after=3)
    assert secret_seed_for(log) == secret  # the same command finds it
    certify(log, secret=secret)
    private = secret_path(log)
    assert private.stat().st_mode & 0o777 == 0o600 and secret.seed.hex() not in repr(secret)
    shown = log.read_text()
    assert not any(word in shown for word in (secret.seed.hex(), secret.salt.hex(), str(secret.number)))
    header = read_certification(log).header
    prefix = b"smoothcert secret seed 1"
    assert (
        header.seed is None and header.seed_commitment == hashlib.sha256(prefix + secret.salt + secret.seed).hexdigest()
    )
    assert verify(log).seed == "secret" and "seed still secret" in smoothcert("verify", log, cwd=tmp_path).stdout
    rows, chain = opened(log), read_certification(log).chain
    done = smoothcert("reveal", log, cwd=tmp_path)
    assert done.returncode == 0 and secret.seed.hex() in done.stdout and not private.exists()
    assert verify(log).seed == "revealed" and verify(log).problems == () and verify(log).closed
    assert opened(log) == rows and read_certification(log).chain == chain
    revealed = log.read_bytes()
    assert secret_seed_for(log) == secret
    certify(log, secret=secret)  # nothing is left to do, and it stays revealed
    assert log.read_bytes() == revealed
    merge([log])
    assert log.read_bytes() == revealed
    assert reveal(log) == secret and not private.exists()
    certify(log, every=2, secret=secret_seed_for(log))  # more images: secret again until it is revealed again
    assert verify(log).seed == "secret" and reveal(log) == secret and verify(log).problems == ()


def test_another_seed_than_the_one_committed_to_is_refused(tmp_path):
    log = tmp_path / "log.jsonl"
    secret, other = secret_seed_for(log), SecretSeed(b"1" * 32, b"2" * 32)
    certify(log, secret=secret)
    private = secret_path(log).read_bytes()
    secret_path(log).write_text(json.dumps({"format": "smoothcert secret seed 1", **other.to_json()}))
    assert "is not the seed that the log's header commits to" in fails("reveal", log, cwd=tmp_path)
    secret_path(log).write_bytes(private)
    reveal(log)
    *rest, last = log.read_bytes().splitlines(keepends=True)
    closing = json.loads(last)["closing"]
    log.write_bytes(b"".join(rest) + encode({"closing": closing | other.to_json()}))
    assert "the revealed seed is not the one that its header commits to" in fails("verify", log, cwd=tmp_path)


def test_a_lost_secret_and_a_log_of_another_seed_are_named(tmp_path):
    log, public = tmp_path / "log.jsonl", tmp_path / "public.jsonl"
    certify(log, secret=secret_seed_for(log), stop_after=3)
    assert "selected images are missing" in fails("reveal", log, cwd=tmp_path)
    secret_path(log).unlink()
    with pytest.raises(InputError, match="secret seed is lost: it cannot be resumed"):
        secret_seed_for(log)
    certify(public)
    with pytest.raises(InputError, match="was begun with --seed 0: give that"):
        secret_seed_for(public)
    assert "has no secret seed" in fails("reveal", public, cwd=tmp_path)
    secret_path(log).write_bytes(b"{}")
    with pytest.raises(InputError, match="not the secret seed of a log"):
        secret_seed_for(log)


def test_processes_that_begin_together_share_one_secret(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: secret_seed_for(tmp_path / "log.jsonl"), range(64)))
    assert len(found) == 1 and [path.name for path in tmp_path.iterdir()] == ["log.jsonl.secret"]
    assert len({secret_seed_for(tmp_path / f"{i}.jsonl").number for i in range(20)}) == 20


def test_all_256_bits_of_a_seed_decide_the_noise(tmp_path):
    from smoothcert.noise.stream import generator_for

    seeds = [0, *(1 << bit for bit in (0, 31, 32, 63, 64, 127, 128, 255))]
    draws = {
        tuple(torch.randn(4, generator=generator_for(torch.device("cpu"), seed, 0, "x", 0)).tolist()) for seed in seeds
    }
    assert len(draws) == len(seeds)
