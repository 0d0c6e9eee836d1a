"""Ed25519 signatures: who has the public key can tell that its owner vouches for header and rows of a log."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from smoothcert.errors import InputError
from smoothcert.files.reading import parse_json, read_bytes
from smoothcert.files.writing import write_atomically
from smoothcert.records.log import CertificationLog

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_FORMAT = "smoothcert signature 1"
_LIMIT = 2**14  # bytes of a key or a signature


def signature_path(log: Path) -> Path:
    return log.with_name(f"{log.name.removesuffix('.gz')}.sig")


def new_key(path: Path) -> Path:
    """Write a new private key, for its owner's eyes only, and the public one beside it, as PATH.pub (both PEM)."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    public = path.with_name(f"{path.name}.pub")
    for file in (path, public):
        if file.exists():
            raise InputError(f"{file}: exists: choose another name for the new key")
    key = Ed25519PrivateKey.generate()
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as private:
        private.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return public


def sign_log(log: CertificationLog, key: Path) -> Path:
    """Write LOG.sig; it holds for the log packed or not, and also after its secret seed is revealed."""
    said = {"format": _FORMAT, "rows": len(log.rows), "signature": _private(key).sign(_message(log)).hex()}
    write_atomically(signature_path(log.path), json.dumps(said).encode() + b"\n")
    return signature_path(log.path)


def refuse_unsigned(log: CertificationLog, public_key: Path) -> None:
    """InputError unless LOG.sig is the signature of just this log by the owner of this key."""
    from cryptography.exceptions import InvalidSignature

    path, key = signature_path(log.path), _public(public_key)
    if not path.exists():
        raise InputError(f"{log.path}: is not signed (there is no {path.name})")
    try:
        values = parse_json(read_bytes(path, _LIMIT))
        if not isinstance(values, dict) or values.get("format") != _FORMAT:
            raise ValueError("it does not say so")
        signature = bytes.fromhex(values["signature"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a signature of smoothcert ({error})") from error
    try:
        key.verify(signature, _message(log))
    except InvalidSignature:
        raise InputError(f"{log.path}: its signature is not one of this log by the owner of {public_key}") from None


def _message(log: CertificationLog) -> bytes:
    if not log.chain:
        raise InputError(f"{log.path}: is in parts: make one log of them first with `smoothcert merge`")
    return f"{_FORMAT}\n{len(log.rows)} rows\n{log.chain}\n".encode()


def _private(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    data = bytes(read_bytes(path, _LIMIT))
    try:
        key = load_pem_private_key(data, None)
    except Exception as error:  # whatever the package finds wrong with it
        raise InputError(f"{path}: not a private key without password (see `smoothcert sign --new-key`)") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path}: not an Ed25519 key (see `smoothcert sign --new-key`)")
    return key


def _public(path: Path) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = bytes(read_bytes(path, _LIMIT))
    try:
        key = load_pem_public_key(data)
    except Exception as error:  # whatever the package finds wrong with it
        raise InputError(
            f"{path}: not a public key (see `smoothcert sign --new-key`, which writes FILE.pub)"
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path}: not an Ed25519 key (see `smoothcert sign --new-key`)")
    return key
