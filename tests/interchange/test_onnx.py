from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from smoothcert import Gaussian, InputError, SmoothedClassifier
from smoothcert.interchange.export import export_onnx, export_safetensors
from smoothcert.interchange.foreign_model import open_model
from smoothcert.interchange.weights import load_weights
from smoothcert.models import build

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytest.importorskip("onnxscript", reason="needs the extra onnx")

# torch's own exporter trips over a deprecation of torch's own pytree
exporting = pytest.mark.filterwarnings("ignore:.*isinstance.treespec, LeafSpec.*:FutureWarning")

torch.set_num_threads(1)  # threads that spin on a busy machine make these small networks ten times slower
WEIGHT = np.random.Generator(np.random.PCG64(0)).normal(size=(5, 12)).astype(np.float32)


def linear_onnx(path: Path, shape: list[int | str], *, kind: int = onnx.TensorProto.FLOAT, outputs: int = 1,
                inputs: int = 1, weight: np.ndarray = WEIGHT) -> Path:  # fmt: skip
    """flatten, then a matrix: a classifier of 3×2×2 images that any framework might have written."""
    helper = onnx.helper
    nodes = [
        helper.make_node("Cast", ["x"], ["xf"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Flatten", ["xf"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w"], ["y"], transB=1),
        helper.make_node("Identity", ["y"], ["z"]),
    ]
    values = [helper.make_tensor_value_info(n, kind, shape) for n in ("x", "x2")[:inputs]]
    results = [
        helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [shape[0], len(weight)]) for n in "yz"[:outputs]
    ]
    graph = helper.make_graph(nodes, "g", values, results, [onnx.numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, str(path))
    return path


def expected(x: Tensor) -> Tensor:
    return x.flatten(1) @ torch.from_numpy(WEIGHT).T


@pytest.mark.parametrize("batch", ["n", 1, 4, 64])
def test_an_onnx_file_is_a_classifier_whatever_its_batch(batch, tmp_path):
    path = linear_onnx(tmp_path / "m.onnx", [batch, 3, 2, 2])
    opened = open_model(str(path))
    assert (opened.num_classes, opened.input_shape) == (5, (3, 2, 2))
    assert opened.about["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert opened.about["variant"].startswith("onnxruntime ")
    for rows in (0, 1, 4, 10):
        x = torch.rand(rows, 3, 2, 2).contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(opened.f(x), expected(x))


def test_an_onnx_file_can_be_certified(tmp_path):
    opened = open_model(str(linear_onnx(tmp_path / "m.onnx", ["n", 3, 2, 2])))
    classifier = SmoothedClassifier(opened.f, Gaussian(0.1), opened.num_classes)
    torch_classifier = SmoothedClassifier(expected, Gaussian(0.1), 5)
    x = torch.rand(3, 2, 2)
    assert classifier.certify(x, n0=20, n=500) == torch_classifier.certify(x, n0=20, n=500)


def test_an_open_shape_is_asked_for_and_then_checked(tmp_path):
    path = str(linear_onnx(tmp_path / "m.onnx", ["n", 3, "height", "width"]))
    with pytest.raises(InputError, match=r"leaves its image shape \(3, 'height', 'width'\) open: give it with --inp"):
        open_model(path)
    for told in ({"input_shape": (3, 2, 2)}, {"image_shape": (3, 2, 2)}):
        assert open_model(path, **told).num_classes == 5
    with pytest.raises(InputError, match="onnxruntime failed"):
        open_model(path, input_shape=(3, 4, 4))  # the matrix behind does not fit


@pytest.mark.parametrize(
    ("made", "arguments", "message"),
    [
        ({"shape": ["n", 3, 2, 2]}, {"num_classes": 10}, "its output has 5 classes, not 10"),
        ({"shape": ["n", 3, 2, 2]}, {"input_shape": (1, 2, 2)}, r"takes images of \(3, 2, 2\), not \(1, 2, 2\)"),
        ({"shape": ["n", 3, 2, 2]}, {"input_shape": (12,)}, r"takes images of \(3, 2, 2\), not \(12,\)"),
        ({"shape": ["n", 3, 2, 2], "inputs": 2}, {}, r"has 2 inputs \(x, x2\)"),
        ({"shape": ["n", 3, 2, 2], "outputs": 2}, {}, r"has 2 outputs \(y, z\)"),
        ({"shape": ["n", 3, 2, 2], "kind": onnx.TensorProto.UINT8}, {}, r"its input is tensor\(uint8\)"),
        ({"shape": ["n", 3, 2, 2], "weight": WEIGHT[:1]}, {}, "at least 2 classes"),
        ({"shape": [12], "weight": WEIGHT[:, :1]}, {}, "no room for a batch"),
    ],
    ids=range(8),
)
def test_an_onnx_file_that_is_no_such_classifier_is_refused(made, arguments, message, tmp_path):
    path = linear_onnx(tmp_path / "m.onnx", **made)
    with pytest.raises(InputError, match=message) as error:
        open_model(str(path), **arguments)
    assert "m.onnx" in str(error.value) and "\n" not in str(error.value)


def test_wrong_images_are_refused(tmp_path):
    f = open_model(str(linear_onnx(tmp_path / "m.onnx", ["n", 3, 2, 2]))).f
    for x in (torch.rand(1, 3, 4, 4), torch.rand(1, 3, 2, 2).double(), torch.rand(3, 2, 2)):
        with pytest.raises(InputError, match=r"takes float32 \('batch', 3, 2, 2\), not"):
            f(x)


@pytest.mark.parametrize("keep", [0, 10, -20])
def test_a_truncated_onnx_file_is_refused(keep, tmp_path):
    path = linear_onnx(tmp_path / "m.onnx", ["n", 3, 2, 2])
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"m.onnx: (not an ONNX model, or damaged|has 0 inputs)"):
        open_model(str(path))


def test_a_missing_onnx_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_model(str(tmp_path / "none.onnx"))


def test_weights_in_another_file_count_in_the_hash_and_may_not_lie_elsewhere(tmp_path):
    path = linear_onnx(tmp_path / "m.onnx", ["n", 3, 2, 2])
    model = onnx.load(str(path))
    onnx.save(model, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    one = open_model(str(path)).about["sha256"]
    weights = bytearray((tmp_path / "w.bin").read_bytes())
    weights[3] ^= 1
    (tmp_path / "w.bin").write_bytes(weights)
    assert open_model(str(path)).about["sha256"] != one
    data = path.read_bytes()
    assert b"w.bin" in data
    path.write_bytes(data.replace(b"w.bin", b"../ww"))
    with pytest.raises(InputError, match=r"wants its weights from \.\./ww, which is refused"):
        open_model(str(path))


def test_without_onnxruntime_the_extra_is_named(tmp_path, monkeypatch):
    path = linear_onnx(tmp_path / "m.onnx", ["n", 3, 2, 2])
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"onnxruntime is not installed: pip install 'smoothcert\[onnx\]'"):
        open_model(str(path))


@exporting
@pytest.mark.parametrize("name", ["lenet", "cifar_resnet8"])
def test_an_exported_network_predicts_the_same_and_carries_its_description(name, tmp_path):
    f = build(name, 10)
    agreement = export_onnx(f, tmp_path / "m.onnx", {"name": name})
    assert agreement.images == 16 and agreement.max_difference <= 1e-4 * agreement.max_logit
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]
    opened = open_model(str(tmp_path / "m.onnx"))
    assert (opened.num_classes, opened.input_shape) == (10, f.input_shape)
    x = torch.rand(5, *f.input_shape)
    with torch.inference_mode():
        torch.testing.assert_close(opened.f(x), f.eval()(x), rtol=1e-4, atol=1e-5)
    metadata = {p.key: p.value for p in onnx.load(str(tmp_path / "m.onnx")).metadata_props}
    assert json.loads(metadata["smoothcert"])["name"] == name
    assert "channels-last" in json.loads(metadata["smoothcert"])["variant"]


class Unexportable(nn.Module):
    input_shape = (3, 2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) if x.sum() > 0 else -x.flatten(1)  # which way, no graph can say


@exporting
def test_a_network_that_cannot_be_exported_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="this network cannot be exported to ONNX") as error:
        export_onnx(Unexportable(), tmp_path / "m.onnx", {})
    assert "\n" not in str(error.value) and list(tmp_path.iterdir()) == []


@exporting
def test_an_export_that_computes_something_else_is_refused_and_leaves_nothing(tmp_path, monkeypatch):
    import smoothcert.interchange.export as module

    class Off(module.OnnxModel):
        def __call__(self, x: Tensor) -> Tensor:
            return super().__call__(x) * 1.001

    monkeypatch.setattr(module, "OnnxModel", Off)
    with pytest.raises(InputError, match=r"m.onnx: not exported: its logits differ by"):
        export_onnx(build("lenet", 10), tmp_path / "m.onnx", {})
    assert list(tmp_path.iterdir()) == []


def test_exported_safetensors_give_the_same_bits(tmp_path):
    f = build("cifar_resnet8", 10)
    about: dict[str, Any] = {"name": "cifar_resnet8"}
    assert export_safetensors(f, tmp_path / "m.safetensors", about).max_difference == 0
    weights, found = load_weights(tmp_path / "m.safetensors")
    assert found == about and weights.keys() == f.state_dict().keys()


def test_exported_safetensors_with_other_weights_are_refused(tmp_path, monkeypatch):
    import smoothcert.interchange.export as module

    def save_wrong(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        real(path, {key: value + (key == "fc2.bias") for key, value in tensors.items()}, about)

    real = module.save_weights
    monkeypatch.setattr(module, "save_weights", save_wrong)
    with pytest.raises(InputError, match="its logits differ by 1"):
        export_safetensors(build("lenet", 10), tmp_path / "m.safetensors", {})
