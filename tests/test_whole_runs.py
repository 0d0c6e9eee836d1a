"""From images to certificates, in full: minutes (`make test-slow`) or hours (`make test-paper`)."""

import json
import os
from pathlib import Path

import pytest
import torch
from scipy import stats

from smoothcert.analysis import read_results
from smoothcert.analysis.verdict import judge
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, Laplace, Uniform
from smoothcert.paper import find_row
from smoothcert.smoothed.classifier import SmoothedClassifier
from tests.cli.running import smoothcert

MARGIN = 0.4  # f changes its mind there, so that this is the true radius under every noise


def half_space(x):
    inside = (x[:, 0] <= MARGIN).float()
    return torch.stack([inside, 1 - inside], 1)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("procedure", ["paper", "adaptive", "curve"])
@pytest.mark.parametrize("noise", [Gaussian(0.5), Laplace(0.35), Uniform(0.87)], ids=repr)
def test_of_many_certificates_no_more_than_a_share_of_alpha_claims_too_much(noise, procedure):
    """The whole way, noise and votes included. A valid one turns this red with probability 1e-6."""
    images, alpha = 4000, 0.1
    options = {} if procedure == "paper" else {"radii": (0.0, 0.2, MARGIN * 1.0001, 0.6)}
    g = SmoothedClassifier(half_space, noise, 2, image_dims=1)
    found = g.certify_batch(torch.zeros(images, 2), 20, 300, alpha, index=0, procedure=procedure, **options)
    too_large = sum(certificate.radius > MARGIN for certificate in found)
    assert too_large <= stats.binom.isf(1e-6, images, alpha)
    assert too_large > 0.3 * alpha * images  # α is spent: a bound that claims next to nothing would pass the first line


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_lenet_learns_digits_well_enough_to_certify_them_and_consistency_gains(tmp_path):
    """`make demo`, with a fifth of its votes."""
    done = smoothcert("demo", "--out", "demo", "--n", "1000", "--every", "5", "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    runs = {method: tmp_path / "demo" / f"{method}-seed0" for method in ("gaussian", "consistency")}
    accuracy = {m: json.loads((run / "train.jsonl").read_text().splitlines()[-1]) for m, run in runs.items()}
    assert all(last["test_noisy_accuracy"] > 0.9 for last in accuracy.values())
    acr = {method: read_results(run) for method, run in runs.items()}
    acr = {method: (results.radius * results.correct).mean() for method, results in acr.items()}
    assert 0.8 < acr["gaussian"] < acr["consistency"] - 0.02


@pytest.mark.paper
@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", ["7:2", "7:5"])
def test_a_row_of_mnist_is_reproduced_within_one_percent(name, tmp_path):
    """Trained in full, and certified on every 10th image with all votes: there the rule
    says "agrees" 99.8 % of the time.

    SMOOTHCERT_RUNS keeps the runs, so that a second call goes on where the first was stopped.
    """
    row = find_row(name)
    try:
        load("mnist", "train")
    except InputError as error:
        pytest.skip(str(error))
    out = Path(os.environ.get("SMOOTHCERT_RUNS") or tmp_path) / row.recipes[0].replace("/", "-")
    assert smoothcert("train", row.recipes[0], "--out", out, cwd=Path.cwd()).returncode == 0
    assert smoothcert("certify", out, "--every", "10", cwd=Path.cwd()).returncode == 0
    verdict = judge([read_results(out)], row)
    assert verdict.word == "agrees", verdict
