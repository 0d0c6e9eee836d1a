from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.models import DENOISERS, UNetDenoiser, UNetNoise, build_denoiser
from smoothcert.models.unet import features

SHAPES = ((1, 28, 28), (3, 32, 32))


def awake(f: nn.Module) -> nn.Module:
    """No weight at 0, where some begin."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in f.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) / max(1, p[0].numel()) ** 0.5)
    return f


def level_of(f: nn.Module, images: int) -> Tensor:
    return torch.linspace(0.1, 1.0, images) if f.task == "denoise" else torch.arange(images) * 300


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", DENOISERS)
def test_every_denoiser_gives_images_of_the_same_shape_that_depend_on_the_level(
    name: str, shape: tuple[int, ...]
) -> None:
    f, x = awake(DENOISERS[name](shape[0])), torch.rand(3, *shape)
    level = level_of(f, 3)
    with torch.inference_mode():
        made = f(x, level)
        assert made.shape == x.shape and bool(made.isfinite().all())
        assert float((f(x, level.flip(0)) - made)[0].abs().max()) > 1e-3
        for i in range(3):  # each image for itself, its level as a number
            torch.testing.assert_close(f(x[i : i + 1], level[i].item()), made[i : i + 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", DENOISERS)
def test_every_denoiser_has_the_parameters_and_multiplications_it_says(name: str) -> None:
    shape = SHAPES["64" in name]
    f, count = DENOISERS[name](shape[0]), [0]

    def add(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        # a transposed convolution multiplies each of its inputs with a filter
        made = inputs[0] if isinstance(module, nn.ConvTranspose2d) else output
        count[0] += made[0].numel() * module.weight[0].numel()

    for module in f.modules():
        if isinstance(module, nn.Conv2d | nn.Linear | nn.ConvTranspose2d):
            module.register_forward_hook(add)
    f(torch.rand(1, *shape), level_of(f, 1))
    parameters = sum(p.numel() for p in f.parameters())
    said = " ".join((type(f).__doc__ or "").split())
    assert f"{parameters:,} parameters, {count[0]:,} multiplications" in said


@pytest.mark.parametrize("name", DENOISERS)
def test_every_denoiser_learns_in_every_weight(name: str) -> None:
    f = awake(DENOISERS[name](1))
    f(torch.rand(2, 1, 8, 8), level_of(f, 2)).square().sum().backward()
    assert [n for n, p in f.named_parameters() if p.grad is None or not bool(p.grad.abs().sum() > 0)] == []


@pytest.mark.parametrize("sigma", [0.25, 1.0])
def test_a_new_denoiser_is_the_wiener_filter_of_a_pixel(sigma: float) -> None:
    x = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    share = 0.3**2 / (0.3**2 + sigma**2)
    torch.testing.assert_close(UNetDenoiser(4, 1)(x, sigma), 0.5 + share * (x - 0.5), rtol=1e-5, atol=1e-6)


def test_what_the_network_adds_has_the_scale_of_what_the_filter_leaves() -> None:
    f = UNetDenoiser(4, 1)
    seen = []
    f.unet.forward = lambda x, u: seen.append((x, u)) or torch.ones_like(x)  # type: ignore[method-assign, func-returns-value, assignment]
    x, sigma = torch.rand(2, 1, 8, 8), 0.5
    share, left = 0.09 / (0.09 + 0.25), (0.09 * 0.25 / (0.09 + 0.25)) ** 0.5
    torch.testing.assert_close(f(x, sigma), 0.5 + share * (x - 0.5) + left)
    torch.testing.assert_close(seen[0][0], (x - 0.5) / 0.34**0.5)
    assert seen[0][1].item() == pytest.approx(-0.693147, rel=1e-5)


def test_the_waves_are_those_that_it_says() -> None:
    u = torch.tensor([0.3, -1.0])
    expected = torch.stack([*(torch.cos(2**k * u) for k in range(4)), *(torch.sin(2**k * u) for k in range(4))], 1)
    torch.testing.assert_close(features(u), expected)


def test_the_steps_of_a_diffusion_are_half_a_turn_of_the_slowest_wave() -> None:
    f = awake(UNetNoise(4, 1))
    x = torch.rand(2, 1, 8, 8)
    torch.testing.assert_close(f(x, 250), f.unet(x, torch.tensor([torch.pi / 4])))
    torch.testing.assert_close(f(x, torch.tensor([500, 500])), f.unet(x, torch.tensor([torch.pi / 2])))


def test_any_width_can_be_had_and_nothing_else() -> None:
    assert build_denoiser("unet12", 3).unet.head.out_channels == 12
    assert isinstance(build_denoiser("unet_noise7", 1), UNetNoise)
    for wrong, words in (("lenet", "unknown denoiser 'lenet'"), ("unet0", "width must lie")):
        with pytest.raises(InputError, match=words):
            build_denoiser(wrong, 1)


def test_images_and_levels_that_do_not_fit_are_refused() -> None:
    f = UNetDenoiser(4, 1)
    with pytest.raises(InputError, match="multiples of 4"):
        f(torch.rand(1, 1, 30, 30), 0.5)
    with pytest.raises(InputError, match="one for each of 3 images"):
        f(torch.rand(3, 1, 8, 8), torch.rand(2))
