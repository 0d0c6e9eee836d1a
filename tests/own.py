"""A student's file: a part of each kind, in one module of a name that no other test has."""

import importlib
import sys
import warnings
from contextlib import contextmanager
from itertools import count

import torch

NUMBERS = count()

PARTS = """
import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn


@dataclass(frozen=True)
class Margin:
    gap: float = 1.0

    def __call__(self, logits, y):
        right = logits.gather(-1, y.expand(len(logits), -1).unsqueeze(-1)).squeeze(-1)
        return (self.gap + logits.logsumexp(-1) - right).mean(0)


class Net(nn.Sequential):
    def __init__(self, num_classes):
        super().__init__(nn.Flatten(), nn.Dropout(0.2), nn.Linear(784, num_classes))


@dataclass(frozen=True)
class Cosine:
    least: float = 0.0
    turns: tuple[float, ...] = (1.0,)

    def factor(self, epoch, epochs):
        return max(self.least, (1 + math.cos(math.pi * epoch / epochs)) / 2)


@dataclass(frozen=True)
class Nudge:
    step: float

    def __call__(self, g, x, y, batch=None):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(-g(x).log_softmax(-1).mean(0)[torch.arange(len(y)), y].sum(), x)
        return (x + self.step * slope.sign()).detach()


@dataclass(frozen=True)
class Wide:
    b: float
    norm: ClassVar[float] = 1

    @property
    def scale(self):
        return self.b

    def fill(self, buffer, generator=None):
        sign = torch.empty_like(buffer).bernoulli_(0.5, generator=generator).mul_(2).sub_(1)
        return buffer.exponential_(1 / self.b, generator=generator).mul_(sign)

    def sample_like(self, x, generator=None):
        return self.fill(torch.empty_like(x), generator)

    def radius(self, p_a):
        return self.radius_from_error(1 - p_a)

    def radius_from_error(self, q_a):
        return max(0.0, -self.b * math.log(2 * q_a)) if q_a > 0 else math.inf
"""

RECIPE = """
data = "fake"
model = "{module}:Net"
epochs = 2
lr = 0.05
batch = 32
schedule = {{ kind = "{module}:Cosine" }}

[objective]
m = 2
noise = {{ kind = "gaussian", sigma = 0.5 }}

[[objective.terms]]
kind = "{module}:Margin"
gap = 0.5

[[objective.terms]]
kind = "consistency"
lbd = 1.0
"""


def traced(f, images):
    """A TorchScript program of f, such as people still have: torch calls it deprecated, once in a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.trace(f, images)


class Student:
    """A folder with a module and a recipe of it; `forget` makes this process one that never imported the module."""

    def __init__(self, folder):
        self.folder, self.module = folder, f"students_own_{next(NUMBERS)}"
        self.file, self.recipe = folder / f"{self.module}.py", folder / "mine.toml"
        self.write(PARTS)
        self.recipe.write_text(RECIPE.format(module=self.module))

    def write(self, source):
        self.file.write_text(source)
        self.forget()

    def forget(self):
        sys.modules.pop(self.module, None)
        importlib.invalidate_caches()

    @property
    def is_imported(self):
        return self.module in sys.modules


@contextmanager
def student_in(folder):
    path, bytecode = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a file that is changed twice in a second would be taken from its cache
    student = Student(folder)
    try:
        yield student
    finally:
        student.forget()
        sys.path[:], sys.dont_write_bytecode = path, bytecode
