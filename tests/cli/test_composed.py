"""f from parts on the command line: every door, one f, one log."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from smoothcert import Gaussian, SmoothedClassifier, data, models
from smoothcert.interchange.weights import save_weights
from smoothcert.records.log import read_certification
from tests.cli.running import fails, smoothcert
from tests.own import traced

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")

SIGMA = ["--sigma", "0.5", "--dataset", "digits.npz"]
FAST = ["--n", "100", "--every", "4", "--device", "cpu", "--batch", "50"]
PARTS = """import torch
from torch import nn

from smoothcert.models import LeNet


class Shrink(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.ones(()))

    def forward(self, z, sigma):
        return z / (1 + self.by * sigma)


class Pool(nn.Module):
    def forward(self, z):
        return nn.functional.avg_pool2d(z, 3, 1, 1, count_include_pad=False)


class Crop(nn.Module):
    def forward(self, z):
        return z[..., 1:]


def seven():
    return LeNet(7)
"""


def onnx_file(path: Path, nodes, constants, output):
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    made = [helper.make_node(*node, **more) for *node, more in nodes]
    ends = [helper.make_tensor_value_info(n, kind, ["b", *s]) for n, s in (("x", (1, 28, 28)), ("y", output))]
    values = [onnx.numpy_helper.from_array(np.asarray(v, np.float32), n) for n, v in constants.items()]
    graph = helper.make_graph(made, "g", ends[:1], ends[1:], values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), str(path))


def smoothing(path: Path, low: float, high: float = 1.0):
    """A denoiser from elsewhere: the mean of 3×3 pixels, clamped to its range of images."""
    pool = ("AveragePool", ["x"], ["p"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
    onnx_file(path, [pool, ("Clip", ["p", "low", "high"], ["y"], {})], {"low": low, "high": high}, (1, 28, 28))


@cache
def nearest_mean():
    """W and b of a linear classifier: −‖x − m‖² up to ‖x‖²."""
    x, y = data.load("mnist5k", "train").batch(torch.arange(4000))
    means = torch.stack([x[y == k].mean(0).flatten() for k in range(10)])
    return 2 * means.T, -means.square().sum(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    weight, bias = nearest_mean()
    flat = ("Flatten", ["x"], ["flat"], {})
    nearest = [flat, ("Gemm", ["flat", "w", "b"], ["y"], {})]
    onnx_file(folder / "f.onnx", nearest, {"w": weight, "b": bias}, (10,))
    onnx_file(folder / "g.onnx", nearest, {"w": weight + 0.1, "b": bias}, (10,))
    onnx_file(folder / "five.onnx", nearest, {"w": weight[:, :5], "b": bias[:5]}, (5,))
    smoothing(folder / "d.onnx", 0.0)
    smoothing(folder / "d11.onnx", -1.0)
    x, y = data.load("mnist5k", "test").batch(torch.arange(0, 1000, 25))  # 40 images, opened in no time
    np.savez(folder / "digits.npz", images=(255 * x).round().byte().numpy(), labels=y.numpy())
    (folder / "parts_for_tests.py").write_text(PARTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        torch.save({"by": torch.tensor(2.0)}, folder / "shrink.pt")
        pool = import_module("parts_for_tests").Pool()
        traced(pool, torch.rand(2, 1, 28, 28)).save(folder / "pool.ts.pt")
        fake = ["--set", "data=fake", "epochs=1", "batch=32"]
        for name, model in (("run", "lenet"), ("three", "lenet*2+mirror")):
            done = smoothcert("train", "mnist5k/gaussian/0.50", "--out", name, *fake, f"model={model}", cwd=folder)
            assert done.returncode == 0, done
        yield folder
    sys.modules.pop("parts_for_tests", None)


def certified(folder, *arguments, out):
    done = smoothcert("certify", *arguments, "--out", out, cwd=folder)
    assert done.returncode == 0, done
    return read_certification(folder / out)


def votes(log):
    return [(row["index"], row["selection"], row["estimation"]) for row in log.rows]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_classifier_and_a_denoiser_from_elsewhere_are_certified_as_one_f(folder):
    with_it = certified(folder, "f.onnx", "--denoiser", "d.onnx", *SIGMA, *FAST, out="fd.jsonl")
    model = with_it.header.model
    parts = model.said["parts"]
    assert [(p["role"], p["name"], p["sha256"]) for p in parts] == [
        ("classifier", "f.onnx", sha256(folder / "f.onnx")),
        ("denoiser", "d.onnx", sha256(folder / "d.onnx")),
    ]
    lines = "".join(f"{p['role']} {p['sha256']} {p['variant']}\n" for p in parts)
    assert model.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert (model.name, model.passes_per_vote) == ("f.onnx behind d.onnx", 2)
    assert model.variant.startswith("denoised (onnxruntime")
    plain = certified(folder, "f.onnx", *SIGMA, *FAST, out="f.jsonl")
    assert plain.header.model.passes_per_vote == 1 and "parts" not in plain.header.model.said
    # the very f, in Python
    x = data.load("mnist5k", "test").batch(torch.tensor([0]))[0]
    weight, bias = nearest_mean()
    target = models.Denoised(lambda z, s: pooled(z).clamp(0, 1), lambda x: x.flatten(1) @ weight + bias, 0.5)
    found = SmoothedClassifier(target.eval(), Gaussian(0.5), 10, seed=0).votes(x[0], 100, index=0)
    assert {int(c): int(n) for c, n in with_it.rows[0]["estimation"].items()} == {
        c: int(n) for c, n in enumerate(found) if n
    }
    assert votes(plain) != votes(with_it)


def pooled(z):
    return nn.functional.avg_pool2d(z, 3, 1, 1, count_include_pad=False)


def test_a_denoiser_of_another_range_gives_the_same_certificates_once_it_is_told(folder):
    ours = certified(folder, "f.onnx", "--denoiser", "d.onnx", *SIGMA, *FAST, out="ours.jsonl")
    told = ["--denoiser", "d11.onnx", "--denoiser-range", "-1", "1"]
    theirs = certified(folder, "f.onnx", *told, *SIGMA, *FAST, out="theirs.jsonl")
    assert votes(ours) == votes(theirs)
    assert theirs.header.model.said["parts"][1]["range"] == [-1.0, 1.0]
    untold = certified(folder, "f.onnx", *told[:2], *SIGMA, *FAST, out="untold.jsonl")
    assert votes(untold) != votes(ours)
    assert "other settings" in fails("certify", "f.onnx", *told[:2], *SIGMA, *FAST, "--out", "theirs.jsonl", cwd=folder)


def test_a_log_is_not_continued_with_another_part(folder):
    parts = ["f.onnx", "--denoiser", "d.onnx", "--ensemble", "g.onnx", "--mirror"]
    log = certified(folder, *parts, *SIGMA, *FAST, "--limit", "3", out="log.jsonl")
    assert log.header.model.passes_per_vote == 6 and log.header.model.said["mirror"] is True
    assert log.header.model.name == "f.onnx + g.onnx behind d.onnx, mirrored"
    certify = ("certify", *SIGMA, *FAST, "--out", "log.jsonl")
    for other in (
        ["f.onnx", "--denoiser", "d11.onnx", "--ensemble", "g.onnx", "--mirror"],
        ["f.onnx", "--denoiser", "d.onnx", "--ensemble", "f.onnx", "--mirror"],
        ["f.onnx", "--denoiser", "d.onnx", "--ensemble", "g.onnx"],
        ["f.onnx", "--denoiser", "d.onnx", "--mirror"],
        ["f.onnx", "--ensemble", "g.onnx", "--mirror"],
        ["f.onnx"],
    ):
        assert "other settings" in fails(*certify, *other, cwd=folder)
    assert len(certified(folder, *parts, *SIGMA, *FAST, out="log.jsonl").rows) == 10


def test_such_a_log_is_verified_drawn_again_audited_and_its_f_predicts(folder):
    parts = ["--denoiser", "d.onnx", "--mirror"]
    certified(folder, "f.onnx", *parts, *SIGMA, *FAST, out="v.jsonl")
    of = ["--dataset", "digits.npz"]
    verify = ("verify", "v.jsonl", "--model", "f.onnx", "--recompute", "4", *of)
    done = smoothcert(*verify, *parts, cwd=folder)
    assert done.returncode == 0 and "4 rows recomputed: of 800 votes none differ" in done.stdout, done
    assert "certifies another model" in fails(*verify, *parts[:2], cwd=folder)
    assert "certifies another model" in fails(*verify, "--denoiser", "d11.onnx", "--mirror", cwd=folder)
    few = ["--votes", "500", "--steps", "1", "--restarts", "1", "--images", "3"]
    done = smoothcert("audit", "f.onnx", "--log", "v.jsonl", *parts, *of, *few, cwd=folder)
    assert done.returncode == 0 and "certificates attacked" in done.stdout, done
    done = smoothcert("predict", "f.onnx", *parts, *SIGMA, "--every", "4", "--n", "100", cwd=folder)
    assert done.returncode == 0 and "10 images" in done.stdout, done
    done = smoothcert("report", "v.jsonl", "--out", "page.html", cwd=folder)
    assert done.returncode == 0, done


def test_by_default_the_log_lies_beside_and_never_in_a_run_folder(folder):
    assert smoothcert("certify", "run", "--mirror", "--n", "50", "--every", "10", cwd=folder).returncode == 0
    assert (folder / "run-mirrored.certify.jsonl").exists() and not (folder / "run" / "certify.jsonl").exists()
    header = read_certification(folder / "run-mirrored.certify.jsonl").header
    assert header.recipe is None  # of one part alone, which states it
    assert header.model.said["parts"][0]["recipe"]["model"] == "lenet"
    assert header.model.variant == "mirrored (channels-last)" and header.departures() == {}


def test_runs_and_models_of_all_kinds_are_members(folder):
    fake = ["--every", "10", "--n", "50", "--device", "cpu"]
    log = certified(folder, "run", "--ensemble", "three", "f.onnx", *fake, out="members.jsonl")
    assert [part["name"] for part in log.header.model.said["parts"]] == ["lenet", "lenet*2+mirror", "f.onnx"]
    assert log.header.model.passes_per_vote == 6
    alone = certified(folder, "run", "--ensemble", "run", *fake, out="twice.jsonl")
    assert votes(alone) == votes(certified(folder, "run", *fake, out="once.jsonl"))  # 2 f has the classes of f


def test_an_ensemble_with_its_mirror_image_is_trained_as_one_network(folder):
    log = certified(folder, "three", "--every", "10", "--n", "50", out="three.jsonl")
    assert log.header.model.name == log.header.recipe.model == "lenet*2+mirror"
    assert log.header.model.passes_per_vote == 4 and log.header.model.variant == "mirrored (sum of 2 (channels-last))"
    assert smoothcert("verify", "three.jsonl", "--model", "three", "--recompute", "2", cwd=folder).returncode == 0
    assert "already: leave --mirror out" in fails("certify", "three", "--mirror", cwd=folder)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_denoiser_comes_by_every_door(folder):
    shrunk = certified(folder, "f.onnx", "--denoiser", "parts_for_tests:Shrink", *SIGMA, *FAST, out="s.jsonl")
    part = shrunk.header.model.said["parts"][1]
    assert part["name"] == "parts_for_tests:Shrink" and list(shrunk.header.model.said["sources"]) == ["parts_for_tests"]
    filled = ["--denoiser", "shrink.pt", "--denoiser-arch", "parts_for_tests:Shrink"]
    assert votes(certified(folder, "f.onnx", *filled, *SIGMA, *FAST, out="w.jsonl")) != votes(shrunk)
    scripted = ["--denoiser", "pool.ts.pt"]
    assert "--trust" in fails("certify", "f.onnx", *scripted, *SIGMA, *FAST, cwd=folder)
    script = certified(folder, "f.onnx", *scripted, "--trust", *SIGMA, *FAST, out="t.jsonl")
    pool = certified(folder, "f.onnx", "--denoiser", "parts_for_tests:Pool", *SIGMA, *FAST, out="p.jsonl")
    assert votes(script) == votes(pool)


@pytest.mark.parametrize("task", ["denoise", "predict-noise"])
def test_a_denoiser_of_ours_comes_from_its_run_folder(folder, task, monkeypatch):
    class Network(nn.Module):
        """Shrinks by `by` + 2, or says that the noise is that share of the image."""

        def __init__(self):
            super().__init__()
            self.by = nn.Parameter(torch.ones(()))
            self.level = nn.Linear(1, 1)

        def forward(self, x, told):
            self.level(torch.ones(1, 1))  # what is not of the images' type: fails where all weights are bfloat16
            return x * self.by / 8 if task == "predict-noise" else x / (self.by + told)

    monkeypatch.setattr(models, "build_denoiser", lambda name, channels: Network(), raising=False)
    place = folder / task
    place.mkdir()
    about = {"model": "unet1", "task": task} | ({"schedule": "cosine"} if task == "predict-noise" else {})
    save_weights(place / "model.safetensors", Network().state_dict() | {"by": torch.tensor(2.0)}, about)
    denoise = ["--denoiser", place, "--sigma", "0.5", "--every", "10", "--n", "50"]
    log = certified(folder, "run", *denoise, out=f"{task}.jsonl")
    part = log.header.model.said["parts"][1]
    assert (part["role"], part["name"], part["task"]) == ("denoiser", "unet1", task)
    assert part["variant"] == ("as given" if task == "denoise" else "one step, cosine schedule (as given)")
    rounded = certified(folder, "run", *denoise, "--precision", "bfloat16", out=f"{task}-bf16.jsonl")
    assert rounded.header.precision == "bfloat16" and "bfloat16" in rounded.header.model.said["parts"][1]["variant"]
    assert "is a denoiser: name it with --denoiser" in fails("certify", place, "--sigma", "1", cwd=folder)
    line = fails("certify", "run", "--denoiser", place, "--sigma", "1", "--denoiser-range", "-1", "1", cwd=folder)
    assert "a run knows its network and range" in line
    line = fails("certify", "f.onnx", "--denoiser", place, *SIGMA, "--precision", "bfloat16", cwd=folder)
    assert "cannot be turned to bfloat16" in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["f.onnx", "--denoiser", "nowhere.onnx", *SIGMA], "nowhere.onnx: no such denoiser"),
        (["f.onnx", "--denoiser", "f.onnx", *SIGMA], "gives (2, 10) for 2 images of (1, 28, 28): a denoiser keeps"),
        (["f.onnx", "--denoiser", "parts_for_tests:Crop", *SIGMA], "a denoiser keeps their shape"),
        (["f.onnx", "--denoiser", "parts_for_tests:seven", *SIGMA], "a denoiser keeps their shape"),
        (["f.onnx", "--denoiser", "run", *SIGMA], "is a classifier, no denoiser"),
        (["d.onnx", *SIGMA], "not (batch, classes)"),
        (["run", "--denoiser", "d.onnx"], "with --sigma"),
        (["f.onnx", "--denoiser-range", "-1", "1", *SIGMA], "are for a denoiser"),
        (["f.onnx", "--denoiser", "d.onnx", "--denoiser-range", "1", "-1", *SIGMA], "from small to large"),
        (["f.onnx", "--denoiser", "shrink.pt", *SIGMA], "--denoiser-arch package.module:factory"),
        (["f.onnx", "--denoiser", "d.onnx", "--denoiser-arch", "a:b", *SIGMA], "builds its network itself"),
        (
            ["f.onnx", "--ensemble", "five.onnx", *SIGMA],
            "five.onnx: is for images of 1×28×28 and 5 classes, but f.onnx",
        ),
        (["f.onnx", "--ensemble", "nowhere", *SIGMA], "nowhere: no such run or model"),
        (["run", "--ensemble", "f.onnx", "--precision", "bfloat16"], "cannot be turned to bfloat16"),
        (["run", "--ensemble", "three", "--arch", "lenet"], "knows its network"),
    ],
)
def test_parts_that_do_not_fit_get_one_clear_line(folder, arguments, message):
    assert message in fails("certify", *arguments, "--out", "never.jsonl", cwd=folder)
    assert not (folder / "never.jsonl").exists()


def test_the_user_hears_when_almost_nothing_is_certified(folder):
    line = "smoothcert: almost no image is certified under this noise"
    many = ["--n", "100", "--device", "cpu"]
    done = smoothcert(
        "certify", "f.onnx", "--sigma", "20", "--dataset", "digits.npz", *many, "--out", "c.jsonl", cwd=folder
    )
    assert done.returncode == 0 and done.stderr.count(line) == 1 and "smoothcert advise" in done.stderr, done
    good = smoothcert("certify", "f.onnx", *SIGMA, *many, "--out", "e.jsonl", cwd=folder)
    assert good.returncode == 0 and line not in good.stderr, good
    few = smoothcert(
        "certify", "f.onnx", "--sigma", "20", "--dataset", "digits.npz", *FAST, "--out", "h.jsonl", cwd=folder
    )
    assert line not in few.stderr  # of 10 images
    far = ["--radius", "3", "--sigma", "1", "--dataset", "digits.npz"]
    done = smoothcert("certify", "f.onnx", *far, "--n", "1000", "--out", "r.jsonl", cwd=folder)
    assert line not in done.stderr  # asked about a large radius alone
