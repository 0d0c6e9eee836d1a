"""A seed that nobody knows: 256 random bits, kept beside the log until `reveal`; the header has its commitment."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json, read_bytes
from smoothcert.files.writing import sync_folder
from smoothcert.records.log import CertificationLog, read_certification
from smoothcert.records.parts import files_of, to_read

_FORMAT = "smoothcert secret seed 1"
_LIMIT = 2**12  # bytes of the file
_BYTES = 32  # of seed and salt


@dataclass(frozen=True)
class SecretSeed:
    """commitment = SHA-256("smoothcert secret seed 1" ‖ salt ‖ seed): binds to the seed, and says nothing about it."""

    seed: bytes
    salt: bytes

    def __repr__(self) -> str:
        return f"SecretSeed(commitment={self.commitment!r})"  # never in a message or a traceback

    @property
    def number(self) -> int:
        """As streams take it: they hash all digits of a seed, however many there are."""
        return int.from_bytes(self.seed, "big")

    @property
    def commitment(self) -> str:
        return hashlib.sha256(_FORMAT.encode() + self.salt + self.seed).hexdigest()

    def to_json(self) -> dict[str, str]:
        """As a closing row or the private file has it."""
        return {"seed": self.seed.hex(), "salt": self.salt.hex()}


def secret_path(log: Path) -> Path:
    return log.with_name(f"{log.name.removesuffix('.gz')}.secret")


def secret_seed_for(log: Path) -> SecretSeed:
    """The secret seed of a log that is begun, or of one that is about to be.

    Several processes may ask at once: one of them draws it, before any of them begins the log, and all get the same.
    """
    was_begun = files_of(to_read(log))
    if secret_path(log).exists():
        return read_secret(secret_path(log))
    seed = SecretSeed(secrets.token_bytes(_BYTES), secrets.token_bytes(_BYTES))
    if was_begun:
        found = read_certification(was_begun[0])
        if found.header.seed_commitment is None:
            raise InputError(f"{log}: was begun with --seed {found.header.seed}: give that, or choose another --out")
        revealed = revealed_seed(found)
        if revealed is None:
            raise InputError(
                f"{secret_path(log)}: the log's secret seed is lost: it cannot be resumed, choose another --out"
            )
        seed = revealed
    return _store(secret_path(log), seed)


def _store(path: Path, seed: SecretSeed) -> SecretSeed:
    """In a file that only its owner can read; where another process was faster, its seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            json.dump({"format": _FORMAT, **seed.to_json()}, file)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)  # fails where there is one, which a rename would replace
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return read_secret(path)


def read_secret(path: Path) -> SecretSeed:
    try:
        values = parse_json(read_bytes(path, _LIMIT))
        if not isinstance(values, dict) or values.get("format") != _FORMAT:
            raise ValueError("it does not say so")
        return _parse(values)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not the secret seed of a log ({error})") from error


def revealed_seed(log: CertificationLog) -> SecretSeed | None:
    """That of the closing row, if it is the one that the header commits to; None while it is secret."""
    if log.closing is None or "seed" not in log.closing:
        return None
    try:
        found = _parse(log.closing)
    except ValueError as error:
        raise InputError(f"{log.path}: the revealed seed cannot be read ({error})") from error
    if found.commitment != log.header.seed_commitment:
        raise InputError(f"{log.path}: the revealed seed is not the one that its header commits to")
    return found


def _parse(values: Mapping[str, Any]) -> SecretSeed:
    try:
        seed, salt = (bytes.fromhex(values[key]) for key in ("seed", "salt"))
    except (KeyError, TypeError):
        raise ValueError("seed or salt is missing") from None
    if not len(seed) == len(salt) == _BYTES:
        raise ValueError(f"seed and salt must have {_BYTES} bytes")
    return SecretSeed(seed, salt)
