"""Images put aside: none is trained on, none is lost, and a run says which of them it was certified on."""

import pytest
import torch
from tests.cli.running import fails, smoothcert

from smoothcert import certify_run, train
from smoothcert.data import load, splits
from smoothcert.errors import InputError
from smoothcert.recipes import find_recipe, override
from smoothcert.records.log import read_certification

TRAIN = load("fake", "train")


def pixels(images, indices=None):
    return images.batch(torch.arange(len(images)) if indices is None else indices)[0]


@pytest.mark.parametrize("count", [1, 7, 100, 319])
def test_every_training_image_is_in_one_of_both(count):
    rest, aside = (load("fake", split) for split in splits(count))
    assert len(aside) == count == len(aside.labels) and len(rest) == len(TRAIN) - count
    found = torch.cat([pixels(rest), pixels(aside)]).flatten(1)
    assert sorted(found.tolist()) == sorted(pixels(TRAIN).flatten(1).tolist())
    assert torch.equal(torch.cat([rest.labels, aside.labels]).sort()[0], TRAIN.labels.sort()[0])


def test_they_are_evenly_spaced_and_keep_their_labels_and_augmentation():
    aside = load("fake", "held-out-32")
    every_tenth = torch.arange(0, 320, 10)
    assert torch.equal(pixels(aside), pixels(TRAIN, every_tenth)) and torch.equal(aside.labels, TRAIN.labels[::10])
    ((x, y),) = aside.batches([torch.tensor([3, 1])], key=(0, 0))
    ((z, w),) = TRAIN.batches([torch.tensor([30, 10])], key=(0, 0))
    assert torch.equal(x, z) and torch.equal(y, w)


def test_fingerprints_tell_them_apart():
    assert len({load("fake", s).fingerprint for s in ("train", "test", "held-out-9", "held-out-8", *splits(7))}) == 6


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ("held-out-320", "320 cannot be put aside"),
        ("train-without-999999999", "cannot be put aside"),
        ("held-out-0", "unknown split"),
        ("held-out--3", "unknown split"),
        ("held-out-1e3", "unknown split"),
        ("validation", "unknown split"),
    ],
)
def test_what_cannot_be_put_aside_is_refused(split, said):
    with pytest.raises(InputError, match=said):
        load("fake", split)


def test_a_run_is_certified_on_what_it_put_aside_unless_told_otherwise(tmp_path):
    recipe = override(find_recipe("mnist5k/gaussian/0.50"), ["data=fake", "epochs=1", "held_out=40"])
    run = train(recipe, tmp_path / "run").finish()
    log = certify_run(run, n=100, every=8).finish()
    data = read_certification(log).header.data
    assert (data.split, data.images, data.fingerprint) == ("held-out-40", 40, load("fake", "held-out-40").fingerprint)
    other = certify_run(run, tmp_path / "test.jsonl", n=100, every=8, split="test").finish()
    assert read_certification(other).header.data.split == "test"


def test_by_the_command_line(tmp_path):
    settings = ("data=fake", "epochs=1", "held_out=40")
    trained = smoothcert("train", "mnist5k/gaussian/0.50", "--set", *settings, "--out", "run", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    done = smoothcert("certify", "run", "--split", "train", "--every", "40", "--n", "100", cwd=tmp_path)
    assert "8 of 8 images" in done.stdout
    assert "unknown split 'tset'" in fails("certify", "run", "--split", "tset", "--out", "x", cwd=tmp_path)
    assert "held_out must be" in fails("train", "mnist5k/gaussian/0.50", "--set", "held_out=0", cwd=tmp_path)
