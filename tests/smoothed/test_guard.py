"""An f that is no function of one image is refused before its first vote, and any other is left alone."""

import pytest
import torch
from tests.smoothed.linear import CPU, IMAGES, linear
from torch import nn

from smoothcert.errors import InputError
from smoothcert.models import MODELS, build, frozen
from smoothcert.noise import Gaussian
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.guard import BFLOAT16_TOLERANCE, CPU_TOLERANCE, ROWS, refuse_unsteady
from smoothcert.smoothed.votes import Request, Voter


def network(*layers, width=42):
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(42, width), *layers, nn.Linear(width, 3))


def asked(f, **options):
    return SmoothedClassifier(f, Gaussian(0.5), 3, **options).votes(IMAGES[0], 10)


def in_training(net):
    return lambda x: net.train()(x)


def without_statistics():
    return network(nn.Unflatten(1, (2, 3, 7)), nn.BatchNorm2d(2, track_running_stats=False), nn.Flatten()).eval()


def forgetful(x):
    return linear(x - x.mean(0))


def in_order(x):
    return linear(x) * torch.arange(1.0, 1 + len(x))[:, None]


RANDOM, TALKING = "the classifier is random", "depends on the other images of its batch"


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (in_training(network(nn.Dropout(0.1))), RANDOM),
        (lambda x: linear(x) + 0.1 * torch.rand(len(x), 3), RANDOM),
        (in_training(network(nn.Unflatten(1, (2, 3, 7)), nn.BatchNorm2d(2), nn.Flatten())), TALKING),
        (without_statistics(), TALKING),
        (forgetful, TALKING),
        (in_order, TALKING),
        (in_training(network(nn.BatchNorm1d(42))), "cannot be asked about a single image: Expected more than 1 value"),
        (lambda x: linear(x).squeeze(0), TALKING),
    ],
    ids=["dropout", "noise of its own", "training behind a lambda", "no running statistics", "batch mean", "row number",
         "single image fails", "single image has another shape"],
)  # fmt: skip
def test_an_f_that_is_no_function_of_one_image_is_refused(f, said):
    with pytest.raises(InputError, match=said) as caught:
        asked(f)
    assert "\n" not in str(caught.value)


def test_every_way_to_votes_asks_once_and_no_vote_changes():
    calls = []

    def f(x):
        calls.append(len(x))
        return linear(x)

    guard = [ROWS, ROWS, *[1] * ROWS, ROWS]
    g = SmoothedClassifier(f, Gaussian(0.5), 3, seed=4, batch=50)
    assert calls == []
    assert g.votes(IMAGES[:2], 500, index=7).tolist() == [[379, 60, 61], [208, 178, 114]]  # as before there was a guard
    assert calls[: len(guard)] == guard and set(calls[len(guard) :]) == {50}
    before = len(calls)
    g.votes(IMAGES[1], 50)
    assert calls[before:] == [50]
    for way in (
        lambda g: g.predict(IMAGES[0], 50),
        lambda g: g.certify(IMAGES[0], 50, 100),
        lambda g: next(g.watch(IMAGES[0])),
    ):
        calls.clear()
        way(SmoothedClassifier(f, Gaussian(0.5), 3))
        assert calls[: len(guard)] == guard and 1 not in calls[len(guard) :]
    calls.clear()
    Voter(f, Gaussian(0.5), 3, batch=1).count([Request(IMAGES[0], 0, "s", 0, 3)])
    assert set(calls) == {1}  # an f that takes single images only is asked about single images only


def test_a_refused_f_is_refused_again_and_rounding_is_not():
    g = SmoothedClassifier(forgetful, Gaussian(0.5), 3)
    for _ in range(2):
        with pytest.raises(InputError, match=TALKING):
            g.votes(IMAGES[0], 10)
    asked(lambda x: linear(x) * (1 + 1e-5 * len(x)))  # as a kernel that rounds by the size of the batch
    with pytest.raises(InputError, match=TALKING):
        asked(lambda x: linear(x) * (1 + 1e-3 * len(x)))
    asked(lambda x: torch.zeros(len(x), 3))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", [name for name in MODELS if "imagenet" not in name and "110" not in name])
def test_our_networks_stay_far_below_the_tolerance(name, precision, monkeypatch):
    monkeypatch.setenv("SMOOTHCERT_EMULATE_BF16", "1")
    torch.manual_seed(1)
    f = frozen(build(name, 10), precision)
    x = torch.randn(ROWS, *f.input_shape, generator=generator_for(CPU, "guard")).contiguous(
        memory_format=f.memory_format
    )
    with torch.inference_mode():
        refuse_unsteady(f, x, precision)
        whole, alone = f(x), torch.cat([f(row) for row in x.split(1)])
    tolerance = BFLOAT16_TOLERANCE if precision == "bfloat16" else CPU_TOLERANCE
    assert (whole - alone).abs().max() <= tolerance / 10 * (whole.max() - whole.min())
