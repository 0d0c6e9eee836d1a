"""The most arithmetic this machine does, float32 and bfloat16: what votes and training steps are a share of."""

from __future__ import annotations

from collections.abc import Callable

import torch

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def products(precision: str) -> dict[str, tuple[Callable[[], object], float]]:
    """Name → (a call, its GFLOP): a product of matrices, and a 3×3 convolution forward."""
    kind, n = TYPES[precision], 2048
    a, b = torch.rand(n, n, dtype=kind), torch.rand(n, n, dtype=kind)
    x = torch.rand(64, 256, 16, 16, dtype=kind).contiguous(memory_format=torch.channels_last)
    layer = torch.nn.Conv2d(256, 256, 3, padding=1, bias=False).to(kind, memory_format=torch.channels_last)
    layer.requires_grad_(False)
    return {
        "product of matrices": (lambda: a @ b, 2e-9 * n**3),
        "3×3 convolution": (lambda: layer(x), 2e-9 * x.numel() * layer.weight[0].numel()),
    }


def multiplications(f: torch.nn.Module, shape: tuple[int, ...]) -> int:
    """Of one image's forward pass, in convolutions and linear layers."""
    count = [0]

    def add(module: torch.nn.Module, inputs: object, output: torch.Tensor) -> None:
        count[0] += output[0].numel() * module.weight[0].numel()  # type: ignore[union-attr,operator,index]

    layers = [m for m in f.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    hooks = [layer.register_forward_hook(add) for layer in layers]
    mode = f.training
    with torch.inference_mode():
        f.eval()(torch.rand(1, *shape))
    f.train(mode)
    for hook in hooks:
        hook.remove()
    return count[0]
