"""Networks that somebody else's code builds: package.module:factory, timm:NAME, torchvision:NAME."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from smoothcert.errors import InputError
from smoothcert.files.python_name import imported
from smoothcert.interchange.optional import one_line, optional
from smoothcert.models.normalize import Normalize


def from_factory(spec: str) -> nn.Module:
    """The nn.Module that `package.module:name` is, or returns when called without arguments.

    The module is imported, so its code runs: that is what was asked for. The current folder is searched last.
    """
    made, attribute = imported(spec), spec.partition(":")[2]
    if not isinstance(made, nn.Module):
        try:
            made = made()
        except Exception as error:
            raise InputError(f"{spec}: calling {attribute}() raised {one_line(error)}") from error
    if not isinstance(made, nn.Module):
        raise InputError(f"{spec}: {attribute}() returned a {type(made).__name__}, not a torch.nn.Module")
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
