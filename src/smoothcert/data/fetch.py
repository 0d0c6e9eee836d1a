"""Download a data set's files, each checked before it takes its name. Only ever on request."""

from __future__ import annotations

import hashlib
import io
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from smoothcert.data import cifar10
from smoothcert.data.folder import data_root
from smoothcert.data.mnist import FASHION_MNIST, MNIST
from smoothcert.errors import InputError, did_you_mean
from smoothcert.files import write_atomically

_LIMIT = 2**28  # bytes: the largest file here, CIFAR-10's archive, has 170 million


@dataclass(frozen=True)
class Source:
    """Where a data set's files come from, what they must be, and where they go under the data folder."""

    url: str
    md5: dict[str, str]
    folder: str
    member_endings: tuple[str, ...] = ()
    """set for an archive: only members with these endings are unpacked, all into `folder`"""


FETCHABLE = {
    "mnist": Source(MNIST.url, MNIST.md5, f"{MNIST.folder}/raw"),
    "fashion_mnist": Source(FASHION_MNIST.url, FASHION_MNIST.md5, f"{FASHION_MNIST.folder}/raw"),
    "cifar10": Source(cifar10.URL, cifar10.MD5, cifar10.BINARY, (".bin", ".txt")),
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
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() and member.name.endswith(endings) else None
            if content is not None:
                write_atomically(folder / PurePosixPath(member.name).name, content.read())


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
