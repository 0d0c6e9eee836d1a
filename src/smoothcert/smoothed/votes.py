"""The one hot loop: f(x + δ) → class counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.noise.stream import generator_for

Votes = NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """Votes number start … stop − 1 of one image at one stage."""

    x: Tensor
    index: int
    stage: str
    start: int
    stop: int


@dataclass
class Voter:
    """Counts the votes of f under noise; memory is bounded by the batch, whatever the number of votes.

    Noise is drawn in blocks of a fixed number of votes, each from its own stream, so a vote depends on
    (seed, image index, stage, number of the vote) and not on batch size, order, or which other images are asked for.
    What remains is the arithmetic of f: a kernel may sum in another order for another batch size, which can flip the
    vote of an input that lies on the decision boundary to within float32 rounding.
    """

    f: Callable[[Tensor], Tensor]
    noise: Noise
    num_classes: int
    seed: int = 0
    batch: int = 500
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    memory_format: torch.memory_format = torch.contiguous_format

    def __post_init__(self) -> None:
        if self.num_classes < 2:
            raise InputError(f"a classifier needs at least 2 classes, not {self.num_classes}")
        if self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}")

    def count(self, requests: Sequence[Request]) -> Votes:
        """(R, K) votes per request and class. Requests share batches, so many small ones fill the machine too."""
        refuse_training_mode(self.f)
        counts = torch.zeros(len(requests) * self.num_classes, dtype=torch.int64, device=self.device)
        if requests:
            with torch.inference_mode():
                self._run(requests, counts)
        votes: Votes = counts.view(len(requests), self.num_classes).cpu().numpy()
        return votes

    def _run(self, requests: Sequence[Request], counts: Tensor) -> None:
        shape = tuple(requests[0].x.shape)
        rows = min(self.batch, sum(r.stop - r.start for r in requests))
        inputs = torch.empty((rows, *shape), device=self.device)
        if inputs.dim() == 4:
            inputs = inputs.contiguous(memory_format=self.memory_format)
        owner = torch.empty(rows, dtype=torch.int64, device=self.device)
        finite = torch.ones((), dtype=torch.bool, device=self.device)
        block = torch.empty((votes_per_block(shape), *shape), device=self.device)
        filled = 0
        for number, request in enumerate(requests):
            if tuple(request.x.shape) != shape:
                raise InputError(f"images of one call must share a shape: {tuple(request.x.shape)} against {shape}")
            x = request.x.to(self.device, torch.float32)
            vote = request.start
            while vote < request.stop:
                b, row = divmod(vote, len(block))
                if row == 0 or vote == request.start:
                    key = (self.seed, request.index, request.stage, b)
                    self.noise.fill(block, generator_for(self.device, *key))
                take = min(len(block) - row, request.stop - vote, rows - filled)
                torch.add(block[row : row + take], x, out=inputs[filled : filled + take])
                owner[filled : filled + take] = number
                vote, filled = vote + take, filled + take
                if filled == rows:
                    finite &= self._tally(inputs, owner, counts)
                    filled = 0
        if filled:
            finite &= self._tally(inputs[:filled], owner[:filled], counts)
        if not finite:  # the only wait for the device in the whole call
            raise InputError("the classifier returned NaN or infinite logits: no certificate can be given")

    def _tally(self, inputs: Tensor, owner: Tensor, counts: Tensor) -> Tensor:
        logits = self.f(inputs)
        if logits.shape != (len(inputs), self.num_classes):
            raise InputError(
                f"the classifier returned shape {tuple(logits.shape)} for {len(inputs)} images; "
                f"({len(inputs)}, {self.num_classes}) was expected: check num_classes"
            )
        votes = owner * self.num_classes + logits.argmax(1)
        counts += torch.bincount(votes, minlength=len(counts))
        return logits.isfinite().all()


def votes_per_block(shape: Sequence[int]) -> int:
    """How many votes share one random stream: a function of the image's size alone, at most about 4 MiB of noise."""
    return int(min(100, max(1, 2**20 // max(1, int(np.prod(shape))))))


def refuse_training_mode(f: object) -> None:
    if isinstance(f, nn.Module) and any(module.training for module in f.modules()):
        raise InputError("the classifier is in training mode, so its votes would mean nothing: call .eval() first")
