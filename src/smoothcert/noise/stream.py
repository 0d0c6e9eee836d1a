"""One independent random stream per key, such as (seed, image, stage, block): on any device, in any order."""

from __future__ import annotations

import hashlib
import re
from functools import cache

import numpy as np
import torch

from smoothcert.errors import InputError

_NUMBER = re.compile(r"-?[0-9]+")
_WORDS = 624  # the state of MT19937, torch's generator on the CPU
_OFFSET = 3  # where torch keeps them, counted in 64-bit words of its serialized state


def generator_for(device: torch.device, *key: int | str) -> torch.Generator:
    """A generator that depends on the key alone.

    Seeding by number would not do: on the CPU torch keeps 32 bits of a seed, so among the ten million blocks of an
    ordinary certification thousands would repeat. There the whole MT19937 state is set from SHAKE-128 of the key.
    Elsewhere the generator is counter-based and takes 64 bits. Two keys never have one name: a word must not hold the
    "/" that separates parts, nor look like a number.
    """
    for part in key:
        if isinstance(part, str) and ("/" in part or _NUMBER.fullmatch(part)):
            raise InputError(f"{part!r} cannot name a random stream: choose a word without '/' that is no number")
    name = "/".join(map(str, ("smoothcert", *key))).encode()
    generator = torch.Generator(device=device)
    if device.type == "cpu":
        state = _fresh_state().clone()
        words = np.frombuffer(hashlib.shake_128(name).digest(4 * _WORDS), "<u4")
        state.numpy().view(np.uint64)[_OFFSET : _OFFSET + _WORDS] = words
        generator.set_state(state)
    else:
        generator.manual_seed(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little"))
    return generator


@cache
def _fresh_state() -> torch.Tensor:
    """torch's serialized state, after checking that its words lie where they are about to be written."""
    state = torch.Generator().manual_seed(1).get_state()
    words = state.numpy().view(np.uint64)[_OFFSET : _OFFSET + _WORDS]
    expected = np.random.RandomState(1).get_state(legacy=False)["state"]["key"]
    if words.shape != expected.shape or not np.array_equal(words, expected):
        raise RuntimeError(f"torch {torch.__version__} keeps its generator's state in a way smoothcert does not know")
    return state
