"""Logs as lists of rows, to be edited and written again, with or without a closing row that fits."""

import hashlib
import json

from smoothcert.files.jsonl import encode


def unpacked(path):
    """Header, rows and closing row without checksums."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [{key: value for key, value in line.items() if key != "crc"} for line in lines]


def opened(path):
    """Header and rows alone."""
    return [line for line in unpacked(path) if "closing" not in line]


def sealed(lines):
    """As a careful forger writes it: all checksums right, and the closing row that these rows would have."""
    chain, rows = b"", lines[1:]
    for line in map(encode, lines):
        chain = hashlib.sha256(chain + line).digest()
    floors = lines[0]["decides"].get("procedure") == "curve"
    try:
        acr = None if floors or not rows else mean([row["radius"] * row["correct"] for row in rows])
    except TypeError:
        acr = None
    closing = {"closing": {"rows": len(rows), "chain": chain.hex(), "acr": acr}}
    return b"".join(map(encode, (*lines, closing)))


def mean(values):
    import math

    return math.fsum(values) / len(values)
