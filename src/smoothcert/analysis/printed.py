"""Which printed rows a log belongs to."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from smoothcert.analysis.results import Results
from smoothcert.analysis.setting import Setting, recipe_setting, setting_of
from smoothcert.paper import Row, rows
from smoothcert.recipes import find_recipe


def rows_for(results: Results) -> tuple[Row, ...]:
    """The printed rows whose recipe has this log's data set, network, method, σ, λ and m; none where one is unknown.

    A TSV log that does not state m or η is taken to have the row's.
    """
    s = replace(setting_of(results), run=None)

    def fits(r: Setting) -> bool:
        return s == replace(r, m=s.m and r.m, eta=None if s.eta is None else r.eta)

    return tuple(row for row in rows() if any(map(fits, _settings(row))))


@cache
def _settings(row: Row) -> tuple[Setting, ...]:
    return tuple(recipe_setting(find_recipe(name), row.sigma) for name in row.recipes)
