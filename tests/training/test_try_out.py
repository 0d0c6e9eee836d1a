"""What does not fit is said in one line before the run folder is touched."""

import pytest
import torch
from tests.own import PARTS, student_in

from smoothcert import train
from smoothcert.errors import InputError
from smoothcert.interchange.weights import load_weights
from smoothcert.recipes import find_recipe, override

PLAIN = find_recipe("mnist5k/gaussian/0.50")

MORE = """
class Shapeless(nn.Module):
    def forward(self, x):
        return x

class Five(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(784, 5))

class Wants3(nn.Sequential):
    def __init__(self, num_classes):
        super().__init__(nn.Flatten(), nn.Linear(3, num_classes))

class Normed(nn.Sequential):
    def __init__(self, num_classes):
        super().__init__(nn.Flatten(), nn.BatchNorm1d(784), nn.Linear(784, num_classes))

def with_width(width):
    return Net(width)

ready = Net(10)

@dataclass(frozen=True)
class Typo:
    def __call__(self, logits, y):
        return logits.softmx(-1)

@dataclass(frozen=True)
class Detached:
    def __call__(self, logits, y):
        return logits.detach().mean((0, 2))

@dataclass(frozen=True)
class Images:
    def __call__(self, logits, y):
        return logits.mean((0, 2))

@dataclass(frozen=True)
class LateTypo:
    def at(self, epoch):
        return Typo() if epoch else Margin()

    def __call__(self, logits, y): ...

@dataclass(frozen=True)
class Rising:
    def factor(self, epoch, epochs):
        return -1.0

@dataclass(frozen=True)
class Shrinks:
    def __call__(self, g, x, y, batch=None):
        return x[:, :, :3]

@dataclass(frozen=True)
class WithoutBatch:
    def __call__(self, g, x, y):
        return x
"""


@pytest.fixture
def student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with student_in(tmp_path) as student:
        student.write(PARTS + MORE)
        yield student


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model=cifar_resnet20"], "cifar_resnet20 takes images of 3×32×32, but those of fake are 1×28×28"),
        (["model=lenett"], "unknown model 'lenett': did you mean lenet"),
        (["data=fakee"], "unknown data set 'fakee'"),
        (["model={}:Nett"], "has no Nett: did you mean Net"),
        (["model={}:Shapeless"], r"gives \(2, 1, 28, 28\) for 2 images of fake; logits \(2, 10\) are needed"),
        (["model={}:Five"], r"gives \(2, 5\) for 2 images of fake; logits \(2, 10\) are needed"),
        (["model={}:Wants3"], r"Wants3 fails on two images: RuntimeError: mat1 and mat2 [^()]*\([^()]*\)$"),
        (["model={}:with_width"], r"calling with_width\(\) raised TypeError.*width"),
        (["model={}:ready"], "is a network already"),
        (["model={}:Margin"], r"Margin\(\) returned a Margin, not a torch.nn.Module"),
        (["model={}:Normed", "batch=319"], "one image .take another batch., fails: ValueError: Expected more than 1"),
        (["model={}:Net", "normalization=center"], "Net has no mean to subtract"),
        (['terms=[{{kind="{}:Typo"}}]'], r"AttributeError: 'Tensor' object has no attribute 'softmx'.*line \d+"),
        (['terms=[{{kind="{}:LateTypo"}}]'], "no attribute 'softmx'"),
        (['terms=[{{kind="{}:Detached"}}]'], "does not require grad"),
        (['terms=[{{kind="{}:Images"}}]'], "a term cannot be called images"),
        (['schedule={{kind="{}:Rising"}}'], r"the schedule's factor in epoch 0 is -1\.0"),
        (['attack={{kind="{}:Shrinks"}}'], "the recipe fails on two images: RuntimeError"),
        (['attack={{kind="{}:WithoutBatch"}}'], "unexpected keyword argument 'batch'"),
    ],
)
def test_a_misfit_leaves_no_folder_behind(student, tmp_path, settings, message):
    recipe = override(PLAIN, ["data=fake", "epochs=2", *(setting.format(student.module) for setting in settings)])
    with pytest.raises(InputError, match=message) as error:
        train(recipe, tmp_path / "run", device="cpu").finish()
    assert "\n" not in str(error.value) and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "setting",
    [
        'terms=[{{kind="{}:Margin"}}]',
        'attack={{kind="{}:Nudge", step=0.1}}',
        'noise={{kind="{}:Wide", b=0.3}}',
        'schedule={{kind="{}:Cosine"}}',
        "model={}:Net",
    ],
)
def test_each_kind_of_ones_own_trains_and_matters(student, tmp_path, setting):
    short = ["data=fake", "epochs=1", "batch=64"]
    for name, settings in (("plain", short), ("own", [*short, setting.format(student.module)])):
        train(override(PLAIN, settings), tmp_path / name, device="cpu").finish()
    plain, own = (load_weights(tmp_path / name / "model.safetensors")[0] for name in ("plain", "own"))
    assert plain.keys() != own.keys() or any(not torch.equal(plain[name], own[name]) for name in plain)


def test_trying_out_changes_nothing(student, tmp_path, monkeypatch):
    """The same weights as without it, batch norm's statistics and torch's generator included."""
    student.write(
        PARTS + "\ndef Net(num_classes):\n"
        "    return nn.Sequential(nn.BatchNorm2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(784, num_classes))\n"
    )
    recipe = override(PLAIN, ["data=fake", "epochs=1", f"model={student.module}:Net"])
    state = torch.get_rng_state()
    train(recipe, tmp_path / "tried", device="cpu").finish()
    assert torch.equal(torch.get_rng_state(), state)
    monkeypatch.setattr("smoothcert.training.loop.try_out", lambda *_: None)
    train(recipe, tmp_path / "not tried", device="cpu").finish()
    tried, other = (load_weights(tmp_path / name / "model.safetensors")[0] for name in ("tried", "not tried"))
    assert all(torch.equal(tried[name], other[name]) for name in other)
