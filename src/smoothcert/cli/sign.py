"""smoothcert sign"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from smoothcert.errors import InputError


@dataclass(frozen=True)
class Sign:
    """Sign a finished log with an Ed25519 key; `smoothcert verify --public-key` then tells that it is still yours.

    The signature is of header and rows, and stands in LOG.sig. It holds for a packed log too, and after `reveal`.

    Example: smoothcert sign --new-key my.key, then smoothcert sign runs/my-run --key my.key
    """

    logs: Positional[tuple[Path, ...]] = ()
    """run folders or certification logs"""
    key: Path | None = None
    """your private key, as --new-key writes it (PEM without password)"""
    new_key: Path | None = None
    """write a new private key to this file, and the public one beside it, as FILE.pub"""

    def __call__(self) -> None:
        from smoothcert.certification.seal import sign
        from smoothcert.records.signature import new_key

        if self.new_key is not None:
            print(f"{self.new_key}  keep it to yourself; {new_key(self.new_key)} is for everybody")
        key = self.key or self.new_key
        if key is None:
            raise InputError("name your private key with --key, or make one with --new-key")
        if not self.logs and self.new_key is None:
            raise InputError("name at least one run folder or log")
        for log in self.logs:
            print(f"{sign(log, key)}  signed")
