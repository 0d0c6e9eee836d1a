"""tables/*.csv → rows. The last column, which is ours, names the recipes of each printed row."""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib import resources

from smoothcert.errors import InputError
from smoothcert.paper.row import AttackSetting, PrintedCost, Row

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
_SIGMA = {4: 0.5, 8: 1.0, 10: 1.0}  # tables of one σ, named in their captions


@cache
def read_table(table: int) -> tuple[dict[str, str], ...]:
    """The cells as printed, by column, and the recipes' names in the column `recipe`."""
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


def find_row(name: str) -> Row:
    """The row of that name, "6:8" being the eighth of table 6."""
    match = re.fullmatch(r"(\d{1,3}):(\d{1,3})", name)
    if not match:
        raise InputError(f"{name!r} is not TABLE:ROW, such as 6:8 for the eighth row of table 6")
    table, number = int(match[1]), int(match[2])
    listed = rows(table)
    if not 1 <= number <= len(listed):
        raise InputError(f"table {table} has rows 1 to {len(listed)}, not {number}")
    return listed[number - 1]


def costs() -> tuple[PrintedCost, ...]:
    """Table 3: what training costs."""
    return tuple(
        PrintedCost(
            c["method"],
            c["recipe"],
            int(c["hyperparameters"]) if c["hyperparameters"] else None,
            float(c["acr"]),
            c["memory"],
            float(c["time_hours"]),
        )
        for c in read_table(3)
    )


def attack_settings() -> tuple[AttackSetting, ...]:
    """Table 5: the best settings of SmoothAdv."""
    return tuple(
        AttackSetting(
            c["dataset"], float(c["sigma"]), c["method"], int(c["steps"]), int(c["epsilon"]), int(c["m"]), _recipes(c)
        )
        for c in read_table(5)
    )


def _recipes(cells: dict[str, str]) -> tuple[str, ...]:
    return tuple(cells["recipe"].split(";"))


def _row(table: int, number: int, cells: dict[str, str]) -> Row:
    radii = [key for key in cells if re.fullmatch(r"\d\.\d+", key)]
    return Row(
        table,
        number,
        _wording(table, cells),
        sigma=float(cells["sigma"]) if "sigma" in cells else _SIGMA[table],
        acr=float(cells["acr"]),
        recipes=_recipes(cells),
        accuracy=tuple((float(r), float(cells[r])) for r in radii),
        digits=0 if table == 2 else 1,
    )


def _wording(table: int, cells: dict[str, str]) -> str:
    """The ablations vary one thing and leave the rest of the name to their captions."""
    if table == 9:
        return f"Gaussian + Consistency (lambda=5, m={cells['m']})"
    if table not in (8, 10):
        return cells["method"]
    lbd = float(cells["lambda"])
    name = cells.get("model") or ("Gaussian + Consistency" if lbd else "Gaussian")
    return f"{name} (lambda={lbd:g})" if lbd else name


def _five_seeds() -> tuple[Row, ...]:
    """Table 7 has a column per σ, and so a `*` for it in the names of its recipes."""
    found: list[Row] = []
    for cells in read_table(7):
        for column in ("sigma=0.25", "sigma=0.50", "sigma=1.00"):
            mean, _, deviation = cells[column].partition(" ± ")
            wording, sigma = f"{cells['method']}, mean of five seeds", column.removeprefix("sigma=")
            recipes = tuple(name.replace("*", sigma) for name in _recipes(cells))
            found.append(Row(7, len(found) + 1, wording, float(sigma), float(mean), recipes, acr_sd=float(deviation)))
    return tuple(found)
