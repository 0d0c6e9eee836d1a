"""A recipe's `shift`: training images move by whole pixels, test images and a first network's do not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from PIL import Image
from tests.training.test_loop import CPU, RECIPE, TEST, TRAIN, run

from smoothcert.data import load
from smoothcert.data.augment import Shifts
from smoothcert.data.held_out import part_of
from smoothcert.errors import InputError
from smoothcert.recipes import from_dict, override, to_dict
from smoothcert.training.loop import augmented, train_on

SHIFTED = replace(RECIPE, shift=2)
ALL = torch.arange(len(TRAIN))


def shown(recipe, key):
    return next(augmented(recipe, TRAIN).batches([ALL], key))[0]


def test_every_image_is_shown_moved_and_never_mirrored_and_all_moves_occur():
    x, _ = TRAIN.batch(ALL)
    wide = torch.nn.functional.pad(x, (2, 2, 2, 2))
    moves = [wide[:, :, top : top + 28, left : left + 28] for top in range(5) for left in range(5)]
    found = torch.stack([(shown(SHIFTED, (0, 0)) == moved).flatten(1).all(1) for moved in moves])
    assert bool(found.any(0).all()) and bool(found.any(1).all())


def test_what_is_left_when_images_are_put_aside_is_shifted_alike():
    part = part_of(TRAIN, "train-without-20", 20)
    x = next(augmented(SHIFTED, part).batches([torch.arange(len(part))], (0, 0)))[0]
    assert torch.equal(x, shown(SHIFTED, (0, 0))[part.indices])


def test_a_shift_takes_the_place_of_what_the_data_set_does_and_keeps_its_flips():
    cropped = replace(TRAIN, augmentation=Shifts(4))
    assert augmented(SHIFTED, cropped).augmentation == Shifts(2, flip=True)
    assert augmented(SHIFTED, TRAIN).augmentation == Shifts(2, flip=False)
    assert augmented(RECIPE, cropped) is cropped
    assert torch.equal(shown(replace(RECIPE, shift=0), (0, 0)), TRAIN.batch(ALL)[0])


def test_a_stopped_training_with_shifts_ends_with_the_same_weights_and_others_than_without(tmp_path):
    whole = run(tmp_path / "whole", SHIFTED)
    assert run(tmp_path / "stopped", SHIFTED, stop_after=4) is None
    assert run(tmp_path / "stopped", SHIFTED) == whole != run(tmp_path / "plain", RECIPE)


def test_a_recipe_without_it_is_written_as_ever_and_one_with_it_is_read_again():
    assert "shift" not in to_dict(RECIPE)
    assert from_dict(to_dict(SHIFTED)) == SHIFTED == override(RECIPE, ["shift=2"])


@pytest.mark.parametrize("shift", [-1, 10**10])
def test_a_shift_of_no_sense_is_refused(shift):
    with pytest.raises(InputError, match="shift must be a number of pixels"):
        replace(RECIPE, shift=shift)


def test_a_shift_out_of_the_frame_is_refused_before_the_folder_is_made(tmp_path):
    with pytest.raises(InputError, match="shift of 28 can push images of 28×28 out of the frame"):
        list(train_on(replace(RECIPE, shift=28), tmp_path / "run", TRAIN, TEST, CPU))
    assert not (tmp_path / "run").exists()


def test_photographs_are_cropped_anyway(photographs):
    with pytest.raises(InputError, match="read from disk"):
        augmented(SHIFTED, load("imagenette", "train", photographs))


@pytest.fixture
def photographs(tmp_path):
    for kind in range(10):
        folder = tmp_path / "imagenette" / "train" / f"n{kind}"
        folder.mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(folder / "one.png")
    return tmp_path
