"""smoothcert data"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Data:
    """List the data sets and whether they are here, or fetch one (checked by MD5; nothing is ever fetched unasked)."""

    action: Positional[Literal["list", "fetch"]] = "list"
    """list, or fetch NAME"""
    name: Positional[str | None] = None
    """what to fetch"""
    data: Path | None = None
    """folder that holds data sets (else SMOOTHCERT_DATA, else ./data)"""
    mirror: str | None = None
    """fetch from this address instead of the data set's own"""

    def __call__(self) -> None:
        if self.action == "fetch":
            self._fetch()
        else:
            self._list()

    def _fetch(self) -> None:
        from smoothcert.data.fetch import FETCHABLE, fetch

        if self.name is None:
            raise InputError(f"fetch what? {' or '.join(FETCHABLE)}")
        for path, fresh in fetch(self.name, self.data, self.mirror):
            print(f"{path}  {'fetched' if fresh else 'was there'}")

    def _list(self) -> None:
        from smoothcert.cli.display import print_table
        from smoothcert.data import DATASETS, load

        rows = []
        for name in DATASETS:
            try:
                train, test = load(name, "train", self.data), load(name, "test", self.data)
                shape = "×".join(map(str, train.shape))
                rows.append([name, f"{len(train):,}", f"{len(test):,}", str(train.num_classes), shape, "here"])
            except InputError as error:
                rows.append([name, "–", "–", "–", "–", str(error)])
        print_table(["data set", "train", "test", "classes", "shape", "status"], rows)
