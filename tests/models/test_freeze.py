from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from smoothcert import Gaussian, InputError, SmoothedClassifier
from smoothcert.interchange.weights import digest
from smoothcert.models import MODELS, build, frozen

torch.set_num_threads(1)  # threads that spin on a busy machine make these small networks ten times slower

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FOLDED = "folded batch norm, channels-last"


@pytest.fixture(scope="module")
def photographs() -> Tensor:
    """64 real CIFAR-10 test images in [0, 1]."""
    sheet = SHARED / "cifar10-webp" / "test_batch.webp"
    if not sheet.is_file():
        pytest.skip(f"needs the real CIFAR-10 images in {sheet.parent}")
    with Image.open(sheet) as image:
        rows = np.asarray(image.crop((0, 0, 64 * 32, 32)).convert("RGB"))
    return torch.from_numpy(rows.reshape(32, 64, 32, 3).transpose(1, 3, 0, 2).copy()).float() / 255


def with_statistics(name: str, images: Tensor) -> nn.Module:
    """The network as it might be after training: its batch norms have seen images and moved."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        f = build(name, 10)
        for module in f.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.normal_(module.bias, std=0.2)
                module.momentum = None  # the average over all batches
        with torch.no_grad():
            for batch in images.split(8):
                f.train()(batch + 0.25 * torch.randn_like(batch))
    return f.eval()


def images_for(name: str, photographs: Tensor) -> Tensor:
    """The real images, in the shape that the network takes."""
    if name == "lenet":
        return photographs.mean(1, keepdim=True)[:, :, 2:30, 2:30]
    if name.startswith(("imagenet", "photo")):
        return nn.functional.interpolate(photographs[:8], size=224, mode="bilinear", antialias=True)
    return photographs


@pytest.mark.parametrize("name", MODELS)
def test_the_frozen_network_predicts_as_the_one_it_was_made_from(name, photographs):
    images = images_for(name, photographs)
    f = with_statistics(name, images)
    before = digest(f.state_dict())
    g = frozen(f)
    with torch.inference_mode():
        expected, found = f(images), g(images)
    tolerance = 2e-5 * float(expected.abs().max())
    assert float((found - expected).abs().max()) <= tolerance
    first, second = expected.topk(2, 1).values.unbind(1)
    clear = first - second > 2 * tolerance
    assert clear.float().mean() > 0.9
    assert torch.equal(found.argmax(1)[clear], expected.argmax(1)[clear])
    assert digest(f.state_dict()) == before and all(p.requires_grad for p in f.parameters())
    assert not any(p.requires_grad for p in g.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_the_variant_says_what_was_done(name):
    g = frozen(build(name, 10))
    assert g.variant == ("channels-last" if name == "lenet" else FOLDED)
    norms = sum(isinstance(m, nn.BatchNorm2d) for m in g.modules())
    # DenseNet's other norms read the outputs of several layers, so there is nothing to fold them into
    assert norms == (19 if name == "cifar_densenet40" else 0)
    assert (g.input_range, g.memory_format) == ((0.0, 1.0), torch.channels_last)


def test_freezing_twice_changes_nothing():
    g = frozen(build("cifar_resnet8", 10))
    assert frozen(g) is g


def test_one_function_whatever_the_layout_of_the_batch(photographs):
    g = frozen(with_statistics("cifar_resnet20", photographs))
    with torch.inference_mode():
        assert torch.equal(g(photographs.contiguous()), g(photographs.contiguous(memory_format=torch.channels_last)))


def test_certify_and_predict_ask_the_frozen_network_and_no_other(photographs):
    f = with_statistics("cifar_resnet8", photographs)
    g = frozen(f)
    seen: list[Tensor] = []
    g.f.register_forward_hook(lambda module, inputs, logits: seen.append(logits.argmax(1).clone()))
    f.register_forward_hook(lambda *_: pytest.fail("the unfolded network was asked"))
    classifier = SmoothedClassifier(g, Gaussian(0.25), 10, batch=64)
    classifier.votes(photographs[0], 1)  # before the first vote f is asked whether it is steady
    seen.clear()
    certificate = classifier.certify(photographs[0], n0=20, n=200)
    prediction = classifier.predict(photographs[0], n=100)
    votes = np.bincount(torch.cat(seen).numpy(), minlength=10)
    total = np.add(np.add(certificate.selection, certificate.estimation), prediction.votes)
    assert votes.tolist() == total.tolist()


def test_a_frozen_network_refuses_to_train_and_other_shapes():
    g = frozen(build("cifar_resnet8", 10))
    with pytest.raises(InputError, match="cannot be trained"):
        g.train()
    with pytest.raises(InputError, match=r"\(3, 28, 28\) but the network takes \(3, 32, 32\)"):
        g(torch.rand(1, 3, 28, 28))


def test_a_strangers_network_stays_as_given():
    f = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 900, 10))
    g = frozen(f)
    assert g.variant == "as given" and g.f is f and not f.training


def test_statistics_of_the_batch_cannot_be_frozen():
    f = build("cifar_resnet8", 10)
    f.bn1 = nn.BatchNorm2d(16, track_running_stats=False)
    with pytest.raises(InputError, match="bn1 keeps no running statistics"):
        frozen(f)
