"""The one hot loop: f(x + δ) → class counts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models.network import declared
from smoothcert.noise import GridNoise, Noise
from smoothcert.noise.aes_stream import require_seed, stream_key
from smoothcert.noise.exact_law import GRID
from smoothcert.noise.grid_table import Draws
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.batch_size import BatchSize
from smoothcert.smoothed.grid_image import levels
from smoothcert.smoothed.guard import ROWS, refuse_unsteady

Votes = NDArray[np.int64]
Found = TypeVar("Found")


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


class Batch(NamedTuple):
    """What one worker draws and counts at a time: whole blocks as a rule, given to f `size` rows at once."""

    pieces: list[Piece]
    size: int


class Buffers:
    """What one worker needs for a batch: allocated once, filled again and again.

    Grid noise is drawn and added to the image as integers on the CPU; `draws` is None for other noise.
    """

    def __init__(self, rows: int, shape: tuple[int, ...], block: int, voter: Voter) -> None:
        on_grid = isinstance(voter.noise, GridNoise)
        dtype, device = (torch.int16, torch.device("cpu")) if on_grid else (torch.float32, voter.device)
        self.draws = (
            Draws(voter.noise.table(), block * math.prod(shape)) if isinstance(voter.noise, GridNoise) else None
        )
        self.noise = torch.empty((rows, *shape), dtype=dtype, device=device)
        self.inputs = torch.empty((rows, *shape), device=voter.device)
        if self.inputs.dim() == 4:
            self.inputs = self.inputs.contiguous(memory_format=voter.memory_format)
        self.owner = torch.empty(rows, dtype=torch.int64, device=voter.device)
        self.ones = torch.ones(rows, dtype=torch.int64, device=voter.device)
        self.block = torch.empty((block, *shape), dtype=dtype, device=device)
        self.steps = torch.full((1,), float(GRID), device=voter.device)
        self.block_key: tuple[int | str, ...] | None = None
        self.fits = (rows, shape)


@dataclass
class Voter:
    """Counts the votes of f under noise; memory is bounded by the batch, whatever the number of votes.

    Noise is drawn in blocks of a fixed number of votes, each from its own stream, so a vote depends on
    (seed, image index, stage, number of the vote) and not on batch size, order, or which other images are asked for.
    What remains is the arithmetic of f: a kernel may sum in another order for another batch size, which can flip the
    vote of an input that lies on the decision boundary to within float32 rounding.

    Under grid noise the image is rounded to the grid and f gets float32((255 x + k) / 255): image and noise are added
    as integers and divided once, so that f sees nothing but the integers 255 x + k.

    On the CPU a network that allows it (`concurrent`) is run by one worker per thread, each on batches of its own:
    two workers with one thread each never wait for each other, as the two threads of one pass do after every layer.
    Any other f is called by one thread at a time. An accelerator is waited for once, at the end. `batch` is a number,
    or None: the fastest of a few sizes, which are tried on the first votes asked for.
    """

    f: Callable[[Tensor], Tensor]
    noise: Noise
    num_classes: int
    seed: int = 0
    batch: int | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    memory_format: torch.memory_format = torch.contiguous_format
    _size: BatchSize | None = field(default=None, init=False, repr=False)
    _buffers: dict[int, Buffers] = field(default_factory=dict, init=False, repr=False)
    _steady: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.num_classes < 2:
            raise InputError(f"a classifier needs at least 2 classes, not {self.num_classes}")
        if self.batch is not None and self.batch < 1:
            raise InputError(f"batch must be at least 1, not {self.batch}")
        if isinstance(self.noise, GridNoise):
            require_seed(self.seed)

    @property
    def precision(self) -> str:
        return precision_of(self.f)

    def count(self, requests: Sequence[Request], seed: int | None = None) -> Votes:
        """(R, K) votes per request and class. Requests share batches, so many small ones fill the machine too.

        `seed` stands for the voter's own in this call.
        """
        refuse_training_mode(self.f)
        if not requests:
            return np.zeros((0, self.num_classes), np.int64)
        self.require_steady(requests[0])
        with torch.inference_mode():
            found = self._run(requests, self.seed if seed is None else seed)
            votes: Votes = found.view(len(requests), self.num_classes).cpu().numpy()
        return votes

    def require_steady(self, request: Request) -> None:
        """`refuse_unsteady` before the first vote; its rows are of a stream of their own, so no vote is changed."""
        if self._steady:
            return
        x, rows = request.x.to(self.device, torch.float32), min(ROWS, self.batch or ROWS)
        key = (self.seed, request.index, f"{request.stage}-guard", 0)
        with torch.inference_mode():
            inputs = torch.empty((rows, *x.shape), device=self.device)
            inputs.normal_(0.0, self.noise.scale, generator=generator_for(self.device, *key)).add_(x)
            if inputs.dim() == 4:
                inputs = inputs.contiguous(memory_format=self.memory_format)
            refuse_unsteady(self.f, inputs, self.precision)
        self._steady = True

    def _run(self, requests: Sequence[Request], seed: int) -> Tensor:
        shape = tuple(requests[0].x.shape)
        for request in requests:
            if tuple(request.x.shape) != shape:
                raise InputError(f"images of one call must share a shape: {tuple(request.x.shape)} against {shape}")
        block = votes_per_block(shape)
        total = sum(r.stop - r.start for r in requests)
        if self._size is None or self._size.shape != shape:
            self._size = BatchSize(shape, block, self.batch, self.device)
        images = {id(r.x): self._ready(r.x) for r in requests}
        workers, turn = self._workers(total), threading.Lock()
        batches = pieces(requests, block, self._size, workers)
        rows = min(max(self._size.largest, block), total)

        def work(worker: int) -> tuple[Tensor, Tensor]:
            buffers = self._buffers_for(worker, rows, shape, block)
            counts = torch.zeros(len(requests) * self.num_classes, dtype=torch.int64, device=self.device)
            finite = torch.ones((), dtype=torch.bool, device=self.device)
            while True:
                with turn:
                    batch = next(batches, None)
                if batch is None:
                    return counts, finite
                self._draw(batch.pieces, requests, buffers, seed)
                finite &= self._tally(batch, requests, images, buffers, counts)

        def stop() -> None:
            with turn:
                batches.close()

        found = in_parallel(work, workers, stop)
        if not all(finite for _, finite in found):  # the only wait for the device in the whole call
            raise InputError("the classifier returned NaN or infinite logits: no certificate can be given")
        return torch.stack([counts for counts, _ in found]).sum(0)

    def _ready(self, x: Tensor) -> Tensor:
        """x as the noise is added to it."""
        return levels(x, self.noise) if isinstance(self.noise, GridNoise) else x.to(self.device, torch.float32)

    def _workers(self, total: int) -> int:
        assert self._size is not None
        if self.device.type != "cpu" or not declared(self.f).concurrent:
            return 1
        return min(torch.get_num_threads(), -(-total // min(self._size.sizes)))

    def _draw(self, pieces: list[Piece], requests: Sequence[Request], buffers: Buffers, seed: int) -> None:
        """Whole blocks straight into the batch; of a block that two batches or two calls share, a copy of its rows."""
        for piece in pieces:
            request, here = requests[piece.number], buffers.noise[piece.at : piece.at + piece.take]
            key = (seed, request.index, request.stage, piece.block)
            if piece.take == len(buffers.block):
                self._fill(here, buffers.draws, key)
                continue
            if buffers.block_key != key:
                buffers.block_key = None  # half filled if this is interrupted
                self._fill(buffers.block, buffers.draws, key)
                buffers.block_key = key
            here.copy_(buffers.block[piece.row : piece.row + piece.take])

    def _fill(self, block: Tensor, draws: Draws | None, key: tuple[int | str, ...]) -> None:
        if draws is None:
            self.noise.fill(block, generator_for(self.device, *key))
        else:
            draws.fill(block.numpy(), stream_key(*key))

    def _tally(
        self,
        batch: Batch,
        requests: Sequence[Request],
        images: dict[int, Tensor],
        buffers: Buffers,
        counts: Tensor,
    ) -> Tensor:
        """Add the votes of one batch to `counts`; whether all logits are finite."""
        assert self._size is not None
        rows = batch.pieces[-1].at + batch.pieces[-1].take
        with self._size.timed(batch.size, rows):
            for piece in batch.pieces:
                here, x = slice(piece.at, piece.at + piece.take), images[id(requests[piece.number].x)]
                if buffers.draws is None:
                    torch.add(buffers.noise[here], x, out=buffers.inputs[here])
                else:
                    buffers.noise[here].add_(x)
                buffers.owner[here] = piece.number * self.num_classes
            inputs = buffers.inputs[:rows]
            if buffers.draws is not None:
                # divided by a tensor, as the reciprocal that an accelerator takes of a number is rounded once more
                inputs.copy_(buffers.noise[:rows]).div_(buffers.steps)
            logits = self.f(inputs) if rows <= batch.size else torch.cat([self.f(x) for x in inputs.split(batch.size)])
            if logits.shape != (rows, self.num_classes):
                raise InputError(
                    f"the classifier returned shape {tuple(logits.shape)} for {rows} images; "
                    f"({rows}, {self.num_classes}) was expected: check num_classes"
                )
            # scatter_add_, for bincount asks the device for its largest entry and waits for the answer
            counts.scatter_add_(0, buffers.owner[:rows] + logits.argmax(1), buffers.ones[:rows])
            return logits.isfinite().all()

    def _buffers_for(self, worker: int, rows: int, shape: tuple[int, ...], block: int) -> Buffers:
        kept = self._buffers.get(worker)
        if kept is None or kept.fits[1] != shape or kept.fits[0] < rows:
            kept = self._buffers[worker] = Buffers(rows, shape, block, self)
        return kept


def in_parallel(work: Callable[[int], Found], workers: int, stop: Callable[[], object]) -> list[Found]:
    """work(0), work(1), … at once, each with one thread for its arithmetic; one worker keeps all of them.

    `stop` is called where one of them fails or the user has had enough: what the others do then is lost anyway.
    """
    if workers == 1:
        return [work(0)]
    threads = torch.get_num_threads()

    def alone(worker: int) -> Found:
        torch.set_num_threads(1)
        with torch.inference_mode():  # a mode is of one thread
            return work(worker)

    try:
        with ThreadPoolExecutor(workers) as pool:
            try:
                return list(pool.map(alone, range(workers)))
            except BaseException:
                stop()
                raise
    finally:
        torch.set_num_threads(threads)  # of everybody: part of what the workers set holds for all threads


def pieces(requests: Sequence[Request], block: int, size: BatchSize, workers: int = 1) -> Generator[Batch, None, None]:
    """All votes asked for, in order, cut at the ends of blocks and batches.

    The last batches are smaller, so that all workers end at the same time.
    """
    batch: list[Piece] = []
    left = sum(r.stop - r.start for r in requests)
    step, rows, filled = *_next(size, left, block, workers), 0
    for number, request in enumerate(requests):
        vote = request.start
        while vote < request.stop:
            b, row = divmod(vote, block)
            take = min(block - row, request.stop - vote, rows - filled)
            batch.append(Piece(number, b, row, take, filled))
            vote, filled = vote + take, filled + take
            if filled == rows:
                yield Batch(batch, step)
                left -= filled
                batch, (step, rows), filled = [], _next(size, left, block, workers), 0
    if batch:
        yield Batch(batch, step)


def _next(size: BatchSize, left: int, block: int, workers: int) -> tuple[int, int]:
    """How many votes f gets at once, and how many the next batch has."""
    share = -(-left // (workers * block)) * block
    step = size.next(min(left, share))
    return step, max(block, min(step, share))


def votes_per_block(shape: Sequence[int]) -> int:
    """How many votes share one random stream: a function of the image's size alone, at most about 4 MiB of noise."""
    return int(min(100, max(1, 2**20 // max(1, int(np.prod(shape))))))


def precision_of(f: object) -> str:
    return str(getattr(f, "precision", "float32"))


def refuse_training_mode(f: object) -> None:
    if isinstance(f, nn.Module) and any(module.training for module in f.modules()):
        raise InputError("the classifier is in training mode, so its votes would mean nothing: call .eval() first")
