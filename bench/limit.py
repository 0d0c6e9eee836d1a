"""The physical limit: how fast this machine multiplies, and how many products a vote needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from smoothcert.machine.precision import computes_bfloat16, instructions
from smoothcert.smoothed.votes import in_parallel

_SIDE = 1024  # of the matrices
_IMAGES, _CHANNELS, _PIXELS = 32, 256, 16  # a 3×3 convolution as large as those of wide networks


def products(dtype: torch.dtype) -> dict[str, tuple[Callable[[], object], float]]:
    """By name: something that every thread does once, and how many floating-point operations it is in all."""
    a = torch.randn(_SIDE, _SIDE).to(dtype)
    x = torch.randn(_IMAGES, _CHANNELS, _PIXELS, _PIXELS).to(dtype, memory_format=torch.channels_last)
    w = torch.randn(_CHANNELS, _CHANNELS, 3, 3).to(dtype, memory_format=torch.channels_last)
    threads = torch.get_num_threads()

    def each(product: Callable[[], Tensor]) -> Callable[[], object]:
        def run() -> None:
            with torch.inference_mode():
                in_parallel(lambda _worker: product(), threads, lambda: None)

        return run

    convolution = 2.0 * threads * _IMAGES * (_CHANNELS * _PIXELS * 3) ** 2
    return {
        "matrices": (each(lambda: a @ a), 2.0 * threads * _SIDE**3),
        "convolution": (each(lambda: torch.conv2d(x, w, padding=1)), convolution),
    }


def operations(network: nn.Module, shape: tuple[int, ...]) -> int:
    """Floating-point operations of a vote: two for each product of a convolution or linear layer."""
    total = 0

    def count(module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        total += 2 * output.numel() * module.weight[0].numel()

    layers = [m for m in network.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    with torch.inference_mode():
        network(torch.zeros(1, *shape))
    for hook in hooks:
        hook.remove()
    return total


def machine() -> dict[str, Any]:
    cpu = torch.backends.cpu.get_cpu_capability()
    return {
        "instructions": list(instructions()),
        "torch_uses": cpu,
        "bfloat16": computes_bfloat16(torch.device("cpu")),
    }
