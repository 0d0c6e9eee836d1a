"""Certifying models that are not runs of ours, bringing them in, and taking ours out."""

import sys

import pytest
import torch

from smoothcert.certification.log import read_log
from smoothcert.models import LeNet
from smoothcert.models.weights import load_weights
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
    return [(row["index"], row["selection"], row["estimation"]) for row in read_log(log).rows]


def test_a_checkpoint_is_certified_directly_and_as_an_imported_run_alike(folder):
    assert smoothcert("certify", "run", *FAST, cwd=folder).returncode == 0
    assert smoothcert("certify", "checkpoint.pth.tar", *FAKE, *FAST, cwd=folder).returncode == 0
    direct = folder / "checkpoint.pth.tar.certify.jsonl"
    assert votes(direct) == votes(folder / "run" / "certify.jsonl")
    assert read_log(direct).decides["model"]["variant"] == "channels-last"
    assert read_log(folder / "run" / "certify.jsonl").decides["imported"]["epoch"] == 90


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
    assert read_log(folder / "l.jsonl").decides["noise"] == {"kind": "laplace", "b": 0.2}
    assert "other settings" in fails("certify", "run", "--sigma", "1", *FAST, "--out", "l.jsonl", cwd=folder)
    assert "KIND:SCALE" in fails("certify", "run", "--noise", "laplace", *FAST, cwd=folder)
    assert "positive" in fails("certify", "run", "--sigma", "-1", *FAST, cwd=folder)
    assert "did you mean uniform" in fails("certify", "run", "--noise", "unifrm:1", *FAST, cwd=folder)


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
def test_mistakes_get_one_line(folder, arguments, message):
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
