"""A network in training: all that a step changes."""

from __future__ import annotations

from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from smoothcert.models.autocast import Autocast
from smoothcert.recipes import Recipe
from smoothcert.training.optimizer import Optimizers
from smoothcert.training.sample import Sample

_PARTS = ("model.", "optimizer.", "average.", "sampler.")


class Learner:
    """f, its optimisers, and what the recipe asks for besides: the average of its weights, the images it is shown."""

    def __init__(self, recipe: Recipe, f: nn.Module) -> None:
        self.f = f
        self.optimizers = Optimizers(recipe, f)
        # Batch-norm statistics are averaged too: the last ones are of weights that are not kept.
        self.average: AveragedModel | None = None
        if recipe.ema is not None:
            self.average = AveragedModel(f, multi_avg_fn=get_ema_multi_avg_fn(recipe.ema), use_buffers=True)
        self.sample: Sample | None = None
        """None: all images, as long as no sampler has looked at them"""
        self.trained = in_precision(f, recipe.precision)
        """f as training computes it"""
        self.tested = in_precision(self.kept, recipe.precision)

    @property
    def kept(self) -> nn.Module:
        """The network that is the result: the average where there is one."""
        return self.average.module if self.average else self.f

    def weights(self) -> dict[str, Tensor]:
        """What is written of the result: filters and matrices in bfloat16 where every pass has so rounded them."""
        rounded = self.trained is not self.f
        state = self.kept.state_dict()
        return {name: t.bfloat16() if rounded and t.ndim >= 2 else t for name, t in state.items()}

    def step(self, factor: float) -> None:
        """Along the gradients of f, at `factor` times the learning rates."""
        self.optimizers.step(factor)
        if self.average:
            self.average.update_parameters(self.f)

    def state(self) -> dict[str, Tensor]:
        """All that must be saved, by name."""
        average = self.average.state_dict() if self.average else {}
        sample = self.sample.state() if self.sample else {}
        parts = (self.f.state_dict(), self.optimizers.state(), average, sample)
        return {prefix + name: t for prefix, part in zip(_PARTS, parts, strict=True) for name, t in part.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        """What `state` gave; RuntimeError where names or shapes are others."""
        model, optimizer, average, sample = (
            {name.removeprefix(prefix): t for name, t in state.items() if name.startswith(prefix)} for prefix in _PARTS
        )
        known = sum(map(len, (model, optimizer, average, sample)))
        if known < len(state) or (average and not self.average) or not sample.keys() <= {"kept", "weights"}:
            raise RuntimeError("tensors of no known name")
        self.f.load_state_dict(model)
        if self.average:
            self.average.load_state_dict(average)
        self.optimizers.restore(optimizer)
        self.sample = Sample(**sample) if sample else None


def in_precision(f: nn.Module, precision: str) -> nn.Module:
    """f as the recipe's `precision` computes it; its parameters are f's own.

    Weights and batch-norm statistics stay in float32, and with them every loss and every step of an optimiser. Each
    pass casts the weights anew: a copy kept for the passes of an attack saves 1 to 3 % of them.
    """
    return Autocast(f) if precision == "bfloat16" else f
