"""TorchScript and torch.export's files through the common door, and what they may not do."""

import zipfile

import pytest
import torch
from torch import nn

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
        open_model(str(path), trust=True)
    for told in ({"input_shape": SHAPE}, {"image_shape": SHAPE}):
        opened = open_model(str(path), **told, trust=True)
        assert (opened.num_classes, opened.input_shape) == (4, SHAPE)
    assert opened.about["variant"] == "TorchScript, as given" and len(opened.about["sha256"]) == 64
    torch.testing.assert_close(opened.f(images()), network()(images()))


def test_no_program_is_opened_unless_its_user_trusts_it(tmp_path, exported, monkeypatch):
    path = tmp_path / "f.pt"
    torch.jit.script(network()).save(path)
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(tmp_path / "upper.pt", "w") as made:
        for info in archive.infolist():  # torch finds members in any case
            made.writestr(info.filename.replace("/code/", "/CODE/"), archive.read(info))
    monkeypatch.setattr(torch.jit, "load", None)
    monkeypatch.setattr(torch.export, "load", None)
    for file in (path, tmp_path / "upper.pt", exported / "any.pt2"):
        with pytest.raises(InputError, match="runs code of whoever made the file: if you trust it, give --trust"):
            open_model(str(file), input_shape=SHAPE)


def test_a_damaged_program_is_told_in_one_line(tmp_path):
    path = tmp_path / "f.pt"
    torch.jit.script(network()).save(path)
    data = path.read_bytes()
    for cut in (data[: len(data) // 2], data.replace(b"conv", b"c\x00nv")):
        path.write_bytes(cut)
        with pytest.raises(InputError) as error:
            open_model(str(path), input_shape=SHAPE, trust=True)
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
    opened = open_model(str(exported / name), trust=True)
    assert (opened.num_classes, opened.input_shape) == (4, SHAPE)
    assert opened.about["variant"] == "torch.export, as given"
    for count in (1, 2, 5):
        torch.testing.assert_close(opened.f(images(count)), network()(images(count)))
    with pytest.raises(InputError, match=r"takes images of \(1, 6, 6\), not \(1, 8, 8\)"):
        open_model(str(exported / name), input_shape=(1, 8, 8), trust=True)


def test_a_program_exported_in_training_mode_casts_no_votes(exported):
    """torch does not let us ask for the mode: the guard before the first vote finds it out."""
    f = open_model(str(exported / "train.pt2"), trust=True).f
    with pytest.raises(InputError, match="depends on the other images of its batch"):
        SmoothedClassifier(f, Gaussian(0.1), 4).votes(images(1)[0], 10)
