"""Which recipe is which printed row: per table, the recipes' names (or aliases) in the order of print."""

from __future__ import annotations

from collections.abc import Iterator

_SIGMAS = ("0.25", "0.50", "1.00")
_METHODS = ("gaussian", "consistency", "smoothadv", "smoothadv+consistency", "stability", "macer")
_SMALL = ("gaussian", "consistency", "smoothadv", "smoothadv-best", "stability", "macer")

# A row that stands for several settings has several recipes.
TABLES: dict[int, tuple[str | tuple[str, ...], ...]] = {
    1: (
        "cifar10/gaussian/0.25",
        "cifar10/consistency-lbd10/0.25",
        "cifar10/consistency-lbd20/0.25",
        "cifar10/smoothadv/0.25",
        "cifar10/smoothadv+consistency/0.25",
        "cifar10/stability/0.25",
        "cifar10/macer/0.25",
        "cifar10/gaussian/0.50",
        "cifar10/consistency/0.50",
        "cifar10/smoothadv/0.50",
        "cifar10/smoothadv-best/0.50",
        "cifar10/smoothadv+consistency/0.50",
        "cifar10/stability/0.50",
        "cifar10/macer/0.50",
        "cifar10/gaussian/1.00",
        "cifar10/consistency-lbd5/1.00",
        "cifar10/consistency-lbd10/1.00",
        "cifar10/smoothadv/1.00",
        "cifar10/smoothadv-best/1.00",
        "cifar10/smoothadv+consistency/1.00",
        "cifar10/stability/1.00",
        "cifar10/macer/1.00",
    ),
    2: tuple(f"imagenet/{method}/{s}" for s in _SIGMAS[1:] for method in ("gaussian", "consistency", "smoothadv")),
    4: tuple(f"cifar10-{network}/{method}/0.50" for network in ("resnet20", "densenet40") for method in _SMALL),
    6: tuple(f"mnist/{method}/{s}" for s in _SIGMAS for method in _METHODS),
    7: tuple(f"mnist/{method}/{s}" for method in _METHODS for s in _SIGMAS),
    8: (
        "ablation/loss/gaussian",
        *(f"ablation/loss/{loss}/{lbd}" for loss in ("mse", "kl") for lbd in (5, 20, 50)),
        "ablation/loss/cross-entropy/5",
        "ablation/loss/cross-entropy/20",
    ),
    9: tuple(f"ablation/m/{m}/{s}" for s in _SIGMAS for m in (2, 4, 8)),
    10: tuple(f"ablation/lambda/{lbd}" for lbd in (0, 1, 5, 10, 15, 20, 25, 30, 50)),
    11: tuple(
        name
        for s in _SIGMAS
        for name in (
            f"cifar10/gaussian/{s}",
            f"cifar10/consistency/{s}",
            f"cifar10/stability-lbd1/{s}",
            f"cifar10/stability-lbd2/{s}",
            tuple(f"cifar10/stability-lbd{lbd}/{s}" for lbd in (5, 10, 20)),
        )
    ),
}


def links() -> Iterator[tuple[str, str]]:
    """(recipe's name or alias, TABLE:ROW) for every printed row, "6:8" being the eighth of table 6."""
    for table, rows in TABLES.items():
        for number, names in enumerate(rows, 1):
            for name in (names,) if isinstance(names, str) else names:
                yield name, f"{table}:{number}"
