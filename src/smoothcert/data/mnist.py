"""MNIST and Fashion-MNIST from their IDX files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from smoothcert.data.dataset import Dataset
from smoothcert.data.folder import data_root
from smoothcert.data.idx import read_idx
from smoothcert.errors import InputError


@dataclass(frozen=True)
class IdxFamily:
    """A data set in four IDX files, as torchvision and the original site lay them out."""

    name: str
    folder: str
    url: str
    md5: dict[str, str]

    def load(self, split: str, root: Path | None = None) -> Dataset:
        part = {"train": "train", "test": "t10k"}[split]
        images = read_idx(self.find(f"{part}-images-idx3-ubyte", root), rank=3)
        labels = read_idx(self.find(f"{part}-labels-idx1-ubyte", root), rank=1)
        return Dataset.of(self.name, split, images[:, None], labels, num_classes=10)

    def find(self, file: str, root: Path | None) -> Path:
        base = data_root(root)
        names = (file, f"{file}.gz", file.replace("-idx", ".idx"))
        for folder in (base / self.folder / "raw", base / self.folder, base / self.name, base):
            for name in names:
                if (folder / name).is_file():
                    return folder / name
        raise InputError(
            f"{self.name}: no {file}[.gz] under {base / self.folder / 'raw'}: "
            f"run `smoothcert data fetch {self.name}`, or name the folder that holds it with --data or "
            "SMOOTHCERT_DATA"
        )


MNIST = IdxFamily(
    "mnist",
    "MNIST",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    {
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
    },
)
FASHION_MNIST = IdxFamily(
    "fashion_mnist",
    "FashionMNIST",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    {
        "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    },
)
