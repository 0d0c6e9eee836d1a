"""All published logs: each cell of the matching printed row, in every format, to the printed digit."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from smoothcert.analysis import read_results, summarize
from smoothcert.analysis.tables import FORMATS
from smoothcert.paper import find

LOGS = Path(__file__).parents[3] / "shared" / "reference-logs"
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason="the published logs (../shared/reference-logs) are not here")
# Which row each belongs to: see the README beside them.
ROW_OF = {
    "mnist_gaussian_sigma1.00": "10:1",
    "mnist_consistency_lambda1_sigma1.00": "10:2",
    "mnist_consistency_lambda20_sigma1.00": "10:6",
    "mnist_consistency_lambda5_m4_sigma0.50": "9:5",
    "cifar10_resnet110_consistency_lambda10_sigma0.50": "1:9",
    "cifar10_resnet110_smoothadv_consistency_lambda1_sigma1.00": "1:20",
    "imagenet_resnet50_consistency_lambda5_sigma0.50": "2:2",
    "cifar10_resnet20_gaussian_sigma0.50": "4:1",
    "cifar10_resnet20_consistency_lambda10_sigma0.50": "4:2",
    "cifar10_resnet110_consistency_lambda20_sigma0.25": "1:3",
    "cifar10_resnet110_consistency_lambda10_sigma1.00": "1:17",
}


def test_all_logs_are_here():
    assert {file.name.removesuffix(".tsv.gz") for file in LOGS.glob("*.tsv.gz")} == set(ROW_OF)


def as_markdown(text):
    header, _, row = ([c.strip() for c in line.strip("|\n").split("|")] for line in text.splitlines())
    return dict(zip(header, row, strict=True))


def as_latex(text):
    header, row = (line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r"\\"))
    return dict(zip(header, row, strict=True))


def as_csv(text):
    (row,) = csv.DictReader(io.StringIO(text))
    percent = {k: f"{100 * float(v):.1f}" for k, v in row.items() if re.fullmatch(r"\d\.\d\d", k)}
    return {"ACR": f"{float(row['acr']):.3f}", **percent}


def as_json(text):
    (row,) = json.loads(text)
    percent = {f"{float(k):.2f}": f"{100 * v:.1f}" for k, v in row["certified_accuracy"].items()}
    return {"ACR": f"{row['acr']:.3f}", **percent}


READERS = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv, "json": as_json}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ROW_OF)
def test_every_cell_is_the_printed_one(name, format_):
    row = find(ROW_OF[name])
    summary = summarize(read_results(LOGS / f"{name}.tsv.gz"), [r for r, _ in row.accuracy])
    found = READERS[format_](FORMATS[format_]([summary]))
    assert found["ACR"] == f"{row.acr:.3f}"
    for radius, printed in row.accuracy:
        ours = found[f"{radius:.2f}"]
        # ImageNet's accuracies are printed without decimals, cut off: 34.8 became 34.
        assert (str(int(float(ours))) if row.digits == 0 else ours) == f"{printed:.{row.digits}f}", radius
