"""Forged logs, each with all checksums and, unless it says otherwise, the closing row made right: all are refused.

What no reader of a log alone can know (labels, votes that f did not cast, seeds) is caught by `--recompute`, of all
rows here; of some rows with the probability that `caught` says.
"""

import gzip
import itertools
import json
import shutil
from pathlib import Path

import pytest
from forging import mean, opened, sealed, unpacked
from tests.cli.running import fails, smoothcert

from smoothcert.certification.certify_run import certify_run
from smoothcert.certification.recompute import ROUNDING, caught, recompute
from smoothcert.files.jsonl import encode
from smoothcert.noise import Gaussian
from smoothcert.procedures.certificate import certify as prove
from smoothcert.recipes import find_recipe, override
from smoothcert.records.log import read_certification
from smoothcert.training.train import train

N = 400


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two trained models; of the first a log of seed 0 and one of seed 1, of the second one of seed 0."""
    folder = tmp_path_factory.mktemp("forgeries")
    recipe = override(find_recipe("mnist5k/gaussian/0.50"), ("data=fake", "epochs=2"))
    for seed, name in enumerate(("run", "other")):
        train(recipe, folder / name, seed=seed, threads=1).finish()
    for run, seed, log in (("run", 0, "honest"), ("run", 1, "seed1"), ("other", 0, "other")):
        certify_run(folder / run, folder / f"{log}.jsonl", n=N, seed=seed, threads=1).finish()
    return folder


def judge(path, *more):
    """What `verify` says of the log: its first line, after one that is not 0."""
    done = smoothcert("verify", path, *more, cwd=path.parent)
    if done.returncode == 2:
        assert done.stdout == "" and done.stderr.count("\n") == 1
        return done.stderr
    return done.stdout if done.returncode == 1 else "accepted"


def again(made, path):
    return judge(path, "--model", made / "run", "--recompute", 1000, "--threads", 1)


@pytest.fixture
def forge(made, tmp_path):
    def write(change, log="honest", close=sealed):
        lines = opened(made / f"{log}.jsonl")
        lines = change(lines) or lines
        path = tmp_path / "forged.jsonl"
        path.write_bytes(close(lines))
        return path

    return write


def best_half(lines):
    rows = sorted(lines[1:], key=lambda row: row["radius"] * row["correct"])[20:]
    return [lines[0], *sorted(rows, key=lambda row: row["index"])]


def proved(row, votes):
    """The row with these estimation votes, and what they prove."""
    selection, estimation = ([v.get(str(c), 0) for c in range(10)] for v in (row["selection"], votes))
    found = prove(selection, estimation, Gaussian(0.5), 0.001)
    correct = int(found.label == row["label"])
    return row | {"estimation": votes, "predict": found.label, "radius": found.radius, "correct": correct}


def decides(**changes):
    def change(lines):
        for key, value in changes.items():
            outer, _, inner = key.partition("__")
            where = lines[0]["decides"]
            if inner:
                where[outer][inner] = value
            else:
                where[outer] = value

    return change


def test_honest_logs_are_accepted_and_drawn_again_vote_by_vote(made):
    done = smoothcert("verify", made / "honest.jsonl", "--model", made / "run", "--recompute", 20, cwd=made)
    assert done.returncode == 0, done
    assert "40 certificates all follow from their votes" in done.stdout and "closing row fits" in done.stdout
    assert "20 rows recomputed" in done.stdout
    assert "if 10 % of the rows were forged, 20 recomputed rows catch it with probability 95 %" in done.stdout
    found = recompute(made / "honest.jsonl", made / "run", 1000, threads=1)
    assert (found.moved, found.votes, len(found.indices)) == (0, 40 * (N + 100), 40)


def test_a_log_cut_to_its_best_half(forge, made):
    def closed_before(lines):
        return b"".join(map(encode, [*lines, unpacked(made / "honest.jsonl")[-1]]))

    assert "has 20 rows, but its closing row says 40" in judge(forge(best_half, close=closed_before))
    cut = forge(best_half)
    assert (
        mean([r["radius"] * r["correct"] for r in opened(cut)[1:]])
        > read_certification(made / "honest.jsonl").closing["acr"]
    )
    assert "20 of 40 selected images: INCOMPLETE" in judge(cut)
    bare = judge(forge(best_half, close=lambda lines: b"".join(map(encode, lines))))
    assert "INCOMPLETE" in bare and "without closing row" in bare


@pytest.mark.parametrize("log", ["seed1", "other"])
def test_the_closing_row_of_another_log(forge, made, log):
    other = unpacked(made / f"{log}.jsonl")[-1]
    said = judge(forge(lambda lines: None, close=lambda lines: b"".join(map(encode, [*lines, other]))))
    assert "changed after it was finished" in said


def swap(lines):
    lines[5], lines[9] = lines[9], lines[5]


def test_rows_moved_removed_or_edited_after_the_end(forge, made):
    closing = unpacked(made / "honest.jsonl")[-1]

    def close(lines):
        return b"".join(map(encode, [*lines, closing]))

    assert "changed after it was finished" in judge(forge(swap, close=close))
    assert "has 39 rows, but its closing row says 40" in judge(forge(lambda lines: lines.pop(7) and None, close=close))
    assert "changed after it was finished" in judge(forge(lambda lines: lines[3].update(seconds=9.0), close=close))
    for changed in (decides(seed=1), decides(model__sha256="0" * 64), decides(data__fingerprint="0" * 64)):
        assert "changed after it was finished" in judge(forge(changed, close=close))


def test_a_closing_row_in_the_middle(forge, made):
    closing = unpacked(made / "honest.jsonl")[-1]
    middle = forge(lambda lines: None, close=lambda lines: b"".join(map(encode, [*lines[:9], closing, *lines[9:]])))
    assert "line 10 is a closing row, but more follows" in judge(middle)


def test_a_closing_row_with_a_better_acr(forge):
    def close(lines):
        *rest, last = sealed(lines).splitlines(keepends=True)
        closing = json.loads(last)["closing"]
        return b"".join(rest) + encode({"closing": closing | {"acr": closing["acr"] + 0.1}})

    assert "its closing row says ACR" in judge(forge(lambda lines: None, close=close))


def test_labels_replaced_by_predictions(forge, made):
    """Only the data set can tell."""

    def change(lines):
        for row in lines[1:]:
            if row["predict"] >= 0:
                row["label"], row["correct"] = row["predict"], 1
        lines[1]["label"] = (lines[1]["label"] + 1) % 10  # should the model make no mistake
        lines[1]["correct"] = int(lines[1]["label"] == lines[1]["predict"])

    path = forge(change)
    assert judge(path) == "accepted"
    assert "image 0: the label is" in again(made, path)


def test_the_counts_of_one_row_copied_to_others(forge, made):
    """Only the model can tell."""

    def change(lines):
        best = max(lines[1:], key=lambda row: row["radius"])
        for i in range(1, len(lines)):
            votes = {str(lines[i]["label"]): best["estimation"][str(best["predict"])]}
            votes |= {str((lines[i]["label"] + 1) % 10): N - sum(votes.values())} if sum(votes.values()) < N else {}
            lines[i] = proved(lines[i] | {"selection": {str(lines[i]["label"]): 100}}, votes)

    path = forge(change)
    assert judge(path) == "accepted"
    assert "votes are not those that the model casts" in again(made, path)


def test_an_edited_seed(forge, made):
    """Only drawing again can tell."""
    path = forge(decides(seed=7))
    assert judge(path) == "accepted"
    assert "votes are not those that the model casts" in again(made, path)


def test_the_best_of_two_seeds(forge, made, tmp_path):
    """`merge` refuses them; with one header for both only drawing again can tell."""
    said = fails("merge", made / "honest.jsonl", made / "seed1.jsonl", "--out", tmp_path / "all.jsonl", cwd=tmp_path)
    assert "seed: 1 one, 0 the other" in said

    def change(lines):
        second = opened(made / "seed1.jsonl")
        return [lines[0], *(max(pair, key=lambda r: r["radius"]) for pair in zip(lines[1:], second[1:], strict=True))]

    path = forge(change)
    assert judge(path) == "accepted"
    assert "votes are not those that the model casts" in again(made, path)


def test_rows_of_another_model(forge, made):
    """Only this model can tell."""
    path = forge(lambda lines: [lines[0], *opened(made / "other.jsonl")[1:]])
    assert judge(path) == "accepted"
    assert "votes are not those that the model casts" in again(made, path)


def test_edited_hashes_of_weights_and_data(forge, made):
    assert "the log certifies another model (its sha256 differs)" in again(made, forge(decides(model__sha256="0" * 64)))
    assert "the log certifies other images" in again(made, forge(decides(data__fingerprint="0" * 64)))
    assert "the log certifies another model" in again(made, made / "other.jsonl")


@pytest.mark.parametrize("changes", [{"alpha": 0.01}, {"n": 2 * N}, {"n0": 10}])
def test_edited_alpha_and_votes(forge, changes):
    assert "of 40 certificates do not follow" in judge(forge(decides(**changes)))


def test_an_edited_noise_with_radii_to_match_contradicts_the_recipe(forge, made):
    def change(lines):
        decides(noise={"kind": "gaussian", "sigma": 1.0})(lines)
        for row in lines[1:]:
            row["radius"] *= 2

    assert "its noise is Gaussian(sigma=1.0), but its recipe says Gaussian(sigma=0.5)" in judge(forge(change))

    def stated(lines):
        change(lines)
        lines[0]["environment"]["changed"] = ["noise"]

    path = forge(stated)
    done = smoothcert("verify", path, cwd=path.parent)
    assert "certified with noise Gaussian(sigma=1.0) instead of Gaussian(sigma=0.5)" in done.stdout
    assert "votes are not those that the model casts" in again(made, path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data__name": "mnist"}, "its data is 'mnist', but its recipe says 'fake'"),
        ({"model__name": "cifar_resnet20"}, "its model is 'cifar_resnet20', but its recipe says 'lenet'"),
        ({"precision": "bfloat16"}, "its precision is 'bfloat16', but its recipe says 'float32'"),
        ({"recipe__model": "cifar_resnet20"}, "its model is 'lenet', but its recipe says 'cifar_resnet20'"),
    ],
)
def test_a_header_that_contradicts_its_own_recipe(forge, changes, words):
    assert words in judge(forge(decides(**changes)))


def test_another_noise_that_was_asked_for_is_stated(made, tmp_path):
    log = tmp_path / "log.jsonl"
    certify_run(made / "run", log, n=50, every=10, noise=Gaussian(0.25), threads=1).finish()
    done = smoothcert("verify", log, "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)[0]["changed"] == ["noise Gaussian(sigma=0.25) instead of Gaussian(sigma=0.5)"]


def test_old_logs_are_accepted_as_without_closing_row(made, tmp_path):
    runs = Path(__file__).parents[2] / "results" / "runs"
    for run in sorted(runs.glob("mnist-consistency-*"))[::4]:
        done = smoothcert("verify", run, cwd=tmp_path)
        assert done.returncode == 0 and "without closing row" in done.stdout, done
    old = tmp_path / "old.jsonl"
    old.write_bytes(b"".join(map(encode, opened(made / "honest.jsonl"))))
    assert "without closing row" in smoothcert("verify", old, cwd=tmp_path).stdout
    packed = tmp_path / "new.jsonl.gz"
    packed.write_bytes(gzip.compress((made / "honest.jsonl").read_bytes()))
    assert "closing row fits" in smoothcert("verify", packed, cwd=tmp_path).stdout


def test_a_signature_is_of_one_log_by_one_key(made, tmp_path):
    log = Path(shutil.copy(made / "honest.jsonl", tmp_path / "log.jsonl"))
    assert smoothcert("sign", "--new-key", "my.key", cwd=tmp_path).returncode == 0
    assert (tmp_path / "my.key").stat().st_mode & 0o777 == 0o600
    assert "is not signed" in fails("verify", log, "--public-key", "my.key.pub", cwd=tmp_path)
    assert smoothcert("sign", log, "--key", "my.key", cwd=tmp_path).returncode == 0
    done = smoothcert("verify", log, "--public-key", "my.key.pub", cwd=tmp_path)
    assert done.returncode == 0 and "signature fits" in done.stdout
    for forged in (sealed(opened(made / "other.jsonl")), sealed([*opened(log)[:1], *opened(log)[:0:-1]])):
        log.write_bytes(forged)
        assert "its signature is not one of this log" in fails(
            "verify", log, "--public-key", "my.key.pub", cwd=tmp_path
        )
    shutil.copy(made / "honest.jsonl", log)
    smoothcert("sign", "--new-key", "their.key", cwd=tmp_path)
    assert "not one of this log by the owner" in fails("verify", log, "--public-key", "their.key.pub", cwd=tmp_path)
    assert "exists" in fails("sign", "--new-key", "my.key", cwd=tmp_path)
    assert "not a private key" in fails("sign", log, "--key", "my.key.pub", cwd=tmp_path)
    assert "not a public key" in fails("verify", log, "--public-key", "my.key", cwd=tmp_path)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-3]))
    assert "selected images are missing" in fails("sign", log, "--key", "my.key", cwd=tmp_path)


def test_the_probability_to_be_caught_is_that_of_all_samples():
    """A second implementation: of all subsets of 3 of 8 rows, those with one of 2 forged rows."""
    samples = list(itertools.combinations(range(8), 3))
    assert caught(8, 0.25, 3) == pytest.approx(sum(min(s) < 2 for s in samples) / len(samples), abs=1e-15)
    assert caught(8, 0.2, 3) == caught(8, 0.25, 3)  # rounded up to whole rows
    assert caught(100_000, 0.1, 20) == pytest.approx(1 - 0.9**20, abs=1e-4)
    assert caught(10, 0.1, 10) == 1


@pytest.mark.parametrize("exact", [False, True])
def test_votes_on_the_boundary_may_go_either_way_unless_the_noise_is_exact(made, forge, monkeypatch, exact):
    def two_votes(lines):
        for i, row in enumerate(lines[1:], 1):
            votes = dict(row["estimation"])
            top = max(votes, key=lambda name: votes[name])
            votes[top] -= 2
            other = str((int(top) + 1) % 10)
            votes[other] = votes.get(other, 0) + 2
            lines[i] = proved(row, votes)

    monkeypatch.setattr("smoothcert.certification.recompute.is_exact", lambda noise: exact)
    found = recompute(forge(two_votes), made / "run", 1000, threads=1)
    assert found.exact is exact and found.moved == 80 and len(found.problems) == 40 * exact
    assert ROUNDING["float32"] * N < 1  # so two are what is allowed here
    assert recompute(made / "honest.jsonl", made / "run", 3, seed=5, threads=1).problems == ()
