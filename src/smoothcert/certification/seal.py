"""What is done to a finished log: it is signed, and its secret seed revealed."""

from __future__ import annotations

from pathlib import Path

from smoothcert.errors import InputError
from smoothcert.files.jsonl import closing_row, encode, refuse_packed
from smoothcert.files.writing import sole_owner, write_atomically
from smoothcert.records.log import CertificationLog, acr_of, missing, read_certification
from smoothcert.records.parts import files_of, whole_path
from smoothcert.records.secret_seed import SecretSeed, read_secret, revealed_seed, secret_path
from smoothcert.records.signature import sign_log


def sign(path: Path, key: Path) -> Path:
    """Sign the finished log of a run folder, or a log; returns the file of the signature, LOG.sig."""
    return sign_log(_finished(whole_path(path)), key)


def reveal(path: Path, secret: Path | None = None) -> SecretSeed:
    """Write the secret seed of a finished log into its closing row, and delete its file.

    The chain over header and rows stays as it is, and with it a signature. After this anybody can draw the votes again.
    """
    log = whole_path(path)
    source = secret_path(log) if secret is None else secret
    with sole_owner(log.parent, log.name):
        refuse_packed(log)
        found = _finished(log)
        if found.header.seed_commitment is None:
            raise InputError(f"{log}: has no secret seed: its header says {found.header.seed}")
        seed = revealed_seed(found)
        if seed is None:
            seed = read_secret(source)
            if seed.commitment != found.header.seed_commitment:
                raise InputError(f"{source}: is not the seed that the log's header commits to")
            closing = closing_row(
                len(found.rows), found.chain, {"acr": acr_of(found.header, found.rows), **seed.to_json()}
            )
            write_atomically(log, log.read_bytes()[: found.size] + encode(closing))
        if source.exists() and read_secret(source) == seed:
            source.unlink()
    return seed


def _finished(log: Path) -> CertificationLog:
    files = files_of(log)
    if len(files) > 1 or (files and files != [log]):
        raise InputError(f"{log}: is in parts: make one log of them first with `smoothcert merge`")
    found = read_certification(log)
    if gap := len(missing(found)):
        raise InputError(f"{log}: {gap} of {gap + len(found.rows)} selected images are missing: certify them first")
    return found
