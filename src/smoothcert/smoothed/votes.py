"""The one hot loop: f(x + δ) → class counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.noise import Noise
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.batch_size import BatchSize

Votes = NDArray[np.int64]


@dataclass(frozen=True)
class Request:
    """Votes number start … stop − 1 of one image at one stage."""

    x: Tensor
    index: int
    stage: str
    start: int
    stop: int


class Piece(NamedTuple):
    """Rows `row` … `row + take − 1` of one block of noise, for rows `at` … of the batch."""

    number: int
    """of the request"""
    block: int
    row: int
    take: int
    at: int


class Buffers:
    """What a batch needs, twice: one is filled with noise while the other is voted on."""

    def __init__(self, rows: int, shape: tuple[int, ...], block: int, voter: Voter) -> None:
        self.noise = [torch.empty((rows, *shape), device=voter.device) for _ in range(2)]
        self.inputs = torch.empty((rows, *shape), device=voter.device)
        if self.inputs.dim() == 4:
            self.inputs = self.inputs.contiguous(memory_format=voter.memory_format)
        self.owner = torch.empty(rows, dtype=torch.int64, device=voter.device)
        self.ones = torch.ones(rows, dtype=torch.int64, device=voter.device)
        self.block = torch.empty((block, *shape), device=voter.device)
        self.block_key: tuple[int | str, ...] | None = None
        self.fits = (rows, shape)


@dataclass
class Voter:
    """Counts the votes of f under noise; memory is bounded by the batch, whatever the number of votes.

    Noise is drawn in blocks of a fixed number of votes, each from its own stream, so a vote depends on
    (seed, image index, stage, number of the vote) and not on batch size, order, or which other images are asked for.
    What remains is the arithmetic of f: a kernel may sum in another order for another batch size, which can flip the
    vote of an input that lies on the decision boundary to within float32 rounding.

    On the CPU one thread draws the next batch's noise (torch does so on one core, without Python's lock) while f
    works on this one's. An accelerator queues both, and is waited for once, at the end. `batch` is a number, or
    None: the fastest of a few sizes, which are tried on the first votes asked for.
    """

    f: Callable[[Tensor], Tensor]
    noise: Noise
    num_classes: int
    seed: int = 0
    batch: int | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    memory_format: torch.memory_format = torch.contiguous_format
    _size: BatchSize | None = field(default=None, init=False, repr=False)
    _buffers: Buffers | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.num_classes < 2:
            raise InputError(f"a classifier needs at least 2 classes, not {self.num_classes}")
        if self.batch is not None and self.batch < 1:
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
        for request in requests:
            if tuple(request.x.shape) != shape:
                raise InputError(f"images of one call must share a shape: {tuple(request.x.shape)} against {shape}")
        block = votes_per_block(shape)
        total = sum(r.stop - r.start for r in requests)
        if self._size is None or self._size.shape != shape:
            self._size = BatchSize(shape, block, self.batch, self.device)
        size, buffers = self._size, self._buffers_for(min(self._size.largest, total), shape, block)
        images = {id(r.x): r.x.to(self.device, torch.float32) for r in requests}
        finite = torch.ones((), dtype=torch.bool, device=self.device)
        batches = pieces(requests, block, size)

        def drawn(slot: int) -> list[Piece]:
            with torch.inference_mode():  # a mode is of one thread
                batch = next(batches, [])
                self._draw(batch, requests, buffers, buffers.noise[slot])
            return batch

        with ThreadPoolExecutor(1) as ahead:
            slot, batch, left = 0, drawn(0), total
            while batch:
                rows = batch[-1].at + batch[-1].take
                left -= rows
                following = ahead.submit(drawn, 1 - slot) if left and self.device.type == "cpu" else None
                with size.timed(rows):
                    for piece in batch:
                        here, x = slice(piece.at, piece.at + piece.take), images[id(requests[piece.number].x)]
                        torch.add(buffers.noise[slot][here], x, out=buffers.inputs[here])
                        buffers.owner[here] = piece.number * self.num_classes
                    finite &= self._tally(buffers, rows, counts)
                slot = 1 - slot
                batch = following.result() if following is not None else drawn(slot)
        if not finite:  # the only wait for the device in the whole call
            raise InputError("the classifier returned NaN or infinite logits: no certificate can be given")

    def _draw(self, batch: list[Piece], requests: Sequence[Request], buffers: Buffers, noise: Tensor) -> None:
        """Whole blocks straight into the batch; of a block that two batches or two calls share, a copy of its rows."""
        for piece in batch:
            request, here = requests[piece.number], noise[piece.at : piece.at + piece.take]
            key = (self.seed, request.index, request.stage, piece.block)
            if piece.take == len(buffers.block):
                self.noise.fill(here, generator_for(self.device, *key))
                continue
            if buffers.block_key != key:
                buffers.block_key = None  # half filled if this is interrupted
                self.noise.fill(buffers.block, generator_for(self.device, *key))
                buffers.block_key = key
            here.copy_(buffers.block[piece.row : piece.row + piece.take])

    def _tally(self, buffers: Buffers, rows: int, counts: Tensor) -> Tensor:
        logits = self.f(buffers.inputs[:rows])
        if logits.shape != (rows, self.num_classes):
            raise InputError(
                f"the classifier returned shape {tuple(logits.shape)} for {rows} images; "
                f"({rows}, {self.num_classes}) was expected: check num_classes"
            )
        # scatter_add_, for bincount asks the device for its largest entry and waits for the answer
        counts.scatter_add_(0, buffers.owner[:rows] + logits.argmax(1), buffers.ones[:rows])
        return logits.isfinite().all()

    def _buffers_for(self, rows: int, shape: tuple[int, ...], block: int) -> Buffers:
        if self._buffers is None or self._buffers.fits[1] != shape or self._buffers.fits[0] < rows:
            self._buffers = Buffers(rows, shape, block, self)
        return self._buffers


def pieces(requests: Sequence[Request], block: int, size: BatchSize) -> Iterator[list[Piece]]:
    """All votes asked for, in order, cut at the ends of blocks and batches."""
    batch: list[Piece] = []
    left = sum(r.stop - r.start for r in requests)
    rows, filled = size.next(left), 0
    for number, request in enumerate(requests):
        vote = request.start
        while vote < request.stop:
            b, row = divmod(vote, block)
            take = min(block - row, request.stop - vote, rows - filled)
            batch.append(Piece(number, b, row, take, filled))
            vote, filled = vote + take, filled + take
            if filled == rows:
                yield batch
                left -= filled
                batch, rows, filled = [], size.next(left), 0
    if batch:
        yield batch


def votes_per_block(shape: Sequence[int]) -> int:
    """How many votes share one random stream: a function of the image's size alone, at most about 4 MiB of noise."""
    return int(min(100, max(1, 2**20 // max(1, int(np.prod(shape))))))


def refuse_training_mode(f: object) -> None:
    if isinstance(f, nn.Module) and any(module.training for module in f.modules()):
        raise InputError("the classifier is in training mode, so its votes would mean nothing: call .eval() first")
