"""What a network may declare of itself, and that nobody asks for it in another way."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import smoothcert
from smoothcert.models import MODELS, build, frozen
from smoothcert.models.network import Declared, declared


def test_anybodys_function_may_declare_nothing():
    assert declared(lambda x: x) == declared(nn.Flatten()) == Declared(None, None, None, False)


@pytest.mark.parametrize("name", MODELS)
def test_networks_of_ours_declare_everything(name):
    f = build(name, 10)
    shape, channels_last = f.input_shape, torch.channels_last
    assert declared(f) == Declared(shape, (0.0, 1.0), channels_last, False)  # one thread at a time may train it
    assert declared(frozen(f)) == Declared(shape, (0.0, 1.0), channels_last, True)


def test_what_anybodys_network_declares_is_kept_when_it_is_frozen():
    f = nn.Flatten()
    f.input_shape, f.input_range, f.concurrent = (1, 2, 2), (-1.0, 1.0), True
    assert declared(frozen(f)) == Declared((1, 2, 2), (-1.0, 1.0), torch.contiguous_format, True)
    assert not frozen(nn.Flatten()).concurrent


def test_declarations_are_read_in_one_place():
    asked = re.compile(r'getattr\([^)]*"(input_shape|input_range|memory_format|concurrent)"')
    source = Path(smoothcert.__file__).parent
    assert [path for path in source.rglob("*.py") if asked.search(path.read_text())] == []
