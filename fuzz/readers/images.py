"""Images, arrays and archives."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np

from fuzz import hostile
from fuzz.mutate import BYTES, TEXT, rezip, tar_members
from fuzz.readers.base import OPCODES, ZIP, Reader, constant, gzipped_heads
from fuzz.readers.logs import tsv_seeds
from fuzz.watch import RESIDENT
from smoothcert.data import cifar10

IMAGES = 4  # in a file of CIFAR-10, where the real ones have ten thousand


def idx_seeds() -> list[bytes]:
    images = b"\0\0\x08\x03" + struct.pack(">3I", 3, 4, 4) + bytes(range(48))
    return [images, gzip.compress(images, mtime=0)]


def idx_label_seeds() -> list[bytes]:
    labels = b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes(range(5))
    return [labels, gzip.compress(labels, mtime=0)]


def read_idx_images(path: Path) -> object:
    from smoothcert.data.dataset import Dataset
    from smoothcert.data.mnist import read_idx

    images = read_idx(path, rank=3)
    return Dataset.of("mnist", "test", images[:, None], np.zeros(len(images), np.uint8), 10)


def read_idx_labels(path: Path) -> object:
    from smoothcert.data.dataset import Dataset
    from smoothcert.data.mnist import read_idx

    labels = read_idx(path, rank=1)
    return Dataset.of("mnist", "test", np.zeros((5, 1, 4, 4), np.uint8), labels, 10)


def cifar_rows() -> tuple[np.ndarray, list[int]]:
    return np.arange(IMAGES * 3072, dtype=np.uint64).astype(np.uint8).reshape(IMAGES, 3072), list(range(IMAGES))


def cifar_binary_seeds() -> list[bytes]:
    pixels, labels = cifar_rows()
    return [np.hstack([np.array(labels, np.uint8)[:, None], pixels]).tobytes()]


def cifar_pickle_seeds() -> list[bytes]:
    import pickle

    pixels, labels = cifar_rows()
    return [pickle.dumps({"data": pixels, "labels": labels, "filenames": ["a.png"]}, p) for p in (2, 3, 4)]


def read_cifar(path: Path) -> object:
    before, cifar10.PER_FILE = cifar10.PER_FILE, IMAGES
    try:
        return cifar10._read_part(path)
    finally:
        cifar10.PER_FILE = before


def picture_seeds(turned: bool = True) -> list[bytes]:
    from PIL import Image

    pixels = np.arange(12 * 10 * 3, dtype=np.uint16).astype(np.uint8).reshape(12, 10, 3)
    made = []
    for kind, mode in (("PNG", "RGB"), ("JPEG", "RGB"), ("WEBP", "RGB"), ("BMP", "RGB"), ("PPM", "RGB"), ("PNG", "P"),
                       ("PNG", "LA"), ("PNG", "I;16")):  # fmt: skip
        out = io.BytesIO()
        image = Image.fromarray(pixels)
        image = image.convert("L").convert("I").convert(mode) if mode == "I;16" else image.convert(mode)
        exif = Image.Exif()
        exif[0x0112] = 6
        image.save(out, kind, **({"exif": exif} if turned and kind in ("JPEG", "PNG", "WEBP") else {}))
        made.append(out.getvalue())
    return made


def read_picture(path: Path) -> object:
    from smoothcert.data.decoding import decode

    return decode((str(path), None)), decode((str(path), "key"))


def read_picture_to_predict(path: Path) -> object:
    from smoothcert.certification.predict_run import read_image

    return read_image(path, (3, 12, 10))


def npy_seeds() -> list[bytes]:
    out = io.BytesIO()
    np.save(out, np.linspace(0, 1, 360, dtype=np.float32).reshape(3, 12, 10))
    return [out.getvalue()]


def own_array_seeds() -> list[bytes]:
    pixels = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    return [hostile.array_npz(images=pixels, labels=np.arange(2)), hostile.array_npz(x=pixels / 255)]


def read_own_images(path: Path) -> object:
    from smoothcert.data import own_images

    return own_images(path)


def read_own_labels(path: Path) -> object:
    from smoothcert.data.own_labels import label_each, numbered, read_csv

    files = ["a.png", "b/c.png"]
    return numbered(label_each(files, read_csv(path), path.parent, path), files, str(path), None)


def read_mnist5k(path: Path) -> object:
    from smoothcert.data.mnist5k import _digits

    return _digits(path)


def tar_seeds() -> list[bytes]:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in (
            ("c/data_batch_1.bin", b"x" * 700),
            ("c/batches.meta.txt", b"cat\n"),
            ("c/readme.html", b""),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return [out.getvalue()]


def read_tar(path: Path) -> object:
    from smoothcert.data.fetch import _unpack

    folder = path.parent / "unpacked"
    folder.mkdir(exist_ok=True)
    return _unpack(path.read_bytes(), folder, (".bin", ".txt"))


READERS = (
    Reader("idx-images", "", idx_seeds, read_idx_images, (*BYTES, rezip, rezip), constant(hostile.idx_files), 2),
    Reader("idx-labels", "", idx_label_seeds, read_idx_labels, (*BYTES, rezip, rezip), constant(hostile.idx_files), 1),
    Reader("cifar-binary", ".bin", cifar_binary_seeds, read_cifar, BYTES, share=0.5),
    Reader("cifar-pickle", "", cifar_pickle_seeds, read_cifar, OPCODES, constant(hostile.pickles), 2),
    Reader("picture", ".png", picture_seeds, read_picture, BYTES, constant(hostile.pictures), 1, 2 * RESIDENT),
    Reader("predict-picture", ".png", lambda: picture_seeds(turned=False)[:6], read_picture_to_predict, BYTES,
           constant(hostile.pictures), 0.5),
    Reader("predict-array", ".npy", npy_seeds, read_picture_to_predict, BYTES, constant(hostile.npy_files), 0.5),
    Reader("own-picture", ".png", lambda: picture_seeds(turned=False)[:6], read_own_images, BYTES,
           constant(hostile.pictures), 0.5, 2 * RESIDENT),
    Reader("own-array", ".npz", own_array_seeds, read_own_images, ZIP, lambda seeds: hostile.npz_files(seeds[0]), 1),
    Reader("own-labels", ".csv", lambda: [b"file,label\na.png,1\nb/c.png,0\n"], read_own_labels, TEXT, share=0.5),
    Reader("mnist5k", ".csv.gz", tsv_seeds, read_mnist5k, (*BYTES, rezip), gzipped_heads, 0.2),
    Reader("archive", ".tar.gz", tar_seeds, read_tar, (tar_members, tar_members, tar_members, *BYTES, rezip),
           constant(hostile.tars), 0.5),
)  # fmt: skip
