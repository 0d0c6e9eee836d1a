"""Random streams: a function of their key, all of it, and the generator behind them is the one we think it is."""

import hashlib

import numpy as np
import pytest
import torch

from smoothcert.errors import InputError
from smoothcert.noise.stream import generator_for

CPU = torch.device("cpu")


def draw(*key):
    return torch.empty(1000).normal_(generator=generator_for(CPU, *key))


def test_same_key_same_stream_other_key_other_stream():
    assert torch.equal(draw(1, 2, "a"), draw(1, 2, "a"))
    keys = [(1, 2, "a"), (2, 1, "a"), (1, 2, "b"), (12, "a"), (1, 2), (1 + 2**32, 2, "a"), (1 + 2**64, 2, "a")]
    draws = torch.stack([draw(*key) for key in keys])
    assert len(torch.unique(draws, dim=0)) == len(keys)  # seeds that agree in their low 32 bits differ too


def test_uniforms_are_those_of_mt19937_with_the_state_we_set():
    words = np.frombuffer(hashlib.shake_128(b"smoothcert/7/x").digest(4 * 624), "<u4")
    reference = np.random.RandomState()
    reference.set_state(("MT19937", words, 624, 0, 0.0))
    expected = (reference.randint(0, 2**32, 2000, dtype=np.uint32) & 0xFFFFFF) / 2**24
    found = torch.empty(2000).uniform_(generator=generator_for(CPU, 7, "x")).numpy()
    assert np.array_equal(found, expected.astype(np.float32))


def test_streams_of_neighbouring_keys_are_uncorrelated():
    draws = torch.stack([draw(0, i, "estimation", 0) for i in range(50)]).double()
    correlation = torch.corrcoef(draws).fill_diagonal_(0).abs().max()
    assert correlation < 5 / 1000**0.5  # 1225 pairs: a correct generator fails with probability below 1e-3


@pytest.mark.parametrize("word", ["a/2", "/", "2", "-7"])
def test_words_that_could_be_taken_for_other_parts_of_a_key_are_refused(word):
    # ("a/2", 3) and ("a", 2, 3), or ("2",) and (2,), would have had one name and one stream.
    with pytest.raises(InputError, match="cannot name a random stream"):
        generator_for(CPU, 1, word, 3)
    assert (
        len({tuple(draw(*key)[:3].tolist()) for key in [("a", 2, 3), ("a2", 3), ("a", 23), ("a-2", 3), ("", 3)]}) == 5
    )
