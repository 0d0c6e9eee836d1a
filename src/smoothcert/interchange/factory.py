"""Networks that somebody else's code builds: package.module:factory, timm:NAME, torchvision:NAME."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial

from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.shown import one_line
from smoothcert.files.source import imported, is_spec
from smoothcert.interchange.optional import optional
from smoothcert.models import build
from smoothcert.models.normalize import Normalize, renormalize


def from_factory(spec: str) -> nn.Module:
    """The nn.Module that `package.module:name` is, or returns when called without arguments.

    The module is imported, so its code runs: that is what was asked for.
    """
    if not is_spec(spec):
        raise InputError(f"{spec!r} is not of the form package.module:factory")
    made = imported(spec)
    return made if isinstance(made, nn.Module) else _called(spec, made)


def network_of(name: str) -> Callable[[int, str], nn.Module]:
    """What makes the named network of (classes, normalization): one of ours, or a factory `package.module:name`.

    A factory's module is imported now, so that whatever it draws does not change the weights of a seed. It is called
    with `num_classes` where it has an argument of this name.
    """
    if not is_spec(name):
        return partial(build, name)
    factory = imported(name)
    if isinstance(factory, nn.Module):
        raise InputError(f"{name}: is a network already: name the class or function that makes it, for every seed anew")

    def make(num_classes: int, normalization: str) -> nn.Module:
        given = {"num_classes": num_classes} if _takes_classes(factory) else {}
        return renormalize(_called(name, factory, **given), normalization)

    return make


def _takes_classes(factory: Callable[..., object]) -> bool:
    if getattr(factory, "__init__", None) is nn.Module.__init__:  # takes anything, and refuses it
        return False
    try:
        arguments = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False
    return "num_classes" in arguments or any(each.kind is each.VAR_KEYWORD for each in arguments.values())


def _called(spec: str, factory: Callable[..., object], **given: int) -> nn.Module:
    call = f"{spec.partition(':')[2]}({', '.join(f'{name}={value}' for name, value in given.items())})"
    try:
        made = factory(**given)
    except Exception as error:
        raise InputError(f"{spec}: calling {call} raised {one_line(error)}") from error
    if not isinstance(made, nn.Module):
        raise InputError(f"{spec}: {call} returned a {type(made).__name__}, not a torch.nn.Module")
    return made


def from_timm(name: str) -> nn.Module:
    """timm's network with its pretrained weights; timm fetches those that are not in its cache."""
    timm = optional("timm", "timm")
    try:
        f = timm.create_model(name, pretrained=True)
    except Exception as error:
        raise InputError(f"timm:{name}: {one_line(error)}") from error
    about = f.pretrained_cfg
    return Normalized(f, about["mean"], about["std"], tuple(about["input_size"]))


def from_torchvision(name: str) -> nn.Module:
    """torchvision's network with its default weights; torchvision fetches those that are not in its cache."""
    models = optional("torchvision.models", "vision")
    try:
        f = models.get_model(name, weights="DEFAULT")
        transform = models.get_model_weights(name).DEFAULT.transforms()
        mean, std, size = transform.mean, transform.std, transform.crop_size[0]
    except Exception as error:
        raise InputError(f"torchvision:{name}: {one_line(error)}") from error
    return Normalized(f, mean, std, (3, size, size))


class Normalized(nn.Module):
    """A network trained on normalised images, made into one of images in [0, 1]."""

    input_range = (0.0, 1.0)

    def __init__(
        self, network: nn.Module, mean: Sequence[float], std: Sequence[float], input_shape: tuple[int, ...]
    ) -> None:
        super().__init__()
        self.normalize = Normalize(mean, std)
        self.network = network
        self.input_shape: tuple[int, ...] = input_shape

    def forward(self, x: Tensor) -> Tensor:
        return self.network(self.normalize(x))
