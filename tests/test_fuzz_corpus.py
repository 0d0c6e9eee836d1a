"""Hostile and broken files: each reader gives a value or an InputError, in time, in memory, and executes nothing."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("limits and audits as Linux has them", allow_module_level=True)
pytest.importorskip("onnx", reason="needs the extra onnx")
pytest.importorskip("onnxruntime", reason="needs the extra onnx")

import torch
from fuzz.__main__ import CORPUS, make_input, warm_up, watch_one
from fuzz.readers import READERS
from fuzz.watch import watched

from smoothcert import data
from smoothcert.errors import InputError

torch.set_num_threads(1)
BY_NAME = {reader.name: reader for reader in READERS}
MUTATED = 80  # inputs of each reader here; `make fuzz` takes thousands
SMALL = 100_000  # bytes: the bombs are left to `make fuzz`
FINDS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", FINDS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_was_once_found_is_refused_or_read(path, tmp_path):
    reader = BY_NAME[path.parent.name]
    warm_up(reader, tmp_path)
    outcome = watch_one(reader, path.read_bytes(), tmp_path, 5.0)
    assert not outcome.find, outcome.details


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_good_files_are_read(reader, tmp_path):
    warm_up(reader, tmp_path)
    for seed in reader.seeds if reader.name not in ("mnist5k", "recipe-name") else ():
        outcome = watch_one(reader, seed, tmp_path, 10.0)
        assert outcome.accepted and not outcome.find, outcome.details


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_hostile_and_mutated_files_are_refused_or_read(reader, tmp_path):
    warm_up(reader, tmp_path)
    first = len(reader.seeds) + len(reader.hostile)
    inputs = [bad for bad in reader.hostile if len(bad) < SMALL]
    inputs += [make_input(reader, 1, i) for i in range(first, first + int(MUTATED * min(reader.share, 1)))]
    found = {}
    for number, bad in enumerate(inputs):
        outcome = watch_one(reader, bad, tmp_path, 10.0)
        if outcome.find:
            found[outcome.find] = f"input {number}: {outcome.details}"
    assert not found, "\n".join(found.values())


def test_an_input_is_a_function_of_seed_reader_and_number():
    reader = BY_NAME["toml"]
    first = len(reader.seeds) + len(reader.hostile)
    again = [[make_input(reader, seed, i) for i in range(first, first + 20)] for seed in (3, 3, 4)]
    assert again[0] == again[1] != again[2]


def _executes(path: Path) -> None:
    from fuzz import canary

    canary.fire()
    raise InputError("refused, but too late")


def _writes_elsewhere(path: Path) -> None:
    (path.parent.parent / "elsewhere").write_text("x")


def _swallows_everything(path: Path) -> None:
    try:
        while True:
            time.sleep(0.01)
    except Exception as error:
        raise InputError("slow") from error


def _believes_a_header(path: Path) -> None:
    try:
        bytearray(10**12)
    except MemoryError as error:
        raise InputError("refused, by the machine") from error


def _fails(path: Path) -> None:
    raise KeyError("x")


@pytest.mark.parametrize(
    ("read", "find"),
    [
        (_executes, "executed"),
        (lambda path: subprocess.run(["true"], check=True), "executed"),
        (_writes_elsewhere, "executed"),
        (_swallows_everything, "slow"),
        (_believes_a_header, "memory"),
        (_fails, "KeyError"),
    ],
)
def test_the_watch_sees_what_a_reader_must_not_do(read, find, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    path = folder / "input"
    path.write_bytes(b"")
    assert watched(read, path, 0.3).find.startswith(find)
    assert not watched(Path.read_bytes, path).find


def test_the_watch_sees_memory_that_is_really_taken(tmp_path):
    (tmp_path / "input").write_bytes(b"")
    # in a process of its own: the peak of one that has had higher ones says nothing
    code = f"from fuzz.watch import *; print(watched(lambda p: b'x' * 2**29, Path({str(tmp_path / 'input')!r})).find)"
    root = CORPUS.parents[1]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True).stdout == "resident\n"


def test_a_pipe_among_photographs_is_not_waited_for(tmp_path):
    from PIL import Image

    for kind in range(10):
        folder = tmp_path / "imagenette" / "val" / str(kind)
        folder.mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(folder / "a.png")
    os.mkfifo(tmp_path / "imagenette" / "val" / "0" / "b.png")
    assert len(data.load("imagenette", "test", tmp_path)) == 10


def test_no_reader_is_left_out():
    """A module of ours that opens files by itself is read by a target here, or writes only."""
    source = Path(data.__file__).parents[1]
    opening = {
        str(path.relative_to(source).with_suffix(""))
        for path in source.rglob("*.py")
        if any(
            word in path.read_text() for word in ("read_bytes(", "read_text(", "np.load(", "Image.open(", "torch.load(")
        )
    }
    known = {
        "report/page",  # its own template
        "certification/pilot", "certification/predict_run", "data/cifar10", "data/fetch", "data/image",
        "data/own_arrays", "data/own_labels",
        "interchange/diffusers_unet", "interchange/export", "interchange/program",
        "interchange/onnx", "interchange/pth", "interchange/weights", "paper/published", "paper/table",
        "recipes/recipe_file", "records/secret_seed", "records/signature",
        "certification/seal",  # a log that was just read, up to its closing row
        "files/reading", "records/run_folder", "records/training_log", "reproduction/plan",
    }  # fmt: skip
    assert opening <= known, f"give {opening - known} a target in fuzz/readers, then name it here"
