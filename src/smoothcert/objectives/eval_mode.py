"""eval_mode: the state in which an attack sees a network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def eval_mode(f: object) -> Iterator[None]:
    """f in eval mode, no weight asking for a gradient; afterwards everything is as before, also after an error.

    The mode is kept per submodule: a network may hold some layers in eval mode while others are trained. What
    is not a module has no mode to change, and passes through.
    """
    from torch import nn

    if not isinstance(f, nn.Module):
        yield
        return
    modes = [(module, module.training) for module in f.modules()]
    trained = [p for p in f.parameters() if p.requires_grad]
    try:
        f.eval()
        for p in trained:
            p.requires_grad_(False)
        yield
    finally:
        for p in trained:
            p.requires_grad_(True)
        for module, training in modes:
            module.training = training
