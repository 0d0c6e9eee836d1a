"""Hard votes of a network on training images, many images at a time."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from smoothcert.data import ImageSet
from smoothcert.machine.processes import Place
from smoothcert.models import frozen
from smoothcert.noise import Noise
from smoothcert.smoothed.votes import Request, Voter, votes_per_block
from smoothcert.training.team import Team

_VOTES, _IMAGES = 2**15, 512  # of a chunk: what is counted between two events


@dataclass(frozen=True)
class Votes:
    """Votes on `done` of `total` training images are counted; `why` says what for."""

    done: int
    total: int
    why: str
    note: str = ""

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class Question:
    """n votes of f under noise on each image; those of an image depend on (seed, stage, its number) alone."""

    f: nn.Module
    noise: Noise
    n: int
    seed: int
    stage: str
    precision: str = "float32"

    @property
    def images_at_once(self) -> int:
        return max(1, min(_IMAGES, _VOTES // self.n))


def count_votes(
    question: Question, data: ImageSet, indices: Tensor, team: Team, device: torch.device
) -> Generator[Tensor, None, None]:
    """(images, K) int64, chunk by chunk of `images_at_once`: how many votes each class gets on each image.

    f is frozen, as it would be certified; the caller's stays as it is, save that others' networks are put into
    evaluation mode. Images are not augmented. The processes of a team share each chunk, and all get all of it.
    """
    voter, place = _voter(question, data, device), team.place
    chunks = indices.split(question.images_at_once)
    mine = [_of(chunk, place) for chunk in chunks]
    batches = data.batches([part for part in mine if len(part)])
    for chunk, part in zip(chunks, mine, strict=True):
        counts = torch.zeros((len(chunk), data.num_classes), dtype=torch.int64, device=device)
        if len(part):
            x, _ = next(batches)
            requests = [
                Request(image, int(index), question.stage, 0, question.n) for image, index in zip(x, part, strict=True)
            ]
            counts[place.rank :: place.size] = torch.from_numpy(voter.count(requests)).to(device)
        yield team.add(counts).cpu()


def _of(chunk: Tensor, place: Place) -> Tensor:
    return chunk[place.rank :: place.size]


def _voter(question: Question, data: ImageSet, device: torch.device) -> Voter:
    f = frozen(question.f.to(device), question.precision)
    # A fixed size: that of the fastest batch depends on the clock, and another size may flip a vote by rounding.
    batch = votes_per_block(data.shape) * (1 if device.type == "cpu" else 16)
    return Voter(f, question.noise, data.num_classes, question.seed, batch, device, f.memory_format)
