"""Which training images the epochs are made of, once a sampler has looked at them."""

from __future__ import annotations

import copy
from collections.abc import Generator

import torch
from torch import Tensor

from smoothcert.data import ImageSet
from smoothcert.errors import InputError
from smoothcert.recipes import Recipe
from smoothcert.training.count_votes import Question, Votes, count_votes
from smoothcert.training.learner import Learner
from smoothcert.training.sample import Sample
from smoothcert.training.team import Team


def look(
    recipe: Recipe, learner: Learner, data: ImageSet, epoch: int, used: Tensor, team: Team
) -> Generator[Votes, None, Sample | None]:
    """The sample from this epoch on: the learner's own, unless the recipe's sampler wants to look at images before it.

    A pure function of the weights so far, seed, epoch and the sample before it: one that is stopped and asked again
    gives the same.
    """
    sampler, sample = recipe.sampler, learner.sample
    if sampler is None:
        return sample
    if n := sampler.draws_to_drop(epoch):
        kept = used if sample is None else sample.kept
        hits = yield from _hits(recipe, learner, data, kept, n, f"drop-{epoch}", team)
        left = torch.from_numpy(sampler.keeps(hits.numpy(), n))
        sample = Sample(kept[left], None if sample is None or sample.weights is None else sample.weights[left])
        if not len(sample.kept):
            raise InputError(
                f"the sampler drops all {len(kept):,} images before epoch {epoch + 1}: f is not good enough so early"
            )
    if n := sampler.draws_to_weigh(epoch):
        kept = used if sample is None else sample.kept
        hits = yield from _hits(recipe, learner, data, kept, n, f"weigh-{epoch}", team)
        weights = torch.from_numpy(sampler.weights(hits.numpy(), n))
        sample = Sample(kept, weights)
        if not torch.all(weights.isfinite() & weights.gt(0)):
            raise InputError("the sampler's weights must be positive and finite")
    return sample


def _hits(
    recipe: Recipe, learner: Learner, data: ImageSet, indices: Tensor, n: int, stage: str, team: Team
) -> Generator[Votes, None, Tensor]:
    """(images,) int64: of n noise draws, those on which the network so far is right. All processes get the same."""
    device = data.labels.device
    f = copy.deepcopy(learner.kept)
    assert recipe.objective.noise is not None  # a recipe with a sampler has one
    question = Question(f, recipe.objective.noise, n, recipe.seed, stage, recipe.precision)
    labels, found = data.labels[indices.to(device)].cpu(), list[Tensor]()
    for counts in count_votes(question, data, indices, team, device):
        done = sum(map(len, found))
        found.append(counts.gather(1, labels[done : done + len(counts), None]).squeeze(1))
        yield Votes(done + len(counts), len(indices), f"sampler: {n} draws an image")
    return torch.cat(found)
