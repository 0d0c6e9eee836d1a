"""TorchScript and torch.export's files through the common door, and what they may not do."""

import io
import json
import zipfile

import pytest
import torch
from torch import Tensor, nn

from smoothcert import Gaussian, SmoothedClassifier
from smoothcert.errors import InputError
from smoothcert.interchange.foreign_model import open_model

SHAPE = (1, 6, 6)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)).eval()


def images(count=5):
    return torch.rand(count, *SHAPE, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("suffix", [".pt", ".ts"])
def test_torchscript_is_the_network_it_was_made_from(tmp_path, suffix):
    path = tmp_path / f"f{suffix}"
    torch.jit.script(network()).save(path)
    with pytest.raises(InputError, match="does not say its input shape: give it with --input-shape"):
        open_model(str(path))
    for told in ({"input_shape": SHAPE}, {"image_shape": SHAPE}):
        opened = open_model(str(path), **told)
        assert (opened.num_classes, opened.input_shape) == (4, SHAPE)
    assert opened.about["variant"] == "TorchScript, as given" and len(opened.about["sha256"]) == 64
    torch.testing.assert_close(opened.f(images()), network()(images()))


class Writes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch.save(x, "written.bin")
        return x.flatten(1)


class Reads(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) + torch.from_file("/etc/hostname", False, 1, dtype=torch.uint8).sum()


@pytest.mark.parametrize(("evil", "word"), [(Writes, "save"), (Reads, "from_file")])
def test_torchscript_that_touches_files_is_refused_before_it_is_loaded(tmp_path, monkeypatch, evil, word):
    path = tmp_path / "evil.pt"
    torch.jit.script(evil()).save(path)
    monkeypatch.setattr(torch.jit, "load", None)
    with pytest.raises(InputError, match=f"its TorchScript uses {word}"):
        open_model(str(path), input_shape=SHAPE)


def test_a_damaged_program_is_told_in_one_line(tmp_path):
    path = tmp_path / "f.pt"
    torch.jit.script(network()).save(path)
    data = path.read_bytes()
    for cut in (data[: len(data) // 2], data.replace(b"conv", b"c\x00nv")):
        path.write_bytes(cut)
        with pytest.raises(InputError) as error:
            open_model(str(path), input_shape=SHAPE)
        assert "\n" not in str(error.value)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The network with any batch, with a batch of 2, and as it is in training."""
    folder, x = tmp_path_factory.mktemp("exported"), images(2)
    any_batch = ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(network(), (x,), dynamic_shapes=any_batch), folder / "any.pt2")
    torch.export.save(torch.export.export(network(), (x,)), folder / "two.pt2")
    torch.export.save(torch.export.export(network().train(), (x,), dynamic_shapes=any_batch), folder / "train.pt2")
    return folder


pytestmark = pytest.mark.filterwarnings("ignore")  # the exporter of torch warns of its own workings


@pytest.mark.parametrize("name", ["any.pt2", "two.pt2"])
def test_an_exported_program_is_the_network_whatever_its_batch(exported, name):
    opened = open_model(str(exported / name))
    assert (opened.num_classes, opened.input_shape) == (4, SHAPE)
    assert opened.about["variant"] == "torch.export, as given"
    for count in (1, 2, 5):
        torch.testing.assert_close(opened.f(images(count)), network()(images(count)))
    with pytest.raises(InputError, match=r"takes images of \(1, 6, 6\), not \(1, 8, 8\)"):
        open_model(str(exported / name), input_shape=(1, 8, 8))


def test_a_program_exported_in_training_mode_casts_no_votes(exported):
    """torch does not let us ask for the mode: the guard before the first vote finds it out."""
    f = open_model(str(exported / "train.pt2")).f
    with pytest.raises(InputError, match="depends on the other images of its batch"):
        SmoothedClassifier(f, Gaussian(0.1), 4).votes(images(1)[0], 10)


def rewritten(source, target, change):
    """A copy of the archive: `change` gets and gives the content of each member."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as made:
        for info in archive.infolist():
            made.writestr(zipfile.ZipInfo(info.filename), change(info.filename, archive.read(info)))
    return str(target)


class Evil:
    def __reduce__(self):
        return (print, ("EXECUTED",))


def hostile(kind):
    """Ways to make torch.export.load run Python: all but the last do, where the file does not come through our door."""
    pickled = io.BytesIO()
    torch.save(Evil(), pickled)

    def change(name, content):
        if kind == "inputs" and name.endswith("sample_inputs/model.pt"):
            return pickled.getvalue()
        if kind == "weight" and name.endswith("weight_0"):
            return pickled.getvalue()
        if kind == "weight" and name.endswith("weights_config.json"):
            return content.replace(b'"use_pickle": false', b'"use_pickle": true', 1)
        if kind == "guard" and name.endswith("model.json"):
            return json.dumps(json.loads(content) | {"guards_code": ["print('EXECUTED') is None"]}).encode()
        if kind == "shape" and name.endswith("model.json"):
            at = content.index(b'"expr_str": "') + len(b'"expr_str": "')
            return content[:at] + b"print('EXECUTED') or " + content[at:]
        if kind == "operator" and name.endswith("model.json"):
            return content.replace(b"torch.ops.aten.relu.default", b"torch.hub.load")
        return content

    return change


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        ("inputs", None),
        ("guard", None),
        ("weight", "a tensor in it is pickled"),
        ("shape", "expr_str"),
        ("operator", "'torch.hub.load'"),
    ],
)
def test_nothing_of_an_exported_file_is_executed_as_python(exported, tmp_path, capsys, kind, refusal):
    path = rewritten(exported / "any.pt2", tmp_path / "evil.pt2", hostile(kind))
    if refusal is None:  # what is not needed is left out, and the network is as it was
        torch.testing.assert_close(open_model(path).f(images()), network()(images()))
    else:
        with pytest.raises(InputError, match=refusal):
            open_model(path)
    assert "EXECUTED" not in capsys.readouterr().out
