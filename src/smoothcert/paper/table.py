"""tables/*.csv → rows."""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib import resources

from smoothcert.errors import InputError
from smoothcert.paper.row import Row

TABLES = {
    1: "table1_cifar10_resnet110.csv",
    2: "table2_imagenet_resnet50.csv",
    3: "table3_training_cost.csv",
    4: "table4_cifar10_architectures.csv",
    5: "table5_smoothadv_best_settings.csv",
    6: "table6_mnist_lenet.csv",
    7: "table7_mnist_five_seeds.csv",
    8: "table8_mnist_loss.csv",
    9: "table9_mnist_m.csv",
    10: "table10_mnist_lambda.csv",
    11: "table11_cifar10_stability.csv",
}
_WHERE = {2: ("imagenet", "imagenet_resnet50"), **dict.fromkeys((6, 7, 8, 9, 10), ("mnist", "lenet"))}
_NETWORKS = {"ResNet-20": "cifar_resnet20", "DenseNet-40": "cifar_densenet40"}
_METHODS = {
    "Gaussian": "gaussian",
    "Gaussian + Consistency": "consistency",
    "SmoothAdv": "smoothadv",
    "SmoothAdv + Hyperparameter search": "smoothadv-best",
    "SmoothAdv + Best HP (ResNet-110)": "smoothadv-best",
    "SmoothAdv + Consistency": "smoothadv+consistency",
    "Stability": "stability",
    "MACER": "macer",
    "MSE": "mse",
    "KL-divergence": "kl",
    "Cross-entropy": "cross-entropy",
}
_TWO_VIEWS = ("consistency", "mse", "kl", "cross-entropy")


@cache
def read_table(table: int) -> tuple[dict[str, str], ...]:
    """The cells as printed, by column."""
    if table not in TABLES:
        raise InputError(f"the paper has tables 1 to 11, not {table}")
    text = (resources.files("smoothcert.paper") / "tables" / TABLES[table]).read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


@cache
def rows(table: int | None = None) -> tuple[Row, ...]:
    """The rows of one table, or of all that print an ACR per row (all but 3 and 5)."""
    if table is None:
        return tuple(row for number in TABLES if number not in (3, 5) for row in rows(number))
    if table in (3, 5):
        raise InputError(f"table {table} prints no certified accuracies: see `costs` and `attack_settings`")
    if table == 7:
        return _five_seeds()
    return tuple(_row(table, number, cells) for number, cells in enumerate(read_table(table), 1))


def find(name: str) -> Row:
    """The row of that name, "6:8" being the eighth of table 6."""
    match = re.fullmatch(r"(\d{1,3}):(\d{1,3})", name)
    if not match:
        raise InputError(f"{name!r} is not TABLE:ROW, such as 6:8 for the eighth row of table 6")
    table, number = int(match[1]), int(match[2])
    listed = rows(table)
    if not 1 <= number <= len(listed):
        raise InputError(f"table {table} has rows 1 to {len(listed)}, not {number}")
    return listed[number - 1]


def _row(table: int, number: int, cells: dict[str, str]) -> Row:
    printed, lbd = _method(table, cells)
    dataset, network = _WHERE.get(table, ("cifar10", "cifar_resnet110"))
    method = _METHODS[re.sub(r" \(lambda=.*\)", "", printed)]
    radii = [key for key in cells if re.fullmatch(r"\d\.\d+", key)]
    return Row(
        table,
        number,
        dataset,
        _NETWORKS[cells["architecture"]] if table == 4 else network,
        method,
        printed,
        # Tables 4, 8 and 10 are of one σ, named in their captions.
        sigma=float(cells.get("sigma", 0.5 if table == 4 else 1.0)),
        acr=float(cells["acr"]),
        lbd=lbd,
        m=int(cells["m"]) if "m" in cells else 2 if method in _TWO_VIEWS else None,
        accuracy=tuple((float(r), float(cells[r])) for r in radii),
        digits=0 if table == 2 else 1,
    )


def _method(table: int, cells: dict[str, str]) -> tuple[str, tuple[float, ...]]:
    """Wording and λ; the ablations vary one thing and leave the rest of the name to their captions."""
    if table == 9:  # its rows m=2 are those of λ=5 in table 6
        return f"Gaussian + Consistency (lambda=5, m={cells['m']})", (5.0,)
    if table == 10 and float(cells["lambda"]) > 0:
        return f"Gaussian + Consistency (lambda={float(cells['lambda']):g})", (float(cells["lambda"]),)
    if table == 10:
        return "Gaussian", ()
    if table == 8:
        lbd = float(cells["lambda"])
        return (f"{cells['model']} (lambda={lbd:g})", (lbd,)) if lbd else (cells["model"], ())
    stated = re.search(r"lambda=([\d.,]+)", cells["method"])
    return cells["method"], tuple(map(float, stated[1].split(","))) if stated else ()


def _five_seeds() -> tuple[Row, ...]:
    """Table 7 has a column per σ; its λ are those of table 6."""
    found: list[Row] = []
    for cells in read_table(7):
        for column in ("sigma=0.25", "sigma=0.50", "sigma=1.00"):
            mean, _, deviation = cells[column].partition(" ± ")
            sigma, method = float(column[6:]), _METHODS[cells["method"]]
            twin = next(r for r in rows(6) if (r.method, r.sigma) == (method, sigma))
            found.append(
                Row(
                    7,
                    len(found) + 1,
                    "mnist",
                    "lenet",
                    method,
                    f"{cells['method']}, mean of five seeds",
                    sigma,
                    float(mean),
                    twin.lbd,
                    twin.m,
                    float(deviation),
                )
            )
    return tuple(found)
