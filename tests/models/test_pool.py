"""Pooling by slices: the same numbers as torch's kernel, and its gradients where they are wanted."""

import pytest
import torch
from torch.nn.functional import max_pool2d

from smoothcert.models.lenet import max_pool
from smoothcert.noise.stream import generator_for


@pytest.mark.parametrize("shape", [(3, 5, 24, 24), (2, 1, 2, 8), (2, 3, 7, 9), (1, 4, 6, 3)])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_equals_the_kernel_to_the_last_bit(shape, memory_format):
    x = torch.randn(shape, generator=generator_for(torch.device("cpu"), "pool")).contiguous(memory_format=memory_format)
    x[0, 0, 0, 0], x[-1, -1, 1, 1] = float("inf"), float("nan")
    with torch.no_grad():
        assert torch.equal(max_pool(x).nan_to_num(7.0), max_pool2d(x, 2).nan_to_num(7.0))
        assert max_pool(x).isnan().any()


def test_gradients_are_those_of_the_kernel():
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    (mine,) = torch.autograd.grad(max_pool(x).square().sum(), x)
    (theirs,) = torch.autograd.grad(max_pool2d(x, 2).square().sum(), x)
    assert torch.equal(mine, theirs)
