from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from smoothcert.errors import InputError
from smoothcert.models import MODELS, build
from smoothcert.models.cifar_wide import shift_norm
from tests.models import plain

torch.set_num_threads(1)  # threads that spin on a busy machine make these small networks ten times slower

PARAMETERS = {
    "lenet": (10, 431_080),
    "cifar_resnet20": (10, 272_474),
    "cifar_resnet110": (10, 1_730_714),
    "cifar_densenet40": (10, 211_978),
    "cifar_wide": (10, 3_157_002),
    "imagenet_resnet50": (1000, 25_557_032),
    "photo_wide": (10, 1_685_706),
}
LAYOUTS = {
    "lenet": plain.lenet_layout(10),
    "cifar_resnet20": plain.cifar_resnet_layout(20, 10),
    "cifar_resnet110": plain.cifar_resnet_layout(110, 10),
    "cifar_densenet40": plain.densenet40_layout(10),
    "cifar_wide": plain.wide_layout(10),
    "imagenet_resnet50": plain.resnet50_layout(1000),
    "photo_wide": plain.photo_layout(10),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_network_has_the_papers_parameter_count_and_the_usual_keys(name):
    classes, expected = PARAMETERS[name]
    f = build(name, classes)
    assert sum(p.numel() for p in f.parameters()) == expected
    assert {k: tuple(v.shape) for k, v in f.state_dict().items()} == dict(LAYOUTS[name])


@pytest.mark.parametrize("name", MODELS)
def test_every_network_maps_images_in_the_unit_range_to_one_logit_per_class(name):
    f = build(name, 7).eval()
    assert f.input_range == (0.0, 1.0) and f.memory_format == torch.channels_last
    with torch.inference_mode():
        assert f(torch.rand(2, *f.input_shape)).shape == (2, 7)


@pytest.mark.parametrize("name", MODELS)
def test_every_network_learns_in_every_weight(name):
    f = build(name, 3)
    nn.functional.cross_entropy(f(torch.rand(2, *f.input_shape)), torch.tensor([0, 2])).backward()
    assert [n for n, p in f.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []


@pytest.mark.parametrize(
    "name", ["cifar_resnet20", "cifar_densenet40", "cifar_wide", "imagenet_resnet50", "photo_wide"]
)
def test_convolutions_start_with_variance_2_over_k2_out(name):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        f = build(name, 10)
    convolutions = [m for m in f.modules() if isinstance(m, nn.Conv2d)]
    # (Σ w² / variance) is χ² with as many degrees as weights: 6 standard deviations, so wrong once in 5e8
    chi2 = sum(
        float(m.weight.detach().double().square().sum()) * math.prod(m.kernel_size) * m.out_channels / 2
        for m in convolutions
    )
    n = sum(m.weight.numel() for m in convolutions)
    assert abs(chi2 - n) < 6 * math.sqrt(2 * n)
    assert all(m.bias is None for m in convolutions)


def test_normalisation_is_the_first_layer_and_no_parameter():
    f = build("cifar_resnet20", 10)
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
    std = torch.tensor([0.2023, 0.1994, 0.2010]).view(3, 1, 1)
    x = torch.rand(2, 3, 32, 32)
    assert torch.equal(f.normalize(x), (x - mean) / std)
    assert not [key for key in f.state_dict() if "normalize" in key]


@pytest.mark.parametrize(("kind", "expected"), [("center", lambda x, m: x - m), ("none", lambda x, m: x)])
def test_others_normalisations_can_be_had(kind, expected):
    x = torch.rand(2, 3, 32, 32)
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
    assert torch.equal(build("cifar_resnet20", 10, kind).normalize(x), expected(x, mean))


@pytest.mark.parametrize(("name", "multiplications"), [("cifar_wide", 170_756_608), ("photo_wide", 224_289_280)])
def test_a_wide_network_has_the_multiplications_it_says(name, multiplications):
    f, count = build(name, 10), [0]

    def add(module, inputs, output):
        count[0] += output[0].numel() * module.weight[0].numel()

    for module in f.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.register_forward_hook(add)
    f.eval()(torch.rand(1, *f.input_shape))
    assert count[0] == multiplications
    assert f"{count[0]:,}" in type(f).__doc__ and f"{sum(p.numel() for p in f.parameters()):,}" in type(f).__doc__


def test_the_wide_network_has_any_width():
    assert build("cifar_wide50", 10).fc.in_features == 128


def test_a_norm_without_scale_is_batch_norm_and_folds_through_the_pool():
    norm, plain_norm = shift_norm(5), nn.BatchNorm2d(5)
    x = 3 + 2 * torch.randn(4, 5, 6, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(norm(x), plain_norm(x))
    assert sorted(norm.state_dict()) == sorted(plain_norm.state_dict().keys() - {"weight"})
    # max(s·a + b) = s·max(a) + b needs s > 0, whatever training does to β
    assert bool((norm.weight > 0).all()) and [name for name, _ in norm.named_parameters()] == ["bias"]


@pytest.mark.parametrize("depth", [8, 32, 56])
def test_cifar_resnets_of_any_depth_6k_plus_2(depth):
    f = build(f"cifar_resnet{depth}", 10)
    convolutions = [m for m in f.modules() if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3)]
    assert len(convolutions) == depth - 1  # and one linear layer


@pytest.mark.parametrize(
    ("name", "classes", "normalization", "message"),
    [
        ("cifar_resnet21", 10, "standard", "6k \\+ 2: the nearest is cifar_resnet20"),
        ("cifar_resnet2", 10, "standard", "the nearest is cifar_resnet8"),
        ("cifar_resnet", 10, "standard", "did you mean cifar_resnet"),
        ("lenet", 1, "standard", "at least 2 classes"),
        ("cifar_wide2", 10, "standard", "width must lie between"),
        ("lenet", 10, "center", "no mean to subtract"),
        ("cifar_resnet20", 10, "centre", "did you mean center"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(name, classes, normalization, message):
    with pytest.raises(InputError, match=message) as error:
        build(name, classes, normalization)
    assert "\n" not in str(error.value)
