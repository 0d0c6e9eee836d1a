"""MNIST-like data: the split that comes with pip, IDX files as they are found in the wild, and fetching them."""

import gzip
import hashlib
import io
import struct
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch

from smoothcert.data import DATASETS, fetch, load
from smoothcert.data.mnist import read_idx
from smoothcert.errors import InputError

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
LABELS = np.array([3, 1, 9], np.uint8)
SHARED = Path(__file__).parents[3] / "shared" / "data" / "mnist"


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder, zipped=True, part="t10k"):
    folder.mkdir(parents=True, exist_ok=True)
    for kind, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS)):
        data = idx(array)
        path = folder / f"{part}-{kind}-ubyte{'.gz' if zipped else ''}"
        path.write_bytes(gzip.compress(data) if zipped else data)


@pytest.mark.parametrize("layout", ["MNIST/raw", "MNIST", "mnist", "."])
@pytest.mark.parametrize("zipped", [True, False])
def test_the_usual_layouts_are_found(tmp_path, layout, zipped, monkeypatch):
    write_mnist(tmp_path / layout, zipped)
    monkeypatch.setenv("SMOOTHCERT_DATA", str(tmp_path))
    test = load("mnist", "test")
    x, y = test.batch(torch.tensor([2, 0]))
    assert (test.shape, len(test), y.tolist()) == ((1, 28, 28), 3, [9, 3])
    assert torch.equal(x[1, 0], torch.from_numpy(IMAGES[0]).float() / 255)
    assert load("mnist", "test", tmp_path).fingerprint == test.fingerprint


def test_a_given_folder_goes_before_the_environment(tmp_path, monkeypatch):
    write_mnist(tmp_path / "given")
    monkeypatch.setenv("SMOOTHCERT_DATA", str(tmp_path / "elsewhere"))
    assert len(load("mnist", "test", tmp_path / "given")) == 3
    with pytest.raises(InputError, match="elsewhere"):
        load("mnist", "test")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d[:-1], "truncated"),
        (lambda d: d[:10], "not an IDX file"),
        (lambda d: d + b"\0", "after its end"),
        (lambda d: b"\0\0\x09\x03" + d[4:], "not an IDX file"),
        (lambda d: d[:4] + struct.pack(">III", 10**9, 10**3, 1) + d[16:], "claims"),
        (lambda d: gzip.compress(d)[:-20], "fetch it again"),
        (lambda d: b"\x1f\x8b" + d, "fetch it again"),
        (lambda d: b"", "not an IDX file"),
    ],
)
def test_broken_idx_files_are_refused(tmp_path, damage, message):
    path = tmp_path / "images"
    path.write_bytes(damage(idx(IMAGES)))
    with pytest.raises(InputError, match=message):
        read_idx(path, rank=3)


def test_images_and_labels_must_belong_together(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS[:2])))
    with pytest.raises(InputError, match="3 images but 2 labels"):
        load("mnist", "test", tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([1, 2, 10], np.uint8))))
    with pytest.raises(InputError, match="0 … 9"):
        load("mnist", "test", tmp_path)


def test_mnist5k_is_a_fixed_split_of_real_digits():
    train, test = load("mnist5k", "train"), load("mnist5k", "test")
    assert (len(train), len(test), train.shape, train.num_classes) == (4000, 1000, (1, 28, 28), 10)
    both = torch.cat([train.images, test.images]).flatten(1).numpy()
    assert len({row.tobytes() for row in both}) > 4990  # no image in both halves, up to true duplicates
    assert torch.bincount(torch.cat([train.labels, test.labels])).tolist() == [500] * 10
    assert test.fingerprint == "bd55c93b5fd6ae18649c98bb6115576920dc3423f99330964f3f855fcfbc3906"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the full MNIST (../shared/data) is not here")
def test_mnist_has_its_images_and_labels_in_the_usual_order():
    test = load("mnist", "test", SHARED)
    assert len(test) == 10_000 and test.labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert len(load("mnist", "train", SHARED)) == 60_000


@pytest.fixture
def server(tmp_path):
    """A web server on this machine with the files of a small data set."""
    site = tmp_path / "site"
    for part in ("train", "t10k"):
        write_mnist(site, part=part)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield site, f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


def small_family(site, url, monkeypatch):
    md5 = {path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in sorted(site.iterdir())}
    monkeypatch.setitem(fetch.FETCHABLE, "mnist", fetch.Source(url, "MNIST/raw", md5))


def test_fetching_writes_only_what_is_right_and_missing(tmp_path, server, monkeypatch):
    site, url = server
    small_family(site, url, monkeypatch)
    assert [fresh for _, fresh in fetch.fetch("mnist", tmp_path)] == [True] * 4
    assert len(load("mnist", "train", tmp_path)) == 3
    (tmp_path / "MNIST" / "raw" / "t10k-labels-idx1-ubyte.gz").write_bytes(b"damaged")
    assert sorted(fresh for _, fresh in fetch.fetch("mnist", tmp_path)) == [False] * 3 + [True]


def test_an_archive_is_unpacked_once_and_only_inside_its_folder(tmp_path, server, monkeypatch):
    site, url = server
    with tarfile.open(site / "a.tar.gz", "w:gz") as tar:
        for name in ("cifar-10-batches-bin/test_batch.bin", "../../escaped.bin", "/escaped.bin", "x/skipped.html"):
            member = tarfile.TarInfo(name)
            member.size = 5
            tar.addfile(member, io.BytesIO(b"bytes"))
    md5 = {"a.tar.gz": hashlib.md5((site / "a.tar.gz").read_bytes()).hexdigest()}
    monkeypatch.setitem(fetch.FETCHABLE, "cifar10", fetch.Source(url, "deep/folder", md5, (".bin",)))
    assert [fresh for _, fresh in fetch.fetch("cifar10", tmp_path / "data")] == [True]
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.bin"))
    assert found == ["data/deep/folder/escaped.bin", "data/deep/folder/test_batch.bin"]
    assert [fresh for _, fresh in fetch.fetch("cifar10", tmp_path / "data")] == [False]


def test_a_wrong_download_is_never_written(tmp_path, server, monkeypatch):
    site, url = server
    small_family(site, url, monkeypatch)
    for path in site.iterdir():
        path.write_bytes(b"something else")
    with pytest.raises(InputError, match="MD5"):
        list(fetch.fetch("mnist", tmp_path))
    assert list((tmp_path / "MNIST" / "raw").iterdir()) == []


def test_a_server_that_does_not_answer_gives_one_line(tmp_path):
    for mirror in ("http://127.0.0.1:9/", "nonsense", "file:///nowhere/"):
        with pytest.raises(InputError, match="cannot be downloaded"):
            list(fetch.fetch("mnist", tmp_path, mirror))


def test_unknown_names_get_a_suggestion():
    with pytest.raises(InputError, match="did you mean mnist5k"):
        load("mnist5", "train")
    with pytest.raises(InputError, match="train, test and held-out-N"):
        load("mnist5k", "validation")
    assert "fake" in DATASETS
