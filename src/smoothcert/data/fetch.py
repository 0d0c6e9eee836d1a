"""Download a data set's files, each checked before it takes its name. Only ever on request."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from smoothcert.data import cifar10
from smoothcert.data.dataset import data_root
from smoothcert.errors import InputError, did_you_mean
from smoothcert.files.reading import read_up_to
from smoothcert.files.shown import shown
from smoothcert.files.writing import write_atomically

_LIMIT = 2**28  # bytes: the largest file here, CIFAR-10's archive, has 170 million; unpacked 185 million
_MOST_MEMBERS = 100  # CIFAR-10 has nine
_PLAIN_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)  # no separator of any system, no drive, nothing hidden


@dataclass(frozen=True)
class Source:
    """Where a data set's files come from, what they must be, and where they go under the data folder."""

    url: str
    folder: str
    md5: dict[str, str]
    member_endings: tuple[str, ...] = ()
    """set for an archive: only members with these endings are unpacked, all into `folder`"""


FETCHABLE = {
    "mnist": Source(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "MNIST/raw",
        {
            "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    "fashion_mnist": Source(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "FashionMNIST/raw",
        {
            "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    "cifar10": Source(
        "https://www.cs.toronto.edu/~kriz/",
        cifar10.BINARY,
        {"cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530"},
        member_endings=(".bin", ".txt"),
    ),
}


def fetch(name: str, root: Path | None = None, mirror: str | None = None) -> Iterator[tuple[Path, bool]]:
    """Yield each file with whether it had to be downloaded; a file that is there and right is left alone."""
    if name not in FETCHABLE:
        raise InputError(f"{name!r} cannot be fetched{did_you_mean(name, FETCHABLE)}")
    source = FETCHABLE[name]
    folder = data_root(root) / source.folder
    folder.mkdir(parents=True, exist_ok=True)
    for file, md5 in source.md5.items():
        path = folder / file
        # An archive's own name marks that it was unpacked whole; its bytes are not kept.
        if path.is_file() and (source.member_endings or _md5(path.read_bytes()) == md5):
            yield path, False
            continue
        data = _download((mirror or source.url).rstrip("/") + "/" + file)
        if _md5(data) != md5:
            raise InputError(f"{file}: what was downloaded has MD5 {_md5(data)}, not {md5}: nothing was written")
        if source.member_endings:
            _unpack(data, folder, source.member_endings)
            data = f"unpacked here; MD5 {md5}\n".encode()
        write_atomically(path, data)
        yield path, True


def _unpack(archive: bytes, folder: Path, endings: tuple[str, ...]) -> None:
    """Plain files only, by the last part of their name: no member can reach outside the folder."""
    try:
        # Unpacked first: tarfile makes room for whatever a member's header claims.
        with gzip.open(io.BytesIO(archive)) as zipped:
            unpacked = read_up_to(zipped, _LIMIT)
        if len(unpacked) > _LIMIT:
            raise InputError(f"the archive unpacks to more than {_LIMIT:,} bytes: not one of this data set")
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as tar:
            for number, member in enumerate(tar):
                name = PurePosixPath(member.name).name
                content = tar.extractfile(member) if member.isfile() and member.name.endswith(endings) else None
                if number >= _MOST_MEMBERS or (content and not _PLAIN_NAME.fullmatch(name)):
                    raise InputError(f"the archive holds too many files, or {shown(name)}: not one of this data set")
                if content:
                    write_atomically(folder / name, content.read())
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the archive is damaged ({shown(str(error))}): nothing more was unpacked") from error


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _download(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            data: bytes = answer.read(_LIMIT + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"{url}: cannot be downloaded ({reason}): try --mirror, or place the file by hand") from error
    if len(data) > _LIMIT:
        raise InputError(f"{url}: larger than any file of this data set: nothing was written")
    return data
