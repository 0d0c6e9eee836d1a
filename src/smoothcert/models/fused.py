"""Convolution, batch norm, addition and ReLU, in one pass over memory where nothing is trained."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_FEWEST = 16  # torch itself gives smaller float32 batches to another kernel, which sums in another order


def conv_norm_relu(conv: nn.Conv2d, norm: nn.Module, x: Tensor, added: Tensor | None = None) -> Tensor:
    """relu(norm(conv(x)) + added); `added` is overwritten.

    On a CPU, with batch norm folded and no gradient wanted, oneDNN adds and rectifies what it still holds in
    registers. In float32 the numbers are the same to the last bit; in bfloat16 the sum is rounded once instead of
    twice.
    """
    if not _fits(norm, x):
        y = norm(conv(x))
        if added is not None:
            y += added
        return y.relu_()
    weights = (conv.weight, conv.bias, conv.padding, conv.stride, conv.dilation, conv.groups)
    if added is None:
        found: Tensor = torch.ops.mkldnn._convolution_pointwise(x, *weights, "relu", [], "")
    else:
        binary = torch.ops.mkldnn._convolution_pointwise_.binary
        found = binary(added, x, *weights, "add", 1.0, "relu", [], "")
    return found


def _fits(norm: nn.Module, x: Tensor) -> bool:
    enough = len(x) >= _FEWEST if x.dtype == torch.float32 else x.dtype == torch.bfloat16 and len(x) > 0
    return (
        enough
        and isinstance(norm, nn.Identity)
        and x.device.type == "cpu"
        and not torch.is_grad_enabled()
        and torch.backends.mkldnn.is_available()
        and not torch.compiler.is_compiling()  # an exported network has no such layers
    )
