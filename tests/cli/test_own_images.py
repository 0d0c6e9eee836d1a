"""A security engineer's story: a model and pictures of one's own, certified, verified, audited, reported."""

import csv
import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from smoothcert.certification.certified import open_certified
from smoothcert.errors import InputError
from smoothcert.files.jsonl import decode, encode
from smoothcert.models import LeNet
from smoothcert.records.log import read_certification, write_log
from smoothcert.records.parts import read_whole
from tests.cli.running import fails, smoothcert
from tests.own import traced

FACTORY = """import torch
from torch import nn

def build():
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))

def colour():
    return nn.Sequential(nn.Flatten(), nn.Linear(192, 3))

images = [(torch.full((1, 8, 8), i / 4), i) for i in range(3)]
"""
SIGMA = ["--sigma", "0.1", "--trust"]
FAST = [*SIGMA, "--n", "200", "--batch", "50", "--device", "cpu"]
LABELLED = ["images", "--labels", "labels.csv"]
AUDIT = ["--votes", "500", "--steps", "2", "--restarts", "1", "--views", "2"]
NET = "net_of_an_engineer"

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch would have us export instead


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engineer")
    (folder / f"{NET}.py").write_text(FACTORY)
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 8), dtype=np.uint8)
    for i, picture in enumerate(pixels):
        for place in (folder / "images", folder / "classes" / "abc"[i % 3]):
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(place / f"{i}.png")
    (folder / "labels.csv").write_text("file,label\n" + "".join(f"{i}.png,{i % 3}\n" for i in range(6)))
    (folder / "far.csv").write_text("file,label\n" + "".join(f"{i}.png,{i}\n" for i in range(6)))
    names = ("cat", "bee", "dog")
    (folder / "named.csv").write_text("file,label\n" + "".join(f"{i}.png,{names[i % 3]}\n" for i in range(6)))
    for name in "ab":
        (folder / "two" / name).mkdir(parents=True)
        Image.new("L", (8, 8)).save(folder / "two" / name / "x.png")
    np.save(folder / "off.npy", np.full((1, 1, 8, 8), 0.123, np.float32))
    np.savez(folder / "set.npz", images=pixels, labels=np.arange(6) % 3)
    sys.path.insert(0, str(folder))
    f = __import__(NET).build().eval()
    torch.save(f.state_dict(), folder / "weights.pt")
    torch.save({f"module.{key}": value for key, value in f.state_dict().items()}, folder / "parallel.pt")
    save_file(f.state_dict(), folder / "weights.safetensors")
    torch.save(f, folder / "whole.pt")
    traced(f, torch.rand(2, 1, 8, 8)).save(folder / "traced.pt")
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop(NET, None)


@pytest.fixture(scope="module")
def log(folder):
    done = smoothcert("certify", f"{NET}:build", *LABELLED, *FAST, "--out", "log.jsonl", cwd=folder)
    assert done.returncode == 0 and "6 of 6 images" in done.stdout and not done.stderr, done
    return folder / "log.jsonl"


def votes(path):
    return [(row["index"], row["selection"], row["estimation"]) for row in read_certification(path).rows]


def test_the_log_names_files_and_says_what_the_images_are_but_not_where(folder, log):
    found = read_certification(log)
    assert [(row["file"], row["label"]) for row in found.rows] == [(f"{i}.png", i % 3) for i in range(6)]
    assert (found.header.data.name, found.header.data.kind, found.header.data.images) == ("images", "folder", 6)
    assert str(folder) not in log.read_text()


def test_the_log_is_verified_drawn_again_audited_and_reported(folder, log):
    assert "6 certificates all follow" in smoothcert("verify", log, cwd=folder).stdout
    again = ["verify", log, "--model", f"{NET}:build", "--recompute", "6"]
    assert "name them again with --dataset images and its --labels" in fails(*again, cwd=folder)
    done = smoothcert(*again, "--dataset", *LABELLED, cwd=folder)
    assert done.returncode == 0 and "of 1,800 votes none differ" in done.stdout, done
    assert "certifies other images" in fails(*again, "--dataset", "images", cwd=folder)
    audit = ["audit", f"{NET}:build", "--log", log, *AUDIT]
    assert "name them again" in fails(*audit, cwd=folder)
    done = smoothcert(*audit, *LABELLED, cwd=folder)
    assert done.returncode == 0 and "0 violations" in done.stdout, done
    assert smoothcert("report", log, "--out", "report.html", cwd=folder).returncode == 0
    assert (folder / "report.html").read_text().count("log.jsonl")
    assert smoothcert("table", log, cwd=folder).returncode == 0


def test_a_forged_file_name_is_noticed(folder, log):
    found = read_certification(log)
    rows = [row | {"file": "0.png"} if row["index"] == 1 else row for row in found.rows]
    write_log(folder / "forged.jsonl", replace(found, rows=rows))
    again = ["verify", "forged.jsonl", "--model", f"{NET}:build", "--recompute", "6", "--dataset", *LABELLED]
    done = smoothcert(*again, cwd=folder)
    assert done.returncode == 1 and "the file is '0.png', but it is '1.png'" in done.stdout, done


@pytest.mark.parametrize(
    "images", [["classes"], ["set.npz"], ["images", "--labels", "labels.csv", "--every", "2"]], ids=lambda i: i[0]
)
def test_the_noise_of_an_image_depends_on_its_index_alone(folder, log, images):
    out = folder / f"other-{images[0]}-{len(images)}.jsonl"
    assert smoothcert("certify", f"{NET}:build", *images, *FAST, "--out", out, cwd=folder).returncode == 0
    known = {index: rest for index, *rest in votes(log)}
    order = {0: 0, 1: 3, 2: 1, 3: 4, 4: 2, 5: 5}  # classes/a/0, a/3, b/1, …
    moved = images == ["classes"]
    same = [i for i, *rest in votes(out) if rest == known[i]]
    assert same == [i for i, *_ in votes(out) if not moved or order[i] == i]


@pytest.mark.parametrize(
    "model",
    [
        ["weights.pt", "--model", f"{NET}:build"],
        ["parallel.pt", "--arch", f"{NET}:build"],
        ["weights.safetensors", "--model", f"{NET}:build"],
        ["traced.pt"],
    ],
    ids=lambda model: model[0],
)
def test_the_same_network_by_any_door_casts_the_same_votes(folder, log, model):
    out = folder / f"{model[0]}.jsonl"
    done = smoothcert("certify", *model[:1], *LABELLED, *model[1:], *FAST, "--out", out, cwd=folder)
    assert done.returncode == 0, done
    assert votes(out) == votes(log)
    assert smoothcert("verify", out, cwd=folder).returncode == 0


def test_one_picture_has_no_label_and_nothing_pretends_to_know_it(folder):
    done = smoothcert("certify", "traced.pt", "images/3.png", *FAST, "--out", "one.jsonl", cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith("3.png  class ") and "no labels" in done.stdout, done
    (row,) = read_whole(folder / "one.jsonl").rows
    assert row["file"] == "3.png" and "label" not in row and "correct" not in row
    assert smoothcert("verify", "one.jsonl", cwd=folder).returncode == 0
    again = ["verify", "one.jsonl", "--model", "traced.pt", "--recompute", "1", "--dataset", "images/3.png"]
    assert smoothcert(*again, "--trust", cwd=folder).returncode == 0
    assert "if you trust it, give --trust" in fails(*again, cwd=folder)
    for command in ("table", "report", "export-tsv"):
        assert "no labels" in fails(command, "one.jsonl", cwd=folder)
    assert "label of every image" in fails(
        "certify", "traced.pt", "images", *FAST, "--procedure", "curve", "--label-aware", "--out", "x.jsonl", cwd=folder
    )


def test_a_label_cannot_be_slipped_into_a_log_without_labels(folder):
    smoothcert("certify", "traced.pt", "images/2.png", *FAST, "--out", "bare.jsonl", cwd=folder)
    header, row, _ = (folder / "bare.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "bare.jsonl").write_bytes(header + encode(decode(row) | {"label": 0, "correct": 1}))
    assert "the header says that there are none" in fails("verify", "bare.jsonl", cwd=folder)


def test_a_folder_is_predicted_row_by_row(folder):
    options = [*SIGMA, "--n", "100", "--seed", "7", "--device", "cpu"]
    done = smoothcert("predict", "traced.pt", "images", "--csv", *options, cwd=folder)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["image"] for row in rows] == [f"{i}.png" for i in range(6)]
    done = smoothcert("predict", "traced.pt", *LABELLED, "--json", *options, cwd=folder)
    found = json.loads(done.stdout)
    assert [row["label"] for row in found] == [0, 1, 2, 0, 1, 2]
    for one, other in zip(rows, found, strict=True):
        assert (int(one["predict"]), int(one["votes"])) == (other["predict"], max(other["votes"])) and one[
            "label"
        ] == ""
    assert "exclude each other" in fails("predict", "traced.pt", "images", "--csv", "--json", *options, cwd=folder)


def test_another_sigma_than_that_of_the_training_is_said_aloud(folder):
    torch.save({"arch": "lenet", "state_dict": LeNet(10).state_dict()}, folder / "lenet.pth")
    run = ["--sigma", "0.25", "--dataset", "fake"]
    assert smoothcert("import", "lenet.pth", "--out", "run", *run, cwd=folder).returncode == 0
    few = ["--n", "50", "--limit", "2", "--device", "cpu", "--batch", "50"]
    done = smoothcert("certify", "run", *few, "--out", "same.jsonl", cwd=folder)
    assert done.returncode == 0 and done.stderr == "", done
    done = smoothcert("certify", "run", *few, "--sigma", "0.5", "--out", "other.jsonl", cwd=folder)
    said = "smoothcert: the noise is Gaussian(sigma=0.5), but the model was trained with Gaussian(sigma=0.25)\n"
    assert done.returncode == 0 and done.stderr == said, done
    assert read_certification(folder / "other.jsonl").header.noise.sigma == 0.5
    assert smoothcert("certify", "run", *few, "--noise", "grid", "--out", "grid.jsonl", cwd=folder).stderr == ""


def test_a_run_of_ours_takes_own_images_too_and_the_log_says_that_they_are_not_its_own(folder):
    torch.save({"arch": "lenet", "state_dict": LeNet(10).state_dict()}, folder / "lenet.pth")
    smoothcert("import", "lenet.pth", "--out", "mine", "--sigma", "0.25", "--dataset", "fake", cwd=folder)
    pixels = np.random.default_rng(1).random((3, 1, 28, 28), np.float32)
    np.save(folder / "digits.npy", pixels)
    np.save(folder / "y.npy", np.array([7, 0, 9]))
    own = ["digits.npy", "--labels", "y.npy"]
    few = ["--n", "50", "--device", "cpu", "--batch", "50"]
    assert smoothcert("certify", "mine", *own, *few, cwd=folder).returncode == 0
    header = read_whole(folder / "mine").header
    assert (header.data.kind, header.data.images, header.labelled) == ("array", 3, True)
    again = ["verify", "mine", "--model", "mine", "--recompute", "3"]
    assert "name them again with --dataset digits.npy" in fails(*again, cwd=folder)
    assert smoothcert(*again, "--dataset", *own, cwd=folder).returncode == 0
    assert "other settings" in fails("certify", "mine", *few, cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["certify", "traced.pt", "images", "--dataset", "fake"], "name one of them"),
        (["certify", "traced.pt", "nowhere"], "unknown data set 'nowhere'"),
        (["certify", "traced.pt", "./nowhere"], "no such file or folder"),
        (["certify", "traced.pt", "--labels", "labels.csv"], "name their folder"),
        (["certify", "traced.pt", "fake", "--labels", "labels.csv"], "knows its labels"),
        (["certify", f"{NET}:colour", *LABELLED], r"fails on images of (1, 8, 8)"),
        (["certify", f"{NET}:colour", *LABELLED, "--input-shape", "3,8,8"],
         "the images of images are 1×8×8 but the model takes 3×8×8: convert them first"),
        (["certify", f"{NET}:build", "--input-shape", "1,8", *LABELLED], "as in 1,28,28, not '1,8'"),
        (["predict", f"{NET}:build", "images/0.png"], "give it with --input-shape"),
        (["certify", "traced.pt", "images", "--labels", "far.csv"],
         "label 5 of 5.png is out of range: the classes of traced.pt are 0 … 2"),
        (["certify", "traced.pt", "images", "--labels", "named.csv"], "--classes cat,dog"),
        (["certify", "traced.pt", "images", "--labels", "named.csv", "--classes", "a,a"], "two different names"),
        (["certify", "traced.pt", "images", "--labels", "named.csv", "--classes", "cat,dog,owl"], "'bee' of 1.png is"),
        (["certify", "traced.pt", "two", "--classes", "b,a"], "2 classes but traced.pt tells 3 apart"),
        (["certify", "traced.pt", f"{NET}:images", "--classes", "a,b"], "leave --labels and --classes out"),
        (["certify", "traced.pt", "two"], "2 classes but traced.pt tells 3 apart"),
        (["certify", "whole.pt", *LABELLED], "--arch package.module:factory, or save f with torch.jit"),
        (["certify", "weights.pt", *LABELLED], "--arch package.module:factory"),
        (["certify", "weights.pt", *LABELLED, "--model", f"{NET}:colour"], "not the weights of"),
        (["certify", "weights.pt", *LABELLED, "--model", f"{NET}:none"], "has no none"),
        (["certify", "weights.pt", *LABELLED, "--model", f"{NET}:build", "--arch", "lenet"], "name one of them"),
        (["certify", "traced.pt", *LABELLED, "--model", f"{NET}:build"], "holds its network"),
        (["certify", f"{NET}:build", *LABELLED, "--model", f"{NET}:build"], "builds its network itself"),
        (["certify", "traced.pt", *LABELLED, "--precision", "bfloat16"], "computes as it was written"),
        (["certify", "traced.pt", "off.npy", "--noise", "grid"], "not on the grid of 8-bit images"),
    ],
)  # fmt: skip
def test_a_wrong_call_gets_one_clear_line(folder, arguments, message):
    rest = ["--out", "wrong.jsonl"] if arguments[0] == "certify" else []
    assert message in fails(*arguments, *SIGMA, *rest, "--device", "cpu", cwd=folder)


def test_a_log_never_decides_what_is_opened_or_imported(log):
    """It may come from a stranger: the code or folder it names is opened only if the user names it too."""
    found = read_certification(log)
    data = replace(found.header.data, name=f"{NET}:images", kind=None)
    with pytest.raises(InputError, match="unknown data set"):
        open_certified("traced.pt", replace(found, header=replace(found.header, data=data)))
