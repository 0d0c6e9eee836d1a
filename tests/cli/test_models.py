"""Certifying models that are not runs of ours, bringing them in, and taking ours out."""

import sys

import numpy as np
import pytest
import torch

from smoothcert.interchange.weights import load_weights
from smoothcert.models import LeNet
from smoothcert.noise import GridGaussian, Laplace
from smoothcert.records.log import read_certification
from tests.cli.running import fails, smoothcert

FAST = ["--n", "50", "--every", "10", "--device", "cpu", "--batch", "50"]
FAKE = ["--dataset", "fake", "--sigma", "0.25"]
FACTORY = """from smoothcert.models import LeNet

def small():
    return LeNet(10)

def seven():
    return LeNet(7)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One LeNet as others would have it: a .pth.tar file, a factory, and an ONNX file made from an imported run."""
    folder = tmp_path_factory.mktemp("models")
    f = LeNet(10)
    state = {f"module.{name}": tensor for name, tensor in f.state_dict().items()}
    torch.save({"arch": "lenet", "state_dict": state, "epoch": 90}, folder / "checkpoint.pth.tar")
    (folder / "mine_for_tests.py").write_text(FACTORY)
    done = smoothcert("import", "checkpoint.pth.tar", "--out", "run", *FAKE, cwd=folder)
    assert done.returncode == 0 and "lenet, 10 classes" in done.stdout, done
    return folder


def votes(log):
    return [(row["index"], row["selection"], row["estimation"]) for row in read_certification(log).rows]


def test_a_checkpoint_is_certified_directly_and_as_an_imported_run_alike(folder):
    assert smoothcert("certify", "run", *FAST, cwd=folder).returncode == 0
    assert smoothcert("certify", "checkpoint.pth.tar", *FAKE, *FAST, cwd=folder).returncode == 0
    direct = folder / "checkpoint.pth.tar.certify.jsonl"
    assert votes(direct) == votes(folder / "run" / "certify.jsonl")
    assert read_certification(direct).header.model.variant == "channels-last"
    assert read_certification(folder / "run" / "certify.jsonl").header.imported["epoch"] == 90


def test_a_factory_is_certified_and_predicts(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    assert smoothcert("certify", "mine_for_tests:small", *FAKE, *FAST, cwd=folder).returncode == 0
    assert len(votes(folder / "mine_for_tests-small.certify.jsonl")) == 4
    done = smoothcert("predict", "mine_for_tests:small", *FAKE, "--every", "10", "--n", "50", cwd=folder)
    assert "4 images" in done.stdout
    assert "10 classes but mine_for_tests-seven" in fails("certify", "mine_for_tests:seven", *FAKE, cwd=folder)
    sys.modules.pop("mine_for_tests", None)


@pytest.mark.filterwarnings("ignore")  # the exporter of torch warns of its own workings
def test_a_run_goes_out_as_onnx_and_that_file_is_certified(folder):
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    pytest.importorskip("onnxscript", reason="the extra `onnx` is not installed")
    done = smoothcert("export", "run", "--onnx", "f.onnx", "--safetensors", "f.safetensors", cwd=folder)
    assert done.returncode == 0 and done.stdout.count("logits agree") == 2, done
    assert smoothcert("certify", "f.onnx", *FAKE, *FAST, cwd=folder).returncode == 0
    assert len(votes(folder / "f.onnx.certify.jsonl")) == 4


def test_another_noise_than_the_runs_own_can_be_chosen(folder):
    assert smoothcert("certify", "run", "--noise", "laplace:0.2", *FAST, "--out", "l.jsonl", cwd=folder).returncode == 0
    assert read_certification(folder / "l.jsonl").header.noise == Laplace(0.2)
    assert "other settings" in fails("certify", "run", "--sigma", "1", *FAST, "--out", "l.jsonl", cwd=folder)
    assert "KIND:SCALE" in fails("certify", "run", "--noise", "laplace", *FAST, cwd=folder)
    assert "positive" in fails("certify", "run", "--sigma", "-1", *FAST, cwd=folder)
    assert "did you mean uniform" in fails("certify", "run", "--noise", "unifrm:1", *FAST, cwd=folder)


def test_a_run_is_certified_audited_and_predicts_under_grid_noise_without_retraining(folder):
    seed, grid = str(2**256 - 1), ["--noise", "grid"]
    certify = ["certify", "run", *grid, *FAST, "--seed", seed]
    done = smoothcert(*certify, "--out", "g.jsonl", cwd=folder)
    assert done.returncode == 0, done
    whole = read_certification(folder / "g.jsonl")
    assert whole.header.noise == GridGaussian(0.25) and whole.header.seed == 2**256 - 1
    assert "other settings" in fails("certify", "run", *FAST, "--seed", seed, "--out", "g.jsonl", cwd=folder)
    for shard in ("0/2", "1/2"):
        assert smoothcert(*certify, "--shard", shard, "--out", "s.jsonl", cwd=folder).returncode == 0
    assert smoothcert("merge", "s.jsonl", "--out", "m.jsonl", cwd=folder).returncode == 0
    assert sorted(votes(folder / "m.jsonl")) == sorted(votes(folder / "g.jsonl"))
    assert smoothcert("verify", "g.jsonl", cwd=folder).returncode == 0
    given = ["checkpoint.pth.tar", "--dataset", "fake", *FAST, "--seed", seed]
    assert smoothcert("certify", *given, *grid, "--sigma", "0.25", "--out", "c.jsonl", cwd=folder).returncode == 0
    assert votes(folder / "c.jsonl") == votes(folder / "g.jsonl")
    assert "--sigma" in fails("certify", *given, *grid, cwd=folder)
    assert "seed of grid noise" in fails("certify", "run", *grid, *FAST, "--seed", str(2**256), cwd=folder)
    np.save(folder / "on.npy", np.full((1, 28, 28), 100 / 255, np.float32))
    np.save(folder / "off.npy", np.full((1, 28, 28), 100.4 / 255, np.float32))
    lines = smoothcert("predict", "run", "on.npy", "off.npy", "--n", "50", *grid, cwd=folder).stdout.splitlines()
    assert ["rounded to 1/255" in line for line in lines] == [False, True]
    audit = ["audit", "run", "--log", "p.jsonl", "--votes", "500", "--steps", "2", "--restarts", "1", "--images", "4"]
    pair = ["--n", "200", "--alpha", "0.4", "--bound", "pair", "--out", "p.jsonl"]
    assert smoothcert("certify", "run", *grid, *pair, "--every", "10", "--limit", "4", cwd=folder).returncode == 0
    assert smoothcert(*audit, *grid, "--out", "a.jsonl", cwd=folder).returncode in (0, 1)
    assert "the log is about GridGaussian" in fails(*audit, "--sigma", "0.25", "--out", "b.jsonl", cwd=folder)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["certify", "checkpoint.pth.tar", "--dataset", "fake"], "--sigma"),
        (["certify", "checkpoint.pth.tar", "--sigma", "1"], "--dataset"),
        (["certify", "checkpoint.pth.tar", *FAKE, "--arch", "cifar_resnet20"], "conv1"),
        (["certify", "no_such_module_here:f", *FAKE], "no_such_module_here"),
        (["certify", "missing.onnx", *FAKE], "missing.onnx"),
        (["certify", "run", "--arch", "lenet"], "knows its network"),
        (["import", "checkpoint.pth.tar", "--out", "run", *FAKE], "holds a run already"),
        (["import", "checkpoint.pth.tar", "--out", "x", "--sigma", "1", "--dataset", "fak"], "did you mean fake"),
        (["import", "mine_for_tests.py", "--out", "x", *FAKE], "mine_for_tests.py"),
        (["export", "run"], "--onnx"),
        (["export", "nowhere", "--onnx", "x"], "no such run"),
    ],
)
def test_a_wrong_call_gets_one_clear_line(folder, arguments, message):
    assert message in fails(*arguments, cwd=folder)


class Evil:
    def __reduce__(self):
        return (print, ("EXECUTED",))


def test_a_pickle_that_would_execute_code_is_refused_and_nothing_runs(folder, capfd):
    torch.save({"arch": "lenet", "state_dict": Evil()}, folder / "evil.pth.tar")
    assert "evil.pth.tar" in fails("import", "evil.pth.tar", "--out", "evil", *FAKE, cwd=folder)
    assert "EXECUTED" not in "".join(capfd.readouterr())
    assert not (folder / "evil").exists()


def test_imported_weights_are_those_of_the_checkpoint(folder):
    weights, about = load_weights(folder / "run" / "model.safetensors")
    state = torch.load(folder / "checkpoint.pth.tar", weights_only=True)["state_dict"]
    assert all(torch.equal(weights[name.removeprefix("module.")], tensor) for name, tensor in state.items())
    assert about["dataset"] == "fake"
