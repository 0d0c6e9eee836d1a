"""Mutations: (rng, one input, all seeds of its reader) → another input."""

from __future__ import annotations

import gzip
import io
import json
import pickletools
import random
import re
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

WHOLE = (
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    10**9,
    10**12,
    2**63 - 1,
    2**64 - 1,
)
NUMBERS = (
    "0", "-1", "nan", "NaN", "inf", "-Infinity", "1e999", "1e-320", "-0.0", "0.5", "3", "2147483648", "1000000000000",
    "9" * 30, "9" * 400, "9" * 5000, "1_0", "0x10", "true", "null", '"3"', "[]", "{}", "[1]", '""', "1e5", "٣", "+1",
)  # fmt: skip
TEXTS = (
    "", "x", "../../x", "/etc/passwd", "a\0b", "\x1b[31m", "\u202e", "💥" * 5, "x" * 10_000, "kind", "gaussian",
    "curve", "adaptive", "paper", "pair", "single", "nan", "-1", "９", "²", "9" * 5000, "con", "a/b", "\\..\\x", "%s%n",
)  # fmt: skip

CLIMBING = (
    "../x.bin", "/tmp/x.bin", "a/../../x.bin", "..bin", ".bin", "a\\..\\x.bin", "C:x.bin", "x" * 300 + ".bin",
    "é\n.bin", "../../../x.txt", "ok.bin", "", "..", "a/.bin",
)  # fmt: skip
KINDS = (
    *(tarfile.REGTYPE,) * 3, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE,
    tarfile.GNUTYPE_SPARSE,
)  # fmt: skip


def random_bytes(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 4, 16, 300, 3000)))


def flip(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if out:
            out[_position(rng, len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def write_number(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """A whole number of 1, 2, 4 or 8 bytes, little or big end first: sizes and counts live somewhere there."""
    width, order = rng.choice((1, 2, 4, 4, 8)), rng.choice(("little", "big"))
    number = (rng.choice(WHOLE) % 256**width).to_bytes(width, order)  # type: ignore[arg-type]
    at = _position(rng, len(data))
    return data[:at] + number + data[at + width :]


def truncate(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data[: _position(rng, len(data))]


def move_blocks(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    a, b = sorted((_position(rng, len(data)), _position(rng, len(data))))
    if rng.random() < 0.5:
        b = min(b, a + rng.choice((1, 4, 16, 64)))
    block, kind = data[a : min(b, a + 20_000)], rng.randrange(5)
    b = a + len(block)
    if kind == 0:
        return data[:a] + data[b:]
    if kind == 1:
        return data[:b] + block * rng.choice((1, 1, 3, 50)) + data[b:]
    if kind == 2:
        return data[:a] + rng.randbytes(rng.choice((1, 4, 64))) + data[b:]
    if kind == 3:
        return data[b:] + block + data[:a]
    other = rng.choice(seeds)
    return data[:a] + other[_position(rng, len(other)) :]


def rezip(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Mutated under its gzip, or gzipped twice, or a plain file gzipped."""
    if data[:2] == b"\x1f\x8b":
        inner = rng.choice(BYTES)(
            rng, gzip.decompress(data), [gzip.decompress(s) for s in seeds if s[:2] == b"\x1f\x8b"]
        )
        return gzip.compress(inner, 1, mtime=0)
    return gzip.compress(data, 1, mtime=0)


BYTES: tuple[Mutation, ...] = (flip, flip, write_number, write_number, truncate, move_blocks, move_blocks, random_bytes)


def words(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Numbers, strings, separators and lines of a text, replaced, doubled, taken away."""
    text = data.decode("utf-8", "surrogateescape")
    pattern = rng.choice((r"-?\d+(\.\d+)?(e-?\d+)?", r'"[^"\n]*"', r"[^\t\n]+", r"\w+", r"[\t,:=\[\]{}\n]"))
    found = list(re.finditer(pattern, text))
    if not found:
        return data
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if len(text) > 500_000:
            break
        place = rng.choice(found)
        new = rng.choice(
            (lambda: rng.choice(NUMBERS), lambda: rng.choice(TEXTS), lambda: _quoted(rng), lambda: _nested(rng))
        )
        kind = rng.randrange(6)
        if kind == 4:
            text = text[: place.start()] + text[place.end() :]
        elif kind == 5:
            times = min(rng.choice((1, 2, 2000)), 1 + 50_000 // len(place[0]))
            text = text[: place.end()] + place[0] * times + text[place.end() :]
        else:
            text = text[: place.start()] + new() + text[place.end() :]
        found = list(re.finditer(pattern, text)) or found
    return text.encode("utf-8", "surrogateescape")


def lines(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    rows = data.splitlines(keepends=True)
    if not rows:
        return b"\n"
    i, kind = rng.randrange(len(rows)), rng.randrange(6)
    if kind == 0:
        del rows[i]
    elif kind == 1:
        rows.insert(i, rng.choice(rows))
    elif kind == 2:
        rng.shuffle(rows)
    elif kind == 3:
        rows[i] = rows[i].rstrip(b"\n") + rng.choice((b"\r\n", b"\r", b"", b"\0\n", b"\xff\n", b"\xe2\x80\xa8"))
    elif kind == 4:
        rows[0] = rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"#")) + rows[0]
    else:
        rows[i] = rng.choice((b"\n", b"{}\n", b"[]\n", b"null\n", b"3\n", b"\t\t\t\t\t\n"))
    return b"".join(rows)


TEXT: tuple[Mutation, ...] = (words, words, words, lines, *BYTES)


def json_value(rng: random.Random, value: Any) -> Any:
    """The value with one of its parts replaced, renamed, doubled or taken away."""
    parts = list(_parts(value))
    holder, key = rng.choice(parts) if parts else (None, None)
    if holder is None:
        return hostile_value(rng)
    kind = rng.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[rng.choice((*TEXTS, *map(str, holder)))] = holder.pop(key)
    elif kind == 2:
        other, name = rng.choice(parts)
        holder[key] = json.loads(json.dumps(other[name]))
    elif kind == 3 and isinstance(holder, dict):
        holder[rng.choice(TEXTS)] = hostile_value(rng)
    elif kind == 4 and isinstance(holder[key], int | float):
        holder[key] = rng.choice(
            (holder[key] + 1, -holder[key], holder[key] * 10**6, float(holder[key]), str(holder[key]))
        )
    else:
        holder[key] = hostile_value(rng)
    return value


def hostile_value(rng: random.Random) -> Any:
    plain = (None, True, False, 0, 1, -1, 0.5, 2, 1.5, 10**6, 2**31, 10**9, 10**12, 2**63, 10**30, 10**400, -(10**30))
    odd = (
        float("nan"),
        float("inf"),
        -float("inf"),
        1e308,
        5e-324,
        -0.0,
        [],
        {},
        [[]],
        [1],
        ["x"],
        {"x": 1},
        {"0": -1},
    )
    kind = rng.randrange(6)
    if kind == 5:
        return json.loads(_nested(rng, most=300))
    return rng.choice(plain if kind < 2 else odd if kind < 4 else TEXTS)


def with_json(unpack: Callable[[bytes], Any], pack: Callable[[Any], bytes]) -> Mutation:
    """Mutates the value inside a container and packs it again, checksums included."""

    def mutation(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
        value = unpack(data)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            value = json_value(rng, value)
        try:
            return pack(value)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error):
            return data[: len(data) // 2]

    return mutation


def members(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """A zip archive with one member mutated, renamed, doubled or deflated, its checksums right again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    i, kind = rng.randrange(len(entries)), rng.randrange(7)
    name, content = entries[i]
    if kind == 0:
        name = rng.choice(("../" + name, "/" + name, "x/" + name, name.upper(), "", name + "\0", "a" * 5000))
    elif kind == 1:
        entries.append(rng.choice(entries))
    elif kind == 2:
        entries.pop(rng.randrange(len(entries)))
        i = min(i, len(entries) - 1)
    else:
        others = [other for _, other in entries]
        content = (opcodes if content[:1] == b"\x80" and kind < 6 else rng.choice(BYTES))(rng, content, others)
    if kind != 2:
        entries[i] = (name, content)
    return zipped(
        entries, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    )


def zipped(entries: Sequence[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", compression) as archive:
        warnings.simplefilter("ignore")  # a name twice is what is wanted
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return out.getvalue()


def tar_members(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """The archive again, with one member's name, kind, link or size made hostile."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar, tarfile.open(fileobj=out, mode="w") as made:
        found = [(member, tar.extractfile(member)) for member in tar if member.isfile()]
        for member, file in found:
            content = file.read() if file else b""
            if rng.random() < 0.6:
                member.name = rng.choice(CLIMBING)
                member.type = rng.choice(KINDS)
                member.linkname = rng.choice(("", "../../x", "/etc/passwd"))
            made.addfile(member, io.BytesIO(content))
    packed = out.getvalue()
    return gzip.compress(packed, 1, mtime=0) if rng.random() < 0.5 else packed


def opcodes(rng: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """A pickle with opcodes inserted, deleted, doubled or exchanged at their boundaries."""
    try:
        places = [place for _, _, place in pickletools.genops(data) if place is not None]
    except Exception:  # not a pickle any more: its bytes will do
        return flip(rng, data, seeds)
    a = rng.choice(places)
    b = rng.choice([p for p in places if p >= a][:8])
    kind = rng.randrange(4)
    if kind == 0:
        return data[:a] + data[b:]
    if kind == 1:
        return data[:b] + data[a:b] * rng.choice((1, 2, 100)) + data[b:]
    opcode = rng.choice(pickletools.opcodes)
    new = opcode.code.encode("latin-1") + rng.choice(
        (
            b"",
            b"\0",
            b"\1",
            b"\xff\xff\xff\xff",
            b"\x01\0\0\0x",
            b"\0" * 8,
            b"os\nsystem\n",
            b"1\n",
            b"\xff\xff\xff\x7f" * 2,
        )
    )
    return data[:a] + new + data[a if kind == 2 else b :]


def _parts(value: Any) -> Any:
    """(holder, key) of every value inside."""
    stack = [value]
    while stack:
        holder = stack.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield holder, key
            stack.append(holder[key])


def _position(rng: random.Random, size: int) -> int:
    """Anywhere, but more often near the ends, where headers and directories are."""
    kind = rng.random()
    if kind < 0.4:
        return rng.randrange(min(size, 64) or 1) if size else 0
    if kind < 0.6:
        return max(0, size - 1 - rng.randrange(64))
    return rng.randrange(size or 1)


def _quoted(rng: random.Random) -> str:
    return json.dumps(rng.choice(TEXTS))


def _nested(rng: random.Random, most: int = 100_000) -> str:
    depth = min(most, rng.choice((5, 100, 300, 900, 960, 980, 990, 1000, 100_000)) + rng.randrange(20))
    left, right = rng.choice((("[", "]"), ('{"a":', "}")))
    return left * depth + "1" + right * depth
