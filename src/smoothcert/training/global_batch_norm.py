"""Batch norm over the batch of all processes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed, nn


class _SumOverProcesses(torch.autograd.Function):
    """y = Σ_r s_r on every process; ∂L/∂s_r = Σ_r' ∂L_r'/∂y, for each process holds its share L_r of the loss."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor) -> Tensor:
        total = numbers.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        distributed.all_reduce(total)
        return total


class GlobalBatchNorm2d(nn.BatchNorm2d):
    """(x − μ)/√(var + ε) γ + β with μ and var of all processes' images together.

    torch's own SyncBatchNorm refuses the CPU. The variance is taken about the mean in a second sum: E x² − (E x)² would
    lose its digits in float32. Sums are in the type of the statistics, float32 where x is bfloat16.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        kind, x = x.dtype, x.to(self.weight.dtype)
        images = (0, 2, 3)
        counted = torch.cat((x.sum(images), x.new_full((1,), x.numel() // x.shape[1])))
        counted = _SumOverProcesses.apply(counted)
        count = counted[-1].detach()
        centered = x - (counted[:-1] / count).view(1, -1, 1, 1)
        variance = _SumOverProcesses.apply(centered.square().sum(images)) / count
        self._remember((counted[:-1] / count).detach(), (variance * count / (count - 1)).detach())
        normal = centered * (variance + self.eps).rsqrt().view(1, -1, 1, 1)
        return (normal * self.weight.view(1, -1, 1, 1) + self.bias.view(1, -1, 1, 1)).to(kind)

    def _remember(self, mean: Tensor, unbiased_variance: Tensor) -> None:
        assert self.running_mean is not None and self.running_var is not None and self.momentum is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean, self.momentum)
        self.running_var.lerp_(unbiased_variance, self.momentum)


def with_global_batch_norm(f: nn.Module) -> nn.Module:
    """f itself, its batch norms made global; names and tensors of its state stay."""
    for module in f.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = GlobalBatchNorm2d
    return f
