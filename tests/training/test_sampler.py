"""Samplers: the weights are what the formula says, what was found survives any stop, and none is the old loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from tests.own import student_in
from tests.training.test_loop import CPU, RECIPE, TRAIN, run

from smoothcert.errors import InputError
from smoothcert.interchange.weights import load_weights
from smoothcert.noise import Gaussian
from smoothcert.noise.stream import generator_for
from smoothcert.recipes import EasyImages, Sampler, from_dict, override, reduced_recipe, to_dict
from smoothcert.recipes.serialize import SAMPLERS
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.smoothed.votes import votes_per_block
from smoothcert.stats.unit_radius import unit_radius
from smoothcert.training import loop
from smoothcert.training.build_network import build_network
from smoothcert.training.learner import Learner
from smoothcert.training.look import look
from smoothcert.training.loop import step_indices
from smoothcert.training.sample import Sample
from smoothcert.training.team import Team

EASY = EasyImages(start=1, every=1, drop=0.05, drop_draws=20, draws=16)
BOTH, DROP, WEIGH = EASY, replace(EASY, every=0), replace(EASY, drop=0.0)
LONGER = replace(RECIPE, epochs=3, lr=0.02)
TIMES = ("seconds", "images_per_second", "peak_memory")


def finished(work):
    """The value that a generator returns."""
    while True:
        try:
            next(work)
        except StopIteration as stop:
            return stop.value


def learner_of(recipe):
    return Learner(recipe, build_network(recipe, 10))


def log_of(folder):
    rows = read_training_log(RunFolder(folder).training_log)
    return [{key: value for key, value in row.items() if not key.startswith(TIMES)} for row in rows]


# The formula


@pytest.mark.parametrize("hits", range(17))
def test_a_weight_is_the_radius_that_the_draws_show_found_here_by_bisection(hits):
    """p̲: the p with P[Bin(16, p) ≥ k] = α, k clipped to the 12 of least = 0.75; then w with Φ(w) = p̲."""
    k, low, high = max(hits, 12), 0.0, 1.0
    for _ in range(100):
        p = (low + high) / 2
        tail = sum(math.comb(16, j) * p**j * (1 - p) ** (16 - j) for j in range(k, 17))
        low, high = (p, high) if tail < 0.1 else (low, p)
    expected = stats.norm.ppf(low)
    (found,) = EasyImages(0).weights(np.array([hits]), 16)
    assert found == pytest.approx(expected, rel=1e-5) and 0 < found < math.inf


def test_all_hits_weigh_what_the_closed_form_says():
    (found,) = EasyImages(0).weights(np.array([16]), 16)
    assert stats.norm.cdf(found) == pytest.approx(0.1 ** (1 / 16), rel=1e-6)
    assert unit_radius(100, 100, 0.001) == pytest.approx(stats.norm.ppf(0.001**0.01), rel=1e-6)


def test_those_below_the_share_are_dropped_and_no_others():
    keeps = EasyImages(0, drop=0.4).keeps(np.array([0, 39, 40, 41, 100]), 100)
    assert keeps.tolist() == [False, False, True, True, True]


def test_images_are_looked_at_when_the_settings_say():
    both = EasyImages(start=4, every=3)
    assert [both.draws_to_drop(e) for e in range(12)] == [0] * 4 + [100] + [0] * 7
    assert [both.draws_to_weigh(e) for e in range(12)] == [0] * 4 + [16, 0, 0, 16, 0, 0, 16, 0]
    assert not any(replace(both, every=0).draws_to_weigh(e) for e in range(12))
    assert not any(replace(both, drop=0.0).draws_to_drop(e) for e in range(12))


# What an epoch is made of


def test_images_come_in_proportion_to_their_weights():
    weights = torch.tensor([1.0, 2.0, 0.0, 5.0], dtype=torch.float64).repeat(5000)
    kept = torch.arange(0, 40_000, 2)
    order = Sample(kept, weights).order(generator_for(CPU, 0, "test"))
    assert len(order) == 20_000
    counts = torch.bincount((order // 2) % 4, minlength=4).tolist()
    assert counts[2] == 0
    # χ² of two degrees of freedom: above 13.8 once in a thousand; the seed is fixed.
    expected = [20_000 * share for share in (1 / 8, 2 / 8, 5 / 8)]
    found = [counts[0], counts[1], counts[3]]
    assert sum((a - b) ** 2 / b for a, b in zip(found, expected, strict=True)) < 13.8


def test_without_weights_each_kept_image_comes_once():
    kept = torch.tensor([3, 5, 8, 13])
    order = Sample(kept).order(generator_for(CPU, 0, "test"))
    assert sorted(order.tolist()) == kept.tolist()


def test_the_order_is_a_function_of_seed_epoch_and_what_was_found():
    sample = Sample(torch.arange(100), torch.rand(100, dtype=torch.float64))
    one, again, other = (torch.cat(step_indices(RECIPE, 320, epoch, sample)) for epoch in (4, 4, 5))
    assert torch.equal(one, again) and not torch.equal(one, other)
    assert len(one) == 100 and not torch.equal(one, torch.cat(step_indices(replace(RECIPE, seed=1), 320, 4, sample)))


def plain_hits(recipe, f, indices, n, stage):
    """A second implementation: one image and one draw after another."""
    hits, block = [], votes_per_block(TRAIN.shape)
    for index in indices.tolist():
        x, y = TRAIN.batch(torch.tensor([index]))
        noise = torch.empty(block, *TRAIN.shape)
        recipe.objective.noise.fill(noise, generator_for(CPU, recipe.seed, index, stage, 0))
        with torch.no_grad():
            hits.append(sum(int(f(x + delta).argmax() == y) for delta in noise[:n]))
    return np.array(hits)


def test_a_look_drops_and_weighs_as_counted_one_by_one():
    recipe = replace(RECIPE, sampler=BOTH, fraction=0.2)
    learner, used = learner_of(recipe), loop.used_images(recipe, 320)
    found = finished(look(recipe, learner, TRAIN, 1, used, Team()))
    f = build_network(recipe, 10).eval()
    hits = plain_hits(recipe, f, used, 20, "drop-1")
    kept = used[torch.from_numpy(hits >= 1)]
    assert 0 < len(kept) < len(used)
    assert torch.equal(found.kept, kept)
    again = plain_hits(recipe, f, kept, 16, "weigh-1")
    radius = stats.norm.ppf(stats.beta.ppf(0.1, np.maximum(again, 12), 17 - np.maximum(again, 12)))
    np.testing.assert_allclose(found.weights.numpy(), radius, rtol=1e-5)
    assert finished(look(recipe, learner, TRAIN, 0, used, Team())) is None  # not yet


def test_a_look_changes_nothing_of_the_network():
    recipe = replace(RECIPE, sampler=WEIGH, ema=0.9)
    learner = learner_of(recipe)
    learner.f.train()
    before, state = {k: v.clone() for k, v in learner.state().items()}, torch.get_rng_state()
    finished(look(recipe, learner, TRAIN, 1, torch.arange(50), Team()))
    assert all(torch.equal(v, before[k]) for k, v in learner.state().items())
    assert learner.f.training and all(p.requires_grad for p in learner.f.parameters())
    assert torch.equal(torch.get_rng_state(), state)


# In the loop


@pytest.fixture(scope="module", params=[BOTH, DROP, WEIGH], ids=["both", "drop", "weigh"])
def sampled(request, tmp_path_factory):
    recipe, folder = replace(LONGER, sampler=request.param), tmp_path_factory.mktemp("run")
    return recipe, run(folder, recipe), log_of(folder)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["checkpoint every step", "checkpoint every epoch"])
@pytest.mark.parametrize("stops", [[9, 3], [8, 9, 2]])
def test_an_interrupted_run_ends_with_the_same_weights_and_log(tmp_path, monkeypatch, sampled, stops, seconds):
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", seconds)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    recipe, weights, log = sampled
    for stop in stops:
        run(tmp_path, recipe, stop)
    assert run(tmp_path, recipe) == weights
    assert log_of(tmp_path) == log


def test_a_log_says_how_many_images_are_kept_and_a_checkpoint_which(tmp_path, sampled):
    recipe, _, log = sampled
    run(tmp_path, recipe)
    tensors, _ = load_weights(RunFolder(tmp_path).checkpoint)
    kept = tensors["sampler.kept"]
    assert ("sampler.weights" in tensors) == bool(recipe.sampler.every)
    assert "images_kept" not in log[0]
    assert [row["images_kept"] for row in log[1:]] == [len(kept)] * 2
    assert (len(kept) < 320) == bool(recipe.sampler.drop)


def test_a_sampler_that_never_starts_is_no_sampler(tmp_path):
    never = replace(RECIPE, sampler=EasyImages(start=2))
    assert run(tmp_path / "never", never) == run(tmp_path / "none")
    assert log_of(tmp_path / "never") == log_of(tmp_path / "none")


def test_a_sampler_that_drops_all_stops_in_one_line(tmp_path):
    with pytest.raises(InputError, match="drops all 320 images before epoch 1"):
        run(
            tmp_path,
            replace(
                RECIPE,
                sampler=EasyImages(0, drop=1.0, drop_draws=30),
                objective=replace(RECIPE.objective, noise=Gaussian(20.0)),
            ),
        )


# In recipes


@pytest.mark.parametrize("kind", SAMPLERS)
def test_every_sampler_is_written_and_read_again(kind):
    sampler: Sampler = SAMPLERS[kind](3)
    recipe = replace(RECIPE, sampler=sampler)
    assert to_dict(recipe)["sampler"]["kind"] == kind
    assert from_dict(to_dict(recipe)) == recipe
    assert reduced_recipe(replace(recipe, epochs=10), 0.5).sampler.start == 2


def test_a_sampler_is_set_from_the_command_line():
    recipe = override(RECIPE, ['sampler={kind="easy_images", start=1}', "alpha=0.2"][:1])
    assert recipe.sampler == EasyImages(1)
    assert override(recipe, ["sampler.alpha=0.2", "sampler.every=0"]).sampler == EasyImages(1, every=0, alpha=0.2)
    assert override(recipe, ["sampler=none"]).sampler is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"start": -1}, "start must be a whole number from 0"),
        ({"draws": 0}, "draws must be"),
        ({"drop": 1.5}, "drop must lie"),
        ({"alpha": 0.0}, "alpha"),
        ({"every": 0, "drop": 0.0}, "does nothing"),
        ({"least": 0.5}, "8 of 16 draws do not show p > 1/2"),
        ({"draws": 3}, "raise least, draws or alpha"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changed, words):
    with pytest.raises(InputError, match=words):
        replace(EasyImages(1), **changed)


ODD = """
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OddImages:
    start: int = 0

    def draws_to_drop(self, epoch):
        return int(epoch == self.start)

    def draws_to_weigh(self, epoch):
        return 0

    def keeps(self, hits, n):
        return np.arange(len(hits)) % 2 == 1

    def weights(self, hits, n):
        raise NotImplementedError
"""


def test_a_sampler_of_ones_own_needs_no_line_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with student_in(tmp_path) as student:
        student.write(ODD)
        recipe = override(RECIPE, [f'sampler={{kind="{student.module}:OddImages", start=1}}'])
        run(tmp_path / "run", recipe)
        found = RunFolder(tmp_path / "run").read_recipe()
        assert found.sampler.kind == f"{student.module}:OddImages"
        assert [source.module for source in found.sources] == [student.module]
        assert log_of(tmp_path / "run")[-1]["images_kept"] == 160
        with pytest.raises(InputError, match="is no sampler: it has no draws_to_drop"):
            student.write(
                "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass OddImages:\n    start: int"
            )
            override(RECIPE, [f'sampler={{kind="{student.module}:OddImages", start=1}}'])
