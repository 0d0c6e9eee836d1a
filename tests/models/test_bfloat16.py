"""The bfloat16 network: what it computes, and that it is named wherever it is used."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from smoothcert import Gaussian, InputError, SmoothedClassifier
from smoothcert.certification.run import certify_images
from smoothcert.certification.target import open_target
from smoothcert.data import load
from smoothcert.interchange.export import export_onnx
from smoothcert.interchange.foreign_model import open_model
from smoothcert.machine import precision
from smoothcert.models import build, frozen
from smoothcert.models.fused import conv_norm_relu
from smoothcert.procedures.fixed import Fixed
from smoothcert.records.selection import Selection

torch.set_num_threads(1)

CPU = torch.device("cpu")
KEPT = Path(__file__).parents[2] / "results" / "runs" / "mnist-consistency-fast-0.50-seed0"


@pytest.fixture(autouse=True)
def _on_any_cpu(monkeypatch):
    """What is tested holds for emulated bfloat16 too."""
    monkeypatch.setenv(precision.EMULATE, "1")


def images(rows: int = 32, channels: int = 1) -> Tensor:
    side = 28 if channels == 1 else 32
    return torch.rand(rows, channels, side, side, generator=torch.Generator().manual_seed(0))


def strokes() -> Tensor:
    """A ramp, which the kept network finds hard, and a cross."""
    cross = torch.zeros(1, 28, 28)
    cross[0, 4:24, 13:16], cross[0, 10:13, 8:20] = 1, 0.5
    return torch.stack([torch.linspace(0, 1, 784).view(1, 28, 28), cross])


def test_lenet_is_the_plain_network_with_everything_rounded():
    """To the last bit: round x; each layer's weights and outputs in bfloat16; logits in float32."""
    f = build("lenet", 10).eval()
    x = images().contiguous(memory_format=torch.channels_last)
    plain = nn.Sequential(
        f.conv1, nn.MaxPool2d(2), nn.ReLU(), f.conv2, nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), f.fc1, nn.ReLU(), f.fc2,
    )  # fmt: skip
    g = frozen(f, "bfloat16")
    with torch.inference_mode():
        found = g(x)
        expected = plain.to(torch.bfloat16, memory_format=torch.channels_last)(x.bfloat16()).float()
    assert found.dtype == torch.float32 and torch.equal(found, expected)


@pytest.mark.parametrize("name", ["cifar_resnet20", "cifar_densenet40"])
def test_a_folded_network_is_near_the_float32_one(name):
    """A rounding errs by 2⁻⁹ at most; twenty to forty layers of them stay within 3 % of the largest logit."""
    torch.manual_seed(0)
    f = build(name, 10)
    x = images(64, 3)
    with torch.no_grad():
        f.train()(x)
    g, exact = frozen(f.eval(), "bfloat16"), frozen(f)
    with torch.inference_mode():
        found, expected = g(x), exact(x)
    assert found.dtype == torch.float32
    error = float((found - expected).abs().max() / expected.abs().max())
    assert 0 < error < 0.03
    assert next(f.parameters()).dtype == torch.float32  # the original is left alone


def test_folding_rounds_once():
    f = build("cifar_resnet8", 10).eval()
    with torch.no_grad():
        f.bn1.weight.uniform_(0.5, 1.5)
    scale = f.bn1.weight.double() / (f.bn1.running_var.double() + f.bn1.eps).sqrt()
    expected = (f.conv1.weight.double() * scale.view(-1, 1, 1, 1)).bfloat16()
    assert torch.equal(frozen(f, "bfloat16").f.conv1.weight, expected)


@pytest.mark.parametrize("shortcut", [False, True])
@pytest.mark.parametrize("rows", [1, 15, 16, 50])
def test_fused_layers_are_the_same_function_in_float32_to_the_last_bit(shortcut, rows):
    torch.manual_seed(rows)
    conv = nn.Conv2d(16, 16, 3, padding=1).to(memory_format=torch.channels_last)
    x = torch.randn(rows, 16, 32, 32).contiguous(memory_format=torch.channels_last)
    added = torch.randn_like(x) if shortcut else None
    with torch.inference_mode():
        expected = conv(x) if added is None else conv(x) + added
        found = conv_norm_relu(conv, nn.Identity(), x, added)
    assert torch.equal(found, expected.relu())


def test_float32_votes_are_those_of_the_first_release():
    """Counted before there was any bfloat16; the weights are kept in results/."""
    target = open_target(KEPT, device="cpu", precision="float32")
    votes = target.smoothed(0, 100).votes(strokes(), 2000, index=0)
    assert votes.tolist() == [[232, 0, 266, 76, 60, 10, 553, 10, 793, 0], [0, 2000, 0, 0, 0, 0, 0, 0, 0, 0]]


def test_bfloat16_votes_hardly_differ_and_certificates_name_it():
    target = open_target(KEPT, device="cpu", precision="bfloat16")
    assert target.about["model"]["variant"] == "channels-last, bfloat16"
    g = target.smoothed(0)
    assert g.precision == "bfloat16"
    votes, exact = (t.smoothed(0).votes(strokes(), 2000, index=0) for t in (target, open_target(KEPT, device="cpu")))
    assert 0 < np.abs(votes - exact).sum() / 2 <= 40  # the ramp lies near many boundaries: 2 % at most
    certificate = g.certify(strokes()[1], n0=20, n=200, index=0)
    assert certificate.precision == "bfloat16" and certificate.follows
    assert g.predict(strokes()[1], n=20).precision == "bfloat16"
    assert next(g.watch(strokes()[1], step=50)).precision == "bfloat16"


def test_votes_do_not_depend_on_batch_size_and_order():
    g = frozen(build("cifar_resnet8", 10), "bfloat16")
    x = images(2, 3)
    whole = SmoothedClassifier(g, Gaussian(0.25), 10, batch=100).votes(x, 300, index=0)
    for batch in (16, 50, 300):
        other = SmoothedClassifier(g, Gaussian(0.25), 10, batch=batch)
        assert np.abs(other.votes(x, 300, index=0) - whole).sum() <= 4  # sums in another order flip a vote in 300
        assert np.abs(other.votes(x.flip(0), 300, index=[1, 0])[::-1] - whole).sum() <= 4


def test_a_classifier_can_be_asked_for_it():
    f = nn.Sequential(nn.Flatten(), nn.Linear(784, 3)).eval()
    g = SmoothedClassifier(f, Gaussian(0.5), 3, precision="bfloat16")
    assert g.f is not f and g.f.variant == "as given, bfloat16" and f[1].weight.dtype == torch.float32
    assert g.certify(images()[0], n0=10, n=100).precision == "bfloat16"
    assert SmoothedClassifier(f, Gaussian(0.5), 3).certify(images()[0], n0=10, n=100).precision == "float32"
    assert SmoothedClassifier(g.f, Gaussian(0.5), 3).precision == "bfloat16"  # a frozen network says it itself
    with pytest.raises(InputError, match="frozen in bfloat16"):
        SmoothedClassifier(g.f, Gaussian(0.5), 3, precision="float32")
    with pytest.raises(InputError, match="no torch module"):
        SmoothedClassifier(lambda x: x.flatten(1), Gaussian(0.5), 784, precision="bfloat16")


def test_the_owner_of_a_network_may_allow_threads():
    f = nn.Sequential(nn.Flatten(), nn.Linear(784, 3))
    assert not frozen(f).concurrent
    f.concurrent = True
    assert frozen(f).concurrent and frozen(f).variant == "as given"


def test_a_cpu_without_the_instructions_says_so_in_one_line(monkeypatch):
    monkeypatch.delenv(precision.EMULATE)
    monkeypatch.setattr(precision, "computes_bfloat16", lambda device: False)
    f = nn.Sequential(nn.Flatten(), nn.Linear(784, 3)).eval()
    refusal = r"no bfloat16 instructions: choose precision float32 .*--precision float32.* SMOOTHCERT_EMULATE_BF16=1"
    with pytest.raises(InputError, match=refusal):
        SmoothedClassifier(f, Gaussian(0.5), 3, precision="bfloat16")
    with pytest.raises(InputError, match=refusal) as refused:
        open_target(KEPT, device="cpu", precision="bfloat16")
    assert "\n" not in str(refused.value)
    SmoothedClassifier(f, Gaussian(0.5), 3)  # float32 asks for nothing
    monkeypatch.setenv(precision.EMULATE, "1")
    SmoothedClassifier(f, Gaussian(0.5), 3, precision="bfloat16")


def test_other_precisions_are_refused():
    for refuse in (
        lambda: frozen(build("lenet", 10), "float16"),
        lambda: precision.require_precision("float16", CPU),
    ):
        with pytest.raises(InputError, match="float32 or bfloat16, not 'float16'"):
            refuse()


def test_onnx_stays_in_float32(tmp_path):
    with pytest.raises(InputError, match="cannot be turned to bfloat16"):
        open_model("anything.onnx", precision="bfloat16")
    with pytest.raises(InputError, match="export to ONNX in float32"):
        export_onnx(frozen(build("lenet", 10), "bfloat16"), tmp_path / "f.onnx", {})


def test_a_log_of_one_precision_is_not_continued_in_another(tmp_path):
    f, data = nn.Sequential(nn.Flatten(), nn.Linear(784, 10)).eval(), load("fake", "test")
    log = tmp_path / "certify.jsonl"

    def certify(precision: str) -> list[dict[str, object]]:
        g = SmoothedClassifier(frozen(f, precision), Gaussian(0.5), 10)
        about = {"model": {"name": "f", "variant": g.f.variant}}
        return list(certify_images(g, data, log, Fixed(g.noise, 10, 20), Selection(), "f", about, limit=1))

    assert len(certify("bfloat16")) == 1
    with pytest.raises(InputError, match=r"model\.variant: as given, bfloat16 there, as given asked for"):
        certify("float32")


def test_the_last_batches_are_shared_among_the_workers():
    from smoothcert.smoothed.batch_size import BatchSize
    from smoothcert.smoothed.votes import Request, pieces

    size = BatchSize((1, 28, 28), 100, 400, CPU)
    request = Request(images()[0], 0, "s", 0, 1250)
    rows = [batch.pieces[-1].at + batch.pieces[-1].take for batch in pieces([request], 100, size, 2)]
    assert sum(rows) == 1250 and rows[:2] == [400, 400]
    assert all(a >= b for a, b in pairwise(rows)) and max(rows[-2:]) <= 200
