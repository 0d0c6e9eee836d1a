"""bfloat16, Muon, averaged weights: each is what it says, and keeps what the loop promises."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.training.together import images
from torch import nn

from smoothcert.attacks import PGD
from smoothcert.certification.target import open_target
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.machine import precision as machine_precision
from smoothcert.models import build
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes import LinearDecay, Muon, Recipe, Trapezoid, from_dict, override, to_dict, to_toml
from smoothcert.recipes.recipe_file import read_recipe
from smoothcert.records.run_folder import RunFolder
from smoothcert.records.training_log import read_training_log
from smoothcert.training import loop
from smoothcert.training.build_network import build_network
from smoothcert.training.learner import Learner, in_precision
from smoothcert.training.loop import train_on, watch
from smoothcert.training.optimizer import Optimizers, as_matrix, as_parameter

CPU = torch.device("cpu")
VIEWS = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(1.0)), m=2)
ATTACKED = replace(VIEWS, attack=PGD(0.5, steps=1))
PLAIN = Recipe("fake", "lenet", VIEWS, epochs=2, lr=0.01, schedule=LinearDecay(), batch=64)
WIDE = Recipe(
    "tiny", "cifar_wide25", replace(VIEWS, ramp=0.5), epochs=2, lr=0.05, schedule=Trapezoid(up=0.2, down=0.8, last=0.1),
    batch=16, muon=Muon(lr=0.1), ema=0.9, precision="bfloat16",
)  # fmt: skip
MODES = {
    "adam": replace(PLAIN, lr=0.001, nesterov=False, second_moment=0.99),
    "bfloat16": replace(PLAIN, precision="bfloat16"),
    "bfloat16, attacked": replace(PLAIN, objective=ATTACKED, precision="bfloat16", epochs=1),
    "muon": replace(PLAIN, muon=Muon(lr=0.02, weight_decay=0.1)),
    "muon and adam": replace(PLAIN, muon=Muon(lr=0.02, head=True, fixed_norm=True), nesterov=False, second_moment=0.99),
    "average": replace(PLAIN, ema=0.9),
    "all": WIDE,
}


def run(folder: Path, recipe: Recipe, stop_after: int | None = None) -> str:
    sets = (load("fake", "train"), load("fake", "test"))
    if recipe.data == "tiny":
        sets = (images(recipe, "train"), images(recipe, "test"))
    for number, _ in enumerate(train_on(recipe, folder, *sets, CPU), 1):
        if number == stop_after:
            return ""
    return digest(load_weights(RunFolder(folder).model)[0])


@pytest.mark.parametrize("mode", MODES)
def test_an_interrupted_run_ends_with_the_same_weights(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(loop, "_SHARE_OF_TIME_FOR_CHECKPOINTS", 1e9)
    for stop in (3, 1, 2):
        run(tmp_path / "stopped", MODES[mode], stop)
    assert run(tmp_path / "stopped", MODES[mode]) == run(tmp_path / "whole", MODES[mode])


@pytest.mark.parametrize("mode", ["average", "all"])
def test_what_is_tested_and_kept_is_the_average_in_the_recipes_precision(mode: str, tmp_path: Path) -> None:
    """The last line would differ if the file rounded anything that the tested network does not round."""
    recipe = MODES[mode]
    run(tmp_path, recipe)
    folder = RunFolder(tmp_path)
    weights, about = load_weights(folder.model)
    last, _ = load_weights(folder.checkpoint)
    assert about["weights"] == "exponential moving average, decay 0.9 per step"
    for name, tensor in weights.items():
        assert torch.equal(tensor, last[f"average.module.{name}"].to(tensor.dtype))
    rounded = {name for name, tensor in weights.items() if tensor.dtype == torch.bfloat16}
    assert rounded == {n for n, t in weights.items() if t.ndim >= 2 and recipe.precision == "bfloat16"}
    assert any(not torch.equal(tensor, last[f"model.{name}"]) for name, tensor in weights.items())
    f = build_network(recipe, 10)
    f.load_state_dict(weights)
    f = in_precision(f.to(memory_format=torch.channels_last), recipe.precision)  # type: ignore[call-overload]
    test_set = images(recipe, "test") if recipe.data == "tiny" else load("fake", "test")
    row = read_training_log(folder.training_log)[-1]
    seen = watch(recipe, recipe.objective, f, test_set, recipe.epochs - 1, CPU)
    assert {"test_noisy_accuracy": row["test_noisy_accuracy"]} == seen


def test_a_run_of_all_modes_is_certified_as_any_other(tmp_path: Path) -> None:
    run(tmp_path, WIDE)
    target = open_target(tmp_path, device="cpu")
    certificate = target.smoothed(0).certify(torch.full((3, 32, 32), 0.5), n0=10, n=50)
    assert sum(certificate.estimation) == 50
    assert target.about["recipe"]["precision"] == certificate.precision == "bfloat16"


def test_the_average_is_the_recursion_over_steps_statistics_included() -> None:
    torch.manual_seed(0)
    learner = Learner(replace(PLAIN, ema=0.7), nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)))
    expected: dict[str, torch.Tensor] = {}
    for _ in range(4):
        learner.f.zero_grad()
        learner.f(torch.rand(3, 1, 5, 5)).square().mean().backward()
        learner.step(0.5)
        for name, tensor in learner.f.state_dict().items():
            if tensor.is_floating_point():
                before = expected.get(name, tensor.double())  # the first step's weights begin it
                expected[name] = 0.7 * before + 0.3 * tensor.double()
    found = learner.kept.state_dict()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name].double(), tensor, rtol=1e-5, atol=1e-7)
    assert not torch.equal(found["1.running_var"], learner.f.state_dict()["1.running_var"])


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_filters_are_matrices_in_the_same_memory(layout: torch.memory_format) -> None:
    p = torch.randn(6, 4, 3, 3).to(memory_format=layout)
    matrix = as_matrix(p, p)
    assert matrix.shape == (6, 36) and matrix.data_ptr() == p.data_ptr()
    assert torch.equal(as_parameter(matrix, p), p) and as_parameter(matrix, p).stride() == p.stride()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_muon_is_torchs_own_on_filters_seen_as_matrices(layout: torch.memory_format) -> None:
    torch.manual_seed(0)
    f = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 8, 3), nn.Flatten(), nn.Linear(8, 2))
    f = f.to(memory_format=layout)  # type: ignore[call-overload]
    recipe = replace(PLAIN, muon=Muon(0.1, momentum=0.8, weight_decay=0.2, stem=False))
    before = {name: p.detach().clone() for name, p in f.named_parameters()}
    twin = nn.Parameter(before["1.weight"].contiguous().flatten(1))
    optimizers, torchs = Optimizers(recipe, f), torch.optim.Muon([twin], 0.05, 0.2, 0.8)
    rest = {name: nn.Parameter(t.clone()) for name, t in before.items() if name != "1.weight"}
    sgd = torch.optim.SGD(rest.values(), 0.005, recipe.momentum, 0.0, recipe.weight_decay, True)
    for _ in range(3):
        f.zero_grad()
        f(torch.rand(5, 3, 5, 5)).square().sum().backward()
        gradients = {name: p.grad.clone() for name, p in f.named_parameters() if p.grad is not None}
        twin.grad = gradients["1.weight"].contiguous().flatten(1)
        for name, p in rest.items():
            p.grad = gradients[name]
        optimizers.step(0.5)
        torchs.step()
        sgd.step()
    found = dict(f.named_parameters())
    # Another order of columns changes the order of sums, in bfloat16.
    torch.testing.assert_close(found["1.weight"].contiguous().flatten(1), twin, rtol=0, atol=0.003)
    for name, p in rest.items():
        torch.testing.assert_close(found[name], p)


def test_a_fixed_norm_is_kept() -> None:
    f = build("cifar_wide25", 10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizers = Optimizers(replace(WIDE, muon=Muon(0.1, fixed_norm=True)), f)
    f(torch.rand(4, 3, 32, 32)).square().sum().backward()
    optimizers.step(1.0)
    for module in f.modules():
        if isinstance(module, nn.Conv2d):
            assert float(module.weight.detach().norm()) == pytest.approx(module.out_channels**0.5, rel=1e-5)


def test_bfloat16_is_of_the_layers_and_of_nothing_else() -> None:
    torch.manual_seed(0)
    f = build("cifar_wide25", 10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    g = copy.deepcopy(f)
    seen: set[torch.dtype] = set()
    for module in f.modules():
        if isinstance(module, nn.Conv2d | nn.BatchNorm2d):
            module.register_forward_hook(lambda module, inputs, output: seen.add(output.dtype))
    x, y = torch.rand(8, 3, 32, 32), torch.arange(8)
    both = in_precision(f, "bfloat16"), in_precision(g, "float32")
    charges = [VIEWS(h, x, y, torch.Generator().manual_seed(1)) for h in both]
    for charge in charges:
        charge.loss.backward()
    assert seen == {torch.bfloat16}
    assert charges[0].logits.dtype == charges[0].loss.dtype == torch.float32
    assert {t.dtype for t in f.state_dict().values() if t.is_floating_point()} == {torch.float32}
    assert charges[0].loss.item() == pytest.approx(charges[1].loss.item(), rel=0.02)
    for p, q in zip(f.parameters(), g.parameters(), strict=True):
        assert p.grad is not None and q.grad is not None and p.grad.dtype == torch.float32
        # A ReLU or a maximum that flips moves a gradient by √(share of flips), which is far more than rounding does.
        assert float(nn.functional.cosine_similarity(p.grad.flatten(), q.grad.flatten(), 0)) > 0.9
    head = f.fc.weight.grad, g.fc.weight.grad  # behind it there is nothing to flip
    assert float((head[0] - head[1]).norm()) < 0.04 * float(head[1].norm())


def test_a_machine_without_bfloat16_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_precision, "computes_bfloat16", lambda device: False)
    images = load("fake", "train"), load("fake", "test")
    with pytest.raises(InputError, match=r"no bfloat16 instructions: .*--set precision=float32"):
        next(iter(train_on(MODES["bfloat16"], tmp_path, *images, CPU)))
    assert not list(tmp_path.glob("*.json"))
    monkeypatch.setenv(machine_precision.EMULATE, "1")
    next(iter(train_on(MODES["bfloat16"], tmp_path, *images, CPU)))


def test_every_mode_is_said_in_recipes_and_its_absence_is_not(tmp_path: Path) -> None:
    for recipe in MODES.values():
        assert from_dict(to_dict(recipe)) == recipe
        (tmp_path / "recipe.toml").write_text(to_toml(recipe))
        assert read_recipe(tmp_path / "recipe.toml") == recipe
    assert not to_dict(PLAIN).keys() & {"muon", "ema", "precision"} and "ramp" not in to_dict(PLAIN)["objective"]
    settings = ["precision=bfloat16", "ema=0.999", "muon={lr = 0.1}", "objective.ramp=3"]
    asked = override(PLAIN, settings)
    assert (asked.precision, asked.ema, asked.muon, asked.objective.ramp) == ("bfloat16", 0.999, Muon(0.1), 3.0)
    assert override(asked, ["muon.lr=0.2", "lr=0.3"]) == replace(asked, muon=Muon(0.2), lr=0.3)
    assert override(asked, ["precision=float32", "ema=none", "muon=none", "ramp=0"]) == PLAIN


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("precision=float16", "precision must be float32 or bfloat16"),
        ("ema=1", "ema must lie between 0 and 1"),
        ("muon=0.1", "recipe.muon must be a table, not 0.1"),
        ("muon={}", "recipe.muon: lr is missing"),
        ("muon={lr = 0.1, momentum = 1.0}", "muon: momentum must be at least 0 and below 1"),
        ("objective.ramp=-1", "ramp must be a number of epochs"),
    ],
)
def test_what_cannot_be_trained_is_refused(setting: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        override(PLAIN, [setting])


def test_weights_rise_over_the_ramp_within_epochs_too() -> None:
    objective = Objective(Gaussian(0.5), (CrossEntropy(), Consistency(10.0, 0.5)), 2, PGD(1.0, 2, warmup=4), ramp=2.5)
    weights = [objective.at(e).terms[1] for e in (0, 0.5, 1.25, 2.5, 9)]
    assert weights == [Consistency(lbd, lbd / 20) for lbd in (0.0, 2.0, 5.0, 10.0, 10.0)]
    assert [objective.at(e).attack for e in (0, 0.9, 1)] == [PGD(0.25, 2), PGD(0.25, 2), PGD(0.5, 2)]
    assert objective.at(1).ramp == 0


def test_a_trapezoid_is_one_cycle_or_flat_then_linear() -> None:
    cycle = Trapezoid(up=0.25, down=0.75, first=0.2, last=0.1)
    assert [cycle.factor(e, 8) for e in (0, 1, 2, 5, 8)] == pytest.approx([0.2, 0.6, 1.0, 0.55, 0.1])
    assert [Trapezoid(down=0.5).factor(e, 8) for e in (0, 4, 6, 8)] == pytest.approx([1, 1, 0.5, 0])
    assert [Trapezoid().factor(e, 8) for e in range(9)] == pytest.approx([LinearDecay().factor(e, 8) for e in range(9)])
    with pytest.raises(InputError, match="up \\+ down <= 1"):
        Trapezoid(up=0.6, down=0.6)
    with pytest.raises(InputError, match="between 0 and 1"):
        Trapezoid(last=2)
