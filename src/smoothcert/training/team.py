"""Data-parallel training: processes that share every step and end it with the same weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn

from smoothcert.errors import InputError
from smoothcert.machine.processes import Place
from smoothcert.training.checkpoint import Position
from smoothcert.training.global_batch_norm import with_global_batch_norm
from smoothcert.training.learner import Learner


@dataclass(frozen=True)
class Share:
    """The images start … stop − 1 of a step of `total`."""

    start: int
    stop: int
    total: int

    @property
    def weight(self) -> float:
        return (self.stop - self.start) / self.total


class Team:
    """A training that one process makes alone.

    Whoever trains in company (`Processes`) computes the same step up to the order of float32 sums: the batch, its order
    and noise, the statistics of batch norm and the learning rate are those of the whole batch.
    """

    place = Place()

    def share(self, images: int) -> Share:
        return Share(0, images, images)

    def adopt(self, f: nn.Module) -> nn.Module:
        """f, with layers that see the whole batch."""
        return f

    def agree(self, learner: Learner, position: Position) -> Position:
        """Everybody goes on from where the first process is."""
        return position

    def from_first(self, tensor: Tensor) -> Tensor:
        """The first process's values, for everybody; all give a tensor of the same shape and type."""
        return tensor

    def add_gradients(self, f: nn.Module) -> None:
        """∇ of the whole batch's loss, from the shares'."""

    def add(self, numbers: Tensor) -> Tensor:
        """Sums over all processes."""
        return numbers


class Processes(Team):
    """Talks through torch.distributed, whose group must have been joined (`joined`)."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def share(self, images: int) -> Share:
        if images < self.place.size:
            raise InputError(f"{self.place.size} processes cannot share a step of {images} images: start fewer")
        start, stop = (images * rank // self.place.size for rank in (self.place.rank, self.place.rank + 1))
        return Share(start, stop, images)

    def adopt(self, f: nn.Module) -> nn.Module:
        return with_global_batch_norm(f)

    def agree(self, learner: Learner, position: Position) -> Position:
        optimizers, state = learner.optimizers, learner.optimizers.state()
        counters = {name: float(t) if t.ndim == 0 else None for name, t in state.items()}
        word = [(position, counters, learner.sample)]
        distributed.broadcast_object_list(word)
        position, counters, learner.sample = word[0]
        averaged = learner.average.state_dict() if learner.average else {}
        for tensor in (*learner.f.state_dict().values(), *averaged.values()):
            tensor.copy_(_from_first(tensor))
        for name, counter in counters.items():
            like = state.get(name, optimizers.parameters[name.partition(".")[2]])
            state[name] = _from_first(like.detach()) if counter is None else torch.tensor(counter)
        optimizers.restore(state)
        return position

    def from_first(self, tensor: Tensor) -> Tensor:
        return _from_first(tensor)

    def add_gradients(self, f: nn.Module) -> None:
        """One sum over one buffer whose layout never changes.

        DistributedDataParallel rebuilds its buckets after its first step, which changes the order of the sums: a run of
        three processes that is stopped and taken up again would not end with the same bits.
        """
        gradients = [p.grad for p in f.parameters() if p.grad is not None]
        flat = torch.cat([g.flatten() for g in gradients])
        distributed.all_reduce(flat)
        for gradient, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def add(self, numbers: Tensor) -> Tensor:
        numbers = numbers.clone()
        distributed.all_reduce(numbers)
        return numbers


def _from_first(tensor: Tensor) -> Tensor:
    """The first process's values. Sent in one layout: a broadcast copies memory, and processes may differ in theirs."""
    sent = tensor.clone(memory_format=torch.contiguous_format)
    distributed.broadcast(sent, 0)
    return sent


@contextlib.contextmanager
def joined(place: Place, device: torch.device) -> Iterator[Team]:
    """The team of the processes torchrun started, or of this one alone."""
    if place.size == 1:
        yield Team()
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Processes(place)
    finally:
        distributed.destroy_process_group()
