"""logs/*.csv.gz → what the authors certified, image by image, for the rows whose logs they published."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Published:
    """radius · 1[correct] of each test image, which is its part of the ACR: the mean over the authors' trainings.

    Their logs hold radii of three digits, to nearest; n = 100,000, α = 0.001.
    """

    seeds: int
    """trainings: five for the cells of table 7, else one"""
    index: NDArray[np.int64]
    label: NDArray[np.int64]
    contribution: NDArray[np.float64]


@cache
def published(recipe: str) -> Published | None:
    """Of the recipe of that name (no alias); None where no log was published.

    A file has a line for each of: seeds; every (certified was every so-manieth image); label of each image;
    thousandths, the image's radius · 1[correct] summed over the seeds.
    """
    file = resources.files("smoothcert.paper") / "logs" / file_name(recipe)
    if not file.is_file():
        return None
    lines = csv.reader(gzip.decompress(file.read_bytes()).decode().splitlines())
    columns = {name: np.array(values, np.int64) for name, *values in lines}
    seeds, every = int(columns["seeds"][0]), int(columns["every"][0])
    label = columns["label"]
    return Published(seeds, every * np.arange(len(label)), label, columns["thousandths"] / (1000 * seeds))


def file_name(recipe: str) -> str:
    return f"{recipe.replace('/', '-')}.csv.gz"
