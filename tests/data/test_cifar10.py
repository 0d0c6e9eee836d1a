from __future__ import annotations

import hashlib
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from beside import unpacker
from tests.bomb import Bomb

from smoothcert import data
from smoothcert.data import cifar10
from smoothcert.errors import InputError

ROWS = 20  # a file, in these tests

PIXELS = np.random.Generator(np.random.PCG64(0)).integers(0, 256, (6 * ROWS, 3072), dtype=np.uint8)
LABELS = np.arange(6 * ROWS, dtype=np.uint8) * 3 % 10
PARTS = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]


@pytest.fixture(scope="module")
def real_data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    unpacker().cifar10(root / "cifar-10-batches-bin")
    return root


@pytest.fixture(autouse=True)
def small_files(request, monkeypatch):
    if "real_data" not in request.fixturenames:
        monkeypatch.setattr(cifar10, "PER_FILE", ROWS)


def part(i: int) -> tuple[np.ndarray, np.ndarray]:
    return PIXELS[i * ROWS : (i + 1) * ROWS], LABELS[i * ROWS : (i + 1) * ROWS]


def binary(root: Path) -> Path:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for i, name in enumerate(PARTS):
        x, y = part(i)
        (folder / f"{name}.bin").write_bytes(np.hstack([y[:, None], x]).tobytes())
    return folder


def python_2(x: np.ndarray, y: list[int]) -> bytes:
    """A batch as Python 2 pickled it, opcode by opcode: byte strings for everything, protocol 2."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value

    def whole(value: int) -> bytes:
        return b"K" + bytes([value]) if 0 <= value < 256 else b"J" + struct.pack("<i", value)

    shape = b"M" + struct.pack("<H", len(x)) + b"M" + struct.pack("<H", x.shape[1]) + b"\x86"
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R(K\x03" + text(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85" + text(b"b") + b"\x87R"
    state = b"(K\x01" + shape + dtype + b"K\x00tb\x89" + text(x.tobytes()) + b"tb"
    labels = b"](" + b"".join(map(whole, y)) + b"e"
    names = b"](" + text(b"a.png") + b"e"
    items = text(b"data") + array + state + text(b"labels") + labels + text(b"filenames") + names
    return b"\x80\x02}(" + text(b"batch_label") + text(b"batch 1 of 5") + items + b"u."


def python_3(protocol: int) -> Any:
    return lambda x, y: pickle.dumps({"data": x, "labels": y, "filenames": ["a.png"]}, protocol)


WRITERS = {"python 2": python_2, **{f"protocol {p}": python_3(p) for p in (2, 3, 4)}}


def pickled(root: Path, write: Any = python_2) -> Path:
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for i, name in enumerate(PARTS):
        x, y = part(i)
        (folder / name).write_bytes(write(x, y.tolist()))
    return folder


def test_the_binary_files_give_their_images_and_labels(tmp_path):
    binary(tmp_path)
    train, test = (data.load("cifar10", split, tmp_path) for split in ("train", "test"))
    assert (len(train), len(test), train.shape, train.num_classes) == (5 * ROWS, ROWS, (3, 32, 32), 10)
    x, y = train.batch(torch.arange(5 * ROWS))
    assert np.array_equal((x * 255).round().numpy().reshape(-1, 3072), PIXELS[: 5 * ROWS])
    assert y.tolist() == LABELS[: 5 * ROWS].tolist()
    assert test.batch(torch.arange(ROWS))[1].tolist() == LABELS[5 * ROWS :].tolist()


@pytest.mark.parametrize("writer", WRITERS)
def test_the_pickles_hold_the_same_data(writer, tmp_path):
    binary(tmp_path / "a")
    pickled(tmp_path / "b", WRITERS[writer])
    for split in ("train", "test"):
        one, two = (data.load("cifar10", split, tmp_path / root) for root in "ab")
        assert one.fingerprint == two.fingerprint


def test_the_python_2_pickle_of_this_test_is_what_python_reads_as_such():
    x, y = part(0)
    found = pickle.loads(python_2(x, y.tolist()), encoding="bytes")
    assert np.array_equal(found[b"data"], x) and found[b"labels"] == y.tolist()


def test_training_images_are_augmented_and_test_images_are_not(tmp_path):
    binary(tmp_path)
    train, test = (data.load("cifar10", split, tmp_path) for split in ("train", "test"))
    everything = torch.arange(ROWS)
    assert not torch.equal(next(train.batches([everything], (0, 0)))[0], train.batch(everything)[0])
    assert torch.equal(next(test.batches([everything], (0, 0)))[0], test.batch(everything)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b[:-1], "is truncated"),
        (lambda b: b[: 10 * 3073], "is truncated"),  # at the end of a record
        (lambda b: b"", "is truncated"),
        (lambda b: b + b"\0", "has bytes after its end"),
        (lambda b: b"\x0a" + b[1:], "label 10 is not one of 0 … 9"),
    ],
)
def test_a_damaged_binary_file_is_named(change, message, tmp_path):
    path = binary(tmp_path) / "data_batch_3.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=f"data_batch_3.bin: {message}"):
        data.load("cifar10", "train", tmp_path)


@pytest.mark.parametrize("keep", [0, 1, 2, 40, 200, 5_000, -1, -2])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_truncated_pickle_is_named(writer, keep, tmp_path):
    path = pickled(tmp_path, WRITERS[writer]) / "data_batch_3"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"data_batch_3: not a pickle, or truncated"):
        data.load("cifar10", "train", tmp_path)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_executes_is_refused_and_nothing_runs(protocol, tmp_path):
    x, y = part(5)
    path = pickled(tmp_path) / "test_batch"
    path.write_bytes(pickle.dumps({"x": Bomb(tmp_path / "ran"), "data": x, "labels": y.tolist()}, protocol))
    with pytest.raises(InputError, match=r"test_batch: refused, and nothing in it was executed.*asks for \w+\.mkdir"):
        data.load("cifar10", "test", tmp_path)
    assert not (tmp_path / "ran").exists()
    pickle.loads(path.read_bytes())
    assert (tmp_path / "ran").exists()  # the bomb was live


@pytest.mark.parametrize(
    "attack",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"cnumpy\nndarray.__class__\n.",
        b"\x80\x02cnumpy.core.multiarray\nscalar\n.",
        b"\x82\x01.",  # copyreg extension
        b"Pname\n.",  # persistent id
        b"cnumpy\ndtype\n(dS'__setstate__'\nI1\nsb.",
        b"c_codecs\nencode\n}S'__code__'\nI1\nsb.",
    ],
)
def test_no_pickle_gets_hold_of_anything_callable(attack, tmp_path):
    (pickled(tmp_path) / "test_batch").write_bytes(attack)
    with pytest.raises(InputError, match="test_batch: "):
        data.load("cifar10", "test", tmp_path)
    assert len(data.load("cifar10", "train", tmp_path)) == 5 * ROWS  # and the next file is read as ever


def test_deeply_nested_pickles_are_refused_and_python_survives():
    """Hashing such a tuple overflows the stack of the interpreter, which no exception handler sees."""
    code = """
from pathlib import Path
from smoothcert.data.inert_pickle import read_pickle, InputError
for end in (b"K\\x01s", b"K\\x01(ds", b"1(NNNu", b"(K\\x01ud", b"\\x91", b"\\x90", b"K\\x01u", b"d", b""):
    try:
        read_pickle(Path("deep"), b"\\x80\\x04}(" + b")" + b"\\x85" * 150_000 + end + b".")
    except InputError:
        pass
print("alive")
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "alive\n")


@pytest.mark.parametrize("size", [2**31 - 1, 2**62])
def test_a_pickle_cannot_ask_for_memory_it_does_not_bring(size, tmp_path):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # a string longer than the file, and a memo of 2²⁷ places
    attacks = [b"\x80\x04\x8e" + struct.pack("<Q", size) + b"abc.", b"\x80\x04Nr\0\0\0\x08."]
    for attack in attacks:
        (pickled(tmp_path / str(len(attack))) / "test_batch").write_bytes(attack)
        with pytest.raises(InputError, match="test_batch: "):
            data.load("cifar10", "test", tmp_path / str(len(attack)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (PIXELS[:ROWS], [3] * 19 + [10], "label 10 is not one of"),
        (PIXELS[:ROWS], [3] * 19 + [-1], "label -1 is not one of"),
        (PIXELS[:ROWS], [3] * 19, "20 whole numbers are expected as labels"),
        (PIXELS[:ROWS], [3] * 19 + [2**80], "20 whole numbers are expected as labels"),
        (PIXELS[:ROWS], [3] * 19 + [1.0], "20 whole numbers are expected as labels"),
        (PIXELS[:ROWS], "labels", "without the arrays"),
        (PIXELS[: ROWS - 1], [3] * 20, r"its array is not \(20, 3072\) of bytes"),
        (PIXELS[:ROWS].astype(np.int16), [3] * 20, r"its array is not \(20, 3072\) of bytes"),
        (np.asfortranarray(PIXELS[:ROWS]), [3] * 20, r"its array is not \(20, 3072\) of bytes"),
        (b"data", [3] * 20, "without the arrays"),
    ],
)
def test_a_pickle_of_something_else_is_named(x, y, message, tmp_path):
    path = pickled(tmp_path) / "test_batch"
    path.write_bytes(pickle.dumps({"data": x, "labels": y}, 4))
    with pytest.raises(InputError, match=f"test_batch: .*{message}"):
        data.load("cifar10", "test", tmp_path)


def test_a_missing_part_is_named(tmp_path):
    (binary(tmp_path) / "data_batch_4.bin").unlink()
    with pytest.raises(InputError, match=r"data_batch_4.bin: is missing"):
        data.load("cifar10", "train", tmp_path)


def test_missing_data_say_how_to_get_them(tmp_path):
    with pytest.raises(InputError, match="smoothcert data fetch cifar10"):
        data.load("cifar10", "train", tmp_path)


def test_the_real_files_are_read_as_they_are(real_data):
    """Checked against SHA-1 of the originals: the reader gives back every byte of every file."""
    train, test = (data.load("cifar10", split, real_data) for split in ("train", "test"))
    assert (len(train), len(test)) == (50_000, 10_000)
    assert train.labels.bincount().tolist() == [5000] * 10 and test.labels.bincount().tolist() == [1000] * 10
    rows = np.hstack([test.labels.numpy()[:, None].astype(np.uint8), test.images.numpy().reshape(10_000, -1)])
    assert hashlib.sha1(rows.tobytes()).hexdigest() == "67eb016db431130d61cd03c7ad570b013799c88c"
    # the mean that the networks subtract is the mean of these images
    assert train.images.double().mean((0, 2, 3)).div(255).numpy() == pytest.approx((0.4914, 0.4822, 0.4465), abs=1e-4)
