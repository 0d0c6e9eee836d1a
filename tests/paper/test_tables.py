"""The printed tables as the package carries them."""

import re
from importlib import resources
from pathlib import Path

import pytest

from smoothcert import paper
from smoothcert.errors import InputError

PRINTED = Path(__file__).parents[3] / "shared" / "paper"
ROWS = {1: 22, 2: 6, 4: 12, 6: 18, 7: 18, 8: 9, 9: 9, 10: 9, 11: 15}


@pytest.mark.skipif(not PRINTED.is_dir(), reason="the printed tables (../shared/paper) are not here")
@pytest.mark.parametrize("name", paper.TABLES.values())
def test_the_package_carries_the_tables_cell_for_cell_and_adds_the_recipes(name):
    ours = (resources.files("smoothcert.paper") / "tables" / name).read_text().splitlines()
    assert [line.rpartition(",")[0] for line in ours] == (PRINTED / name).read_text().splitlines()


def test_every_row_is_read():
    assert {table: len(paper.rows(table)) for table in ROWS} == ROWS
    assert len(paper.rows()) == sum(ROWS.values())
    assert len({row.name for row in paper.rows()}) == len(paper.rows())


@pytest.mark.parametrize("row", paper.rows(), ids=lambda row: row.name)
def test_a_row_is_complete_and_found_by_its_name(row):
    assert paper.find_row(row.name) is row
    assert row.sigma in (0.25, 0.5, 1.0) and 0 < row.acr < 2
    assert (row.acr_sd is None) == (row.table != 7) == bool(row.accuracy)
    assert list(dict(row.accuracy)) == sorted(dict(row.accuracy)) and all(0 <= p <= 100 for _, p in row.accuracy)
    if row.accuracy:  # a printed accuracy falls with the radius
        values = [p for _, p in row.accuracy]
        assert values == sorted(values, reverse=True)


def test_cells_come_out_as_printed():
    row = paper.find_row("6:8")
    assert (row.sigma, row.recipes) == (0.5, ("mnist/consistency/0.50",))
    assert row.acr == 1.657 and dict(row.accuracy)[1.75] == 60.5
    assert row.title == "table 6, Gaussian + Consistency (λ=5), σ=0.50"
    assert paper.find_row("11:5").recipes == tuple(f"cifar10/stability-lbd{lbd}/0.25" for lbd in (5, 10, 20))
    assert (paper.find_row("9:5").recipes, paper.find_row("9:5").acr) == (("ablation/m/4/0.50",), 1.666)
    row = paper.find_row("7:5")
    assert (row.acr, row.acr_sd, row.sigma) == (1.6549, 0.0011, 0.5)
    assert row.recipes == ("mnist/consistency/0.50",)
    assert paper.find_row("8:5").printed == "KL-divergence (lambda=5)" and paper.find_row("10:1").printed == "Gaussian"
    assert paper.find_row("4:8").sigma == 0.5 and paper.find_row("2:5").digits == 0


def test_costs_and_attack_settings_are_those_of_tables_3_and_5():
    assert [(c.hyperparameters, c.hours) for c in paper.costs()] == [(None, 4.6), (2, 8.7), (4, 23.1), (4, 14.1)]
    assert [(s.epsilon, s.m) for s in paper.attack_settings()] == [(255, 4), (512, 2), (512, 2), (255, 1), (512, 1)]


@pytest.mark.parametrize("name", ["6", "6:0", "6:19", "12:1", "3:1", "x:y", "6:8:1", "-1:2"])
def test_what_is_not_a_row_is_refused(name):
    with pytest.raises(InputError, match=r"table|TABLE"):
        paper.find_row(name)


def test_the_paper_uses_nothing_of_ours():
    for file in (Path(paper.__file__).parent).glob("*.py"):
        used = set(re.findall(r"smoothcert\.(\w+)", file.read_text()))
        assert used <= {"paper", "errors"}
