from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.bomb import Bomb
from tests.models import plain
from torch import Tensor

from smoothcert.errors import InputError
from smoothcert.interchange.foreign_checkpoint import import_checkpoint
from smoothcert.interchange.foreign_model import open_model

torch.set_num_threads(1)  # threads that spin on a busy machine make these small networks ten times slower

CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
NETWORKS = {  # as the repositories call it: ours, layout, function, shape, mean and std
    "lenet": ("lenet", plain.lenet_layout(10), plain.lenet, (1, 28, 28), None),
    "cifar_resnet20": ("cifar_resnet20", plain.cifar_resnet_layout(20, 10), plain.cifar_resnet, (3, 32, 32), CIFAR10),
    "cifar_resnet110": (
        "cifar_resnet110", plain.cifar_resnet_layout(110, 10), plain.cifar_resnet, (3, 32, 32), CIFAR10,
    ),
    "cifar_densenet40": ("cifar_densenet40", plain.densenet40_layout(10), plain.densenet40, (3, 32, 32), CIFAR10),
    "resnet50": ("imagenet_resnet50", plain.resnet50_layout(1000), plain.resnet50, (3, 224, 224), IMAGENET),
}  # fmt: skip


def prefixed(prefix: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + key: value for key, value in state.items()}


def cohen(arch: str, state: dict[str, Tensor]) -> dict[str, Any]:
    """locuslab/smoothing and its descendants: nn.Sequential(normalise, network)."""
    optimizer = {"state": {0: {"momentum_buffer": torch.zeros(3)}}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    return {"epoch": 90, "arch": arch, "state_dict": prefixed("1.", state), "optimizer": optimizer}


def cohen_parallel(arch: str, state: dict[str, Tensor]) -> dict[str, Any]:
    """the same for ImageNet: nn.Sequential(normalise, nn.DataParallel(network))."""
    return {"epoch": 90, "arch": arch, "state_dict": prefixed("1.module.", state)}


def parallel_cohen(arch: str, state: dict[str, Tensor]) -> dict[str, Any]:
    return {"epoch": 90, "arch": arch, "state_dict": prefixed("module.1.", state)}


def macer(arch: str, state: dict[str, Tensor]) -> dict[str, Any]:
    """RuntianZ/macer: the bare network, no normalisation, no word about the architecture."""
    return {"net": state, "epoch": 440}


def macer_parallel(arch: str, state: dict[str, Tensor]) -> dict[str, Any]:
    return {"net": prefixed("module.", state), "epoch": 440}


def bare(arch: str, state: dict[str, Tensor]) -> dict[str, Any]:
    return dict(state)


def reference(arch: str, state: dict[str, Tensor], x: Tensor, kind: str) -> Tensor:
    _, _, function, _, constants = NETWORKS[arch]
    if constants and kind != "none":
        mean, std = (torch.tensor(c).view(3, 1, 1) for c in constants)
        x = x - mean if kind == "center" else (x - mean) / std
    return function(state, x)


def saved(path: Path, content: object, **options: Any) -> Path:
    torch.save(content, path, **options)
    return path


@pytest.mark.parametrize("arch", NETWORKS)
def test_every_network_with_foreign_weights_computes_the_same_bits(arch, tmp_path):
    ours, layout, _, shape, _ = NETWORKS[arch]
    state = plain.random_state(layout)
    write = cohen_parallel if arch == "resnet50" else cohen
    checkpoint = import_checkpoint(saved(tmp_path / "checkpoint.pth.tar", write(arch, state)))
    x = torch.rand(4, *shape, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = reference(arch, state, x, "standard")
        assert expected.std(0).min() > 1e-3  # the outputs depend on the image
        assert torch.equal(checkpoint.f(x), expected)
    assert checkpoint.about["name"] == ours and checkpoint.about["epoch"] == 90
    assert not checkpoint.f.training


@pytest.mark.parametrize(
    ("write", "arch", "asked", "kind", "source"),
    [
        (cohen, None, None, "standard", "assumed"),
        (cohen, None, "center", "center", "asked"),  # smoothing-adversarial
        (cohen, None, "none", "none", "asked"),
        (cohen_parallel, None, None, "standard", "assumed"),
        (parallel_cohen, None, None, "standard", "assumed"),
        (macer, "cifar_resnet20", None, "none", "assumed"),
        (macer_parallel, "cifar_resnet20", None, "none", "assumed"),
        (bare, "cifar_resnet20", "standard", "standard", "asked"),
    ],
)
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_every_format_loads_and_computes_the_same_bits(write, arch, asked, kind, source, zipped, tmp_path):
    state = plain.random_state(NETWORKS["cifar_resnet20"][1])
    path = saved(tmp_path / "c.pth", write("cifar_resnet20", state), _use_new_zipfile_serialization=zipped)
    checkpoint = import_checkpoint(path, arch, normalization=asked)
    x = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        assert torch.equal(checkpoint.f(x), reference("cifar_resnet20", state, x, kind))
    assert (checkpoint.about["normalization"], checkpoint.about["normalization_from"]) == (kind, source)


@pytest.mark.parametrize(
    ("constants", "kind"), [({"means": CIFAR10[0], "sds": CIFAR10[1]}, "standard"), ({"means": CIFAR10[0]}, "center")]
)
def test_a_normalisation_that_was_saved_is_believed(constants, kind, tmp_path):
    state = plain.random_state(NETWORKS["cifar_resnet20"][1])
    first = {f"0.{name}": torch.tensor(value) for name, value in constants.items()}
    path = saved(tmp_path / "c.pth", {"state_dict": {**first, **prefixed("1.", state)}})
    about = import_checkpoint(path, "cifar_resnet20").about
    assert (about["normalization"], about["normalization_from"]) == (kind, "file")
    with pytest.raises(InputError, match=f"its own normalization is {kind}, not none"):
        import_checkpoint(path, "cifar_resnet20", normalization="none")


def test_an_unknown_normalisation_is_not_guessed(tmp_path):
    state = plain.random_state(NETWORKS["cifar_resnet20"][1])
    path = saved(tmp_path / "c.pth", {"0.mean": torch.tensor([0.5, 0.5, 0.5]), **prefixed("1.", state)})
    with pytest.raises(InputError, match=r"its first layer \(mean\) is none of standard, center, none"):
        import_checkpoint(path, "cifar_resnet20")


def test_a_file_without_batch_counters_loads(tmp_path):
    state = plain.random_state(NETWORKS["cifar_resnet20"][1])
    old = {key: value for key, value in state.items() if "num_batches" not in key}
    assert import_checkpoint(saved(tmp_path / "c.pth", cohen("cifar_resnet20", old))).about["num_classes"] == 10


def test_loading_leaves_the_random_numbers_alone(tmp_path):
    path = saved(tmp_path / "c.pth", cohen("lenet", plain.random_state(plain.lenet_layout(10))))
    before = torch.get_rng_state()
    import_checkpoint(path)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_opened_checkpoint_is_the_folded_network_and_says_so(tmp_path):
    import hashlib

    state = plain.random_state(plain.cifar_resnet_layout(8, 4))
    path = saved(tmp_path / "c.pth.tar", cohen("cifar_resnet8", state))
    opened = open_model(str(path))
    assert (opened.num_classes, opened.input_shape) == (4, (3, 32, 32))
    assert opened.about["variant"] == opened.f.variant == "folded batch norm, channels-last"
    assert opened.about["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    x = torch.rand(4, 3, 32, 32)
    with torch.inference_mode():
        torch.testing.assert_close(opened.f(x), import_checkpoint(path).f(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("where", ["optimizer", "state_dict"])
def test_a_pickle_that_executes_is_refused_and_nothing_runs(zipped, where, tmp_path):
    content = cohen("lenet", plain.random_state(plain.lenet_layout(10)))
    content[where] = {"bomb": Bomb(tmp_path / "ran")}
    path = saved(tmp_path / "c.pth.tar", content, _use_new_zipfile_serialization=zipped)
    with pytest.raises(InputError, match=r"refused, and nothing in it was executed: its pickle asks for \w+.mkdir"):
        import_checkpoint(path)
    assert not (tmp_path / "ran").exists()


def test_a_whole_pickled_module_is_refused(tmp_path):
    path = saved(tmp_path / "c.pth", torch.nn.Linear(3, 2))
    with pytest.raises(InputError, match=r"--arch package\.module:factory, or save f with torch\.jit"):
        import_checkpoint(path, "lenet")


@pytest.mark.parametrize("keep", [0, 100, 5_000, -1])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_a_truncated_file_is_refused(keep, zipped, tmp_path):
    content = cohen("lenet", plain.random_state(plain.lenet_layout(10)))
    path = saved(tmp_path / "c.pth.tar", content, _use_new_zipfile_serialization=zipped)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"c.pth.tar: not a PyTorch checkpoint, or damaged") as error:
        import_checkpoint(path)
    assert "\n" not in str(error.value)


def resnet20(**changes: Any) -> dict[str, Any]:
    state = plain.random_state(plain.cifar_resnet_layout(20, 10))
    return {**cohen("cifar_resnet20", state), **changes}


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (resnet20(), {"arch": "cifar_resnet26"}, "not the weights of cifar_resnet26: it lacks layer1.3.conv1.weight"),
        (resnet20(), {"arch": "cifar_resnet14"}, "it has besides layer1.2.conv1.weight"),
        (resnet20(), {"arch": "imagenet_resnet50"}, r"another shape conv1.weight \(16, 3, 3, 3\) for \(64, 3, 7, 7\)"),
        (resnet20(), {"arch": "lenet"}, "it lacks conv1.bias, conv2.weight, conv2.bias and"),
        (resnet20(), {"arch": "cifar_resent20"}, "did you mean cifar_resnet20"),
        (resnet20(arch=None), {}, "does not say its architecture: name it with --arch"),
        (resnet20(arch="wide_resnet"), {}, "unknown architecture 'wide_resnet'"),
        (resnet20(), {"num_classes": 100}, "its last layer has 10 classes, not 100"),
        (resnet20(state_dict={"1.fc.weight": 3}), {}, "no state_dict of plain tensors"),
        (resnet20(state_dict={}), {}, "no state_dict of plain tensors"),
        ([1, 2], {}, "holds a list"),
        ({}, {"arch": "lenet"}, "its keys are none"),
        ({"a": torch.zeros(2)}, {"arch": "lenet"}, "no last layer"),
    ],
    ids=range(13),
)
def test_what_does_not_fit_is_named(content, arguments, message, tmp_path):
    path = saved(tmp_path / "c.pth", content)
    with pytest.raises(InputError, match=message) as error:
        import_checkpoint(path, **arguments)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_nan_weights_are_refused(tmp_path):
    content = resnet20()
    content["state_dict"]["1.layer2.0.bn1.bias"][3] = torch.nan
    with pytest.raises(InputError, match=r"NaN or infinite values in layer2.0.bn1.bias"):
        import_checkpoint(saved(tmp_path / "c.pth", content))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        import_checkpoint(tmp_path / "none.pth.tar")
