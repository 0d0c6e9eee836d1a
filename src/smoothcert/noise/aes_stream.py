"""AES-256-CTR as a stream of random bits, one per key: the same on every machine, and nobody tells it from chance."""

from __future__ import annotations

import hashlib

from smoothcert.errors import InputError

MOST_SEED = 2**256 - 1
PADDING = 16
"""bytes of a block of AES"""


def stream_key(*parts: int | str) -> bytes:
    """SHA-256 of the parts, each with its kind and length before it: two lists of parts never have one encoding.

    Example:
        >>> stream_key("a/2", 3) == stream_key("a", 2, 3), stream_key(1) == stream_key("1")
        (False, False)
    """
    digest = hashlib.sha256(b"smoothcert grid noise 1\n")
    for part in parts:
        text = str(part).encode()
        digest.update(b"%s%d:%s" % (b"i" if isinstance(part, int) else b"s", len(text), text))
    return digest.digest()


def require_seed(seed: int) -> None:
    """A seed of grid noise has 256 bits."""
    if not 0 <= seed <= MOST_SEED:
        raise InputError(f"the seed of grid noise must be a whole number from 0 to 2^256 - 1, not {seed}")


class AesStream:
    """Key stream of AES-256 in counter mode from counter 0 on, in consecutive pieces."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(PADDING))).encryptor()

    def next_into(self, buffer: bytearray, zeros: memoryview) -> None:
        """The next bytes, as many as there are `zeros`, which are what is encrypted; both are the caller's to keep.

        The buffer has PADDING more: releases of `cryptography` differ in whether they ask for it.
        """
        self._encryptor.update_into(zeros, buffer)

    def next(self, size: int) -> bytes:
        """The next `size` bytes."""
        return bytes(self._encryptor.update(bytes(size)))
