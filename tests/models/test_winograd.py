"""3×3 convolutions with fewer multiplications: torch's numbers, its gradients, and when which of the two computes."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d

from smoothcert.models import winograd
from smoothcert.models.cifar_wide import CifarWide
from smoothcert.models.freeze import frozen
from smoothcert.models.fused import conv_norm_relu
from smoothcert.models.winograd import Conv3x3, convolve

SHAPES = [(2, 3, 2, 8, 8), (1, 1, 1, 4, 4), (3, 2, 5, 8, 4), (2, 4, 3, 4, 12)]  # B, C, K, H, W


def drawn(images, inputs, outputs, height, width, dtype=torch.float64, memory_format=torch.channels_last):
    torch.manual_seed(0)
    x = torch.randn(images, inputs, height, width, dtype=dtype).contiguous(memory_format=memory_format)
    weight = torch.randn(outputs, inputs, 3, 3, dtype=dtype).contiguous(memory_format=memory_format)
    return x.requires_grad_(), weight.requires_grad_()


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_numbers_are_torchs(shape, memory_format):
    x, weight = drawn(*shape, memory_format=memory_format)
    mine, theirs = convolve(x, weight), conv2d(x, weight, padding=1)
    assert mine.shape == theirs.shape and mine.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
    slope = torch.randn_like(theirs)
    for one, other in zip(*(torch.autograd.grad(y, (x, weight), slope) for y in (mine, theirs)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_those_of_differences(shape):
    assert torch.autograd.gradcheck(convolve, drawn(*shape))


@pytest.mark.parametrize(("of_images", "of_weight"), [(True, False), (False, True)])
def test_one_gradient_alone_is_the_same(of_images, of_weight):
    x, weight = drawn(2, 3, 4, 8, 8)
    wanted = torch.autograd.grad(conv2d(x, weight, padding=1).square().sum(), (x, weight))[0 if of_images else 1]
    x, weight = x.detach().requires_grad_(of_images), weight.detach().requires_grad_(of_weight)
    (found,) = torch.autograd.grad(convolve(x, weight).square().sum(), x if of_images else weight)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-9)


def test_many_images_are_taken_in_parts(monkeypatch):
    monkeypatch.setattr(winograd, "_TILES_AT_A_TIME", 9)  # two images of four tiles, and one is left over
    test_the_numbers_are_torchs((7, 2, 3, 8, 8), torch.channels_last)


def test_no_images_give_none():
    assert convolve(torch.zeros(0, 2, 8, 8), torch.zeros(3, 2, 3, 3)).shape == (0, 3, 8, 8)


def test_a_second_derivative_is_refused_and_not_wrong():
    x, weight = drawn(1, 1, 1, 4, 4)
    (slope,) = torch.autograd.grad(convolve(x, weight).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_float32_rounds_a_thousand_times_finer_than_bfloat16():
    x, weight = drawn(8, 256, 256, 8, 8)
    exact = conv2d(x, weight, padding=1)
    error = (convolve(x.float(), weight.float()) - exact).norm() / exact.norm()
    assert error < 1e-5


def test_an_image_gets_the_same_numbers_in_any_batch_but_for_rounding():
    x, weight = drawn(70, 256, 256, 4, 4, torch.float32)
    with torch.no_grad():
        together = convolve(x, weight)
        apart = torch.cat([convolve(part, weight) for part in x.split(16)])
    assert (together - apart).norm() < 1e-5 * together.norm()


def counted(monkeypatch):
    calls = []
    monkeypatch.setattr(winograd, "convolve", lambda x, weight: calls.append(x.dtype) or conv2d(x, weight, padding=1))
    return calls


def test_only_wide_float32_layers_and_whole_tiles_on_a_cpu_leave_torchs_kernel(monkeypatch):
    calls = counted(monkeypatch)
    wide, narrow = Conv3x3(64, 256), Conv3x3(64, 64)
    x = torch.rand(1, 64, 4, 4)
    narrow(x)
    wide(torch.rand(1, 64, 4, 6))
    wide.bfloat16()(x.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        wide.float()(x)
    assert calls == []
    wide(x)
    assert calls == [torch.float32]


def test_a_folded_bias_is_added():
    torch.manual_seed(0)
    conv, x = Conv3x3(64, 256), torch.randn(3, 64, 8, 8)
    conv.bias = nn.Parameter(torch.randn(256), requires_grad=False)
    with torch.no_grad():
        wanted = conv2d(x, conv.weight, conv.bias, padding=1)
        torch.testing.assert_close(conv(x), wanted, rtol=0, atol=1e-4)
        torch.testing.assert_close(conv_norm_relu(conv, nn.Identity(), x), wanted.relu(), rtol=0, atol=1e-4)
        added = torch.randn_like(wanted)
        mine = conv_norm_relu(conv, nn.Identity(), x, added.clone())
        torch.testing.assert_close(mine, (wanted + added).relu(), rtol=0, atol=1e-4)


def test_a_wide_network_computes_what_it_did(monkeypatch):
    torch.manual_seed(0)
    f, x = CifarWide(10), torch.rand(20, 3, 32, 32)
    f(x)  # gives its norms something to remember
    fast = frozen(f)(x)
    monkeypatch.setattr(winograd, "_FEWEST_PRODUCTS", 10**9)
    plain = frozen(f)(x)
    assert not torch.equal(fast, plain)  # or the two were the same kernel
    torch.testing.assert_close(fast, plain, rtol=0, atol=1e-3 * float(plain.abs().max()))


def test_weights_are_named_as_before():
    torch.manual_seed(0)
    theirs = nn.Conv2d(64, 256, 3, padding=1, bias=False)
    torch.manual_seed(0)
    mine = Conv3x3(64, 256)
    assert torch.equal(mine.weight, theirs.weight) and mine.state_dict().keys() == theirs.state_dict().keys()
