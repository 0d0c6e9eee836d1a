"""Download a data set's files, each checked before it takes its name. Only ever on request."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from smoothcert.data.folder import data_root
from smoothcert.data.mnist import FASHION_MNIST, MNIST, IdxFamily
from smoothcert.errors import InputError, did_you_mean
from smoothcert.files import write_atomically

FETCHABLE: dict[str, IdxFamily] = {"mnist": MNIST, "fashion_mnist": FASHION_MNIST}
_LIMIT = 2**28


def fetch(name: str, root: Path | None = None, mirror: str | None = None) -> Iterator[tuple[Path, bool]]:
    """Yield each file with whether it had to be downloaded; a file that is there and right is left alone."""
    if name not in FETCHABLE:
        raise InputError(f"{name!r} cannot be fetched{did_you_mean(name, FETCHABLE)}")
    family = FETCHABLE[name]
    folder = data_root(root) / family.folder / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    for file, md5 in family.md5.items():
        path = folder / file
        if path.is_file() and _md5(path.read_bytes()) == md5:
            yield path, False
            continue
        data = _download((mirror or family.url).rstrip("/") + "/" + file)
        if _md5(data) != md5:
            raise InputError(f"{file}: what was downloaded has MD5 {_md5(data)}, not {md5}: nothing was written")
        write_atomically(path, data)
        yield path, True


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
