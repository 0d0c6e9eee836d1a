"""torch's own generators, which initial weights, dropout and code of one's own draw from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from smoothcert.noise.stream import generator_for


@contextmanager
def seeded(device: torch.device, *key: int | str) -> Iterator[None]:
    """Inside, draws without a generator depend on the key alone; afterwards torch's state is as it was."""
    on_cuda = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if on_cuda else []):
        torch.set_rng_state(generator_for(torch.device("cpu"), *key).get_state())
        if on_cuda:
            torch.cuda.set_rng_state(generator_for(device, *key).get_state(), device)
        yield
