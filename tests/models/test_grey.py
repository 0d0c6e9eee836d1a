"""The convolution of grey images: torch's numbers and its gradients, whoever asks for them."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from smoothcert.models.grey import GreyConv2d
from smoothcert.models.lenet import LeNet


def frozen(out_channels, kernel_size):
    torch.manual_seed(0)
    return GreyConv2d(out_channels, kernel_size).double().requires_grad_(False)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("images", "out_channels", "kernel_size"), [((3, 1, 9, 11), 4, 5), ((1, 1, 5, 5), 2, 5)])
def test_an_attack_finds_torchs_gradient_without_torchs_layer(
    images, out_channels, kernel_size, memory_format, monkeypatch
):
    convolve = frozen(out_channels, kernel_size).to(memory_format=memory_format)
    x = torch.randn(images, dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(nn.Conv2d, "forward", None)  # who trains is sent there, an attack must not be
    mine, theirs = convolve(x), conv2d(x, convolve.weight, convolve.bias)
    assert torch.equal(mine, theirs)
    slope = torch.randn_like(mine)
    assert torch.allclose(*(torch.autograd.grad(y, x, slope)[0] for y in (mine, theirs)), rtol=1e-12, atol=1e-12)


def test_differences_agree_to_second_order():
    convolve = frozen(2, 3)
    x = torch.randn(2, 1, 5, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(convolve, (x,))
    assert torch.autograd.gradgradcheck(convolve, (x,))


def test_whoever_trains_gets_gradients_of_weights_and_images():
    convolve = GreyConv2d(3, 5)
    x = torch.randn(2, 1, 8, 8, requires_grad=True)
    mine = torch.autograd.grad(convolve(x).square().sum(), (x, *convolve.parameters()))
    theirs = torch.autograd.grad(conv2d(x, convolve.weight, convolve.bias).square().sum(), (x, *convolve.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_lenet_starts_from_the_same_weights_as_with_torchs_layer():
    torch.manual_seed(0)
    mine = LeNet().conv1
    torch.manual_seed(0)
    theirs = nn.Conv2d(1, 20, 5)
    assert torch.equal(mine.weight, theirs.weight) and torch.equal(mine.bias, theirs.bias)
