from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from smoothcert.errors import InputError
from smoothcert.interchange.foreign_model import open_model
from smoothcert.interchange.weights import digest

SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    input_shape = (3, 8, 8)
    def __init__(self, classes=5):
        super().__init__()
        self.linear = nn.Linear(192, classes)
        self.drop = nn.Dropout()
    def forward(self, x):
        return self.drop(self.linear(x.flatten(1)))

made = Net()
shapeless = lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 5))
def needs(argument): ...
def number(): return 3
def fails(): raise RuntimeError("no\\nweights")
def flat(): return nn.Flatten()
def wrong(): return nn.Linear(3, 3)
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's in the current folder."""
    (tmp_path / "mine_for_smoothcert.py").write_text(SOURCE)
    (tmp_path / "broken_for_smoothcert.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "mine_for_smoothcert"
    sys.modules.pop("mine_for_smoothcert", None)


@pytest.mark.parametrize("name", ["Net", "made"])
def test_a_class_or_a_module_by_dotted_path(mine, name):
    opened = open_model(f"{mine}:{name}")
    assert (opened.num_classes, opened.input_shape, opened.f.variant) == (5, (3, 8, 8), "as given")
    assert opened.about["name"] == f"{mine}:{name}"
    assert opened.about["sha256"] == digest(opened.f.f.state_dict())
    x = torch.rand(4, 3, 8, 8)
    assert torch.equal(opened.f(x), opened.f.f.linear(x.flatten(1)))  # dropout is off


def test_what_a_module_does_not_say_is_asked_for(mine):
    with pytest.raises(InputError, match="does not say its input shape: give it with --input-shape"):
        open_model(f"{mine}:shapeless")
    assert open_model(f"{mine}:shapeless", input_shape=(3, 8, 8)).num_classes == 5


@pytest.mark.parametrize(
    ("spec", "arguments", "message"),
    [
        ("mine_for_smoothcert:Nett", {}, "has no Nett: did you mean Net"),
        ("mine_for_smoothcert:needs", {}, r"calling needs\(\) raised TypeError"),
        ("mine_for_smoothcert:number", {}, "returned a int, not a torch.nn.Module"),
        ("mine_for_smoothcert:fails", {}, "raised RuntimeError: no weights"),
        ("mine_for_smoothcert:Net", {"num_classes": 10}, "has 5 classes, not 10"),
        ("mine_for_smoothcert:Net", {"input_shape": (3, 32, 32)}, r"takes images of \(3, 8, 8\), not \(3, 32, 32\)"),
        ("mine_for_smoothcert:wrong", {"input_shape": (3, 8, 8)}, r"fails on images of \(3, 8, 8\): RuntimeError"),
        ("mine_for_smoothcert:wrong", {"input_shape": (3, 3)}, r"gives \(2, 3, 3\) for 2 images"),
        ("mine_for_smoothcert:flat", {"input_shape": (1,)}, r"gives \(2, 1\) for 2 images"),
        ("broken_for_smoothcert:Net", {}, "importing broken_for_smoothcert raised ZeroDivisionError"),
        ("no_such_module_at_all:Net", {}, "cannot import no_such_module_at_all: no module named no_such_module"),
        ("nothing", {}, "not a run, and not one of FILE.onnx"),
        (":Net", {}, "not of the form package.module:factory"),
    ],
)  # fmt: skip
def test_a_factory_that_cannot_be_used_is_explained_in_one_line(mine, spec, arguments, message):
    with pytest.raises(InputError, match=message) as error:
        open_model(spec, **arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("spec", "extra"), [("timm:resnet18", "timm"), ("torchvision:resnet18", "vision")])
def test_an_absent_library_is_named_with_its_extra(spec, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, spec.split(":")[0], None)
    with pytest.raises(InputError, match=rf"is not installed: pip install 'smoothcert\[{extra}\]'"):
        open_model(spec)


def fake(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


class Tiny(nn.Sequential):
    pretrained_cfg: ClassVar[dict[str, Any]] = {
        "mean": (0.5, 0.5, 0.5),
        "std": (0.25, 0.25, 0.25),
        "input_size": (3, 4, 4),
    }


@pytest.fixture
def tiny() -> Tiny:
    return Tiny(nn.Flatten(), nn.Linear(48, 7)).eval()


def test_timm_models_take_images_in_the_unit_range(tiny, monkeypatch):
    def create_model(name: str, pretrained: bool) -> nn.Module:
        assert (name, pretrained) == ("tiny", True)
        return tiny

    fake(monkeypatch, "timm", create_model=create_model)
    opened = open_model("timm:tiny")
    assert (opened.num_classes, opened.input_shape) == (7, (3, 4, 4))
    x = torch.rand(2, 3, 4, 4)
    assert torch.equal(opened.f(x), tiny((x - 0.5) / 0.25))


def test_torchvision_models_take_images_in_the_unit_range(tiny, monkeypatch):
    transform = SimpleNamespace(mean=[0.5] * 3, std=[0.25] * 3, crop_size=[4])
    weights = SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: transform))
    fake(monkeypatch, "torchvision")
    members = {"get_model": lambda name, weights: tiny, "get_model_weights": lambda name: weights}
    fake(monkeypatch, "torchvision.models", **members)
    opened = open_model("torchvision:tiny")
    assert (opened.num_classes, opened.input_shape) == (7, (3, 4, 4))
    x = torch.rand(2, 3, 4, 4)
    assert torch.equal(opened.f(x), tiny((x - 0.5) / 0.25))


def test_a_library_that_fails_is_quoted(monkeypatch):
    def create_model(name: str, pretrained: bool) -> nn.Module:
        raise RuntimeError(f"Unknown model ({name})")

    fake(monkeypatch, "timm", create_model=create_model)
    with pytest.raises(InputError, match=r"timm:nonsense: RuntimeError: Unknown model \(nonsense\)"):
        open_model("timm:nonsense")


def test_a_library_that_does_not_start_is_quoted(tmp_path, monkeypatch):
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("raise RuntimeError('operator nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    with pytest.raises(InputError, match="installed but cannot be imported: RuntimeError: operator nms"):
        open_model("torchvision:resnet18")
