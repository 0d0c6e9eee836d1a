"""A report with everything in it, some of it hostile."""

import io
from dataclasses import replace

import numpy as np
from PIL import Image

from smoothcert.analysis import read_results
from smoothcert.recipes import RECIPES, to_dict
from smoothcert.report.entry import Entry, gallery_images
from smoothcert.report.page import render
from tests.analysis.made import random_results, write_log

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">{{ 7*7 }}"
RECIPE = to_dict(RECIPES["mnist/gaussian/0.50"])
TRAINING = [
    {"epoch": e, "lr": 0.01, "loss": 2 / e, "test_noisy_accuracy": 1 - 0.5 / e, "seconds": 60} for e in (1, 2, 3)
]


def picture(seed):
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (8, 8), np.uint8)).save(out, "PNG")
    return out.getvalue()


def entries(folder, images=120):
    """A reduced run that is not finished and has all there can be; one of a hostile name; and a TSV log."""
    about = {"recipe": RECIPE, "n": 1000}
    run = read_results(
        write_log(folder / "run.jsonl", random_results(images, name="run"), **about, selected=images + 9)
    )
    hostile = read_results(write_log(folder / "evil.jsonl", random_results(images, seed=1, name=HOSTILE), votes=False))
    tsv = random_results(images, seed=2, name="mnist_consistency_lambda5_sigma0.50", about={})
    tsv = replace(tsv, radius=2 * tsv.radius)  # so that the table of accuracies is wide
    pictures = {index: picture(index) for index in gallery_images(run)}
    return [Entry(run, TRAINING, 0, pictures), Entry(hostile), Entry(tsv)]


def write_page(folder, **options):
    path = folder / "report.html"
    path.write_text(render(entries(folder, **options)), encoding="utf-8")
    return path
