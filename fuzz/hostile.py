"""Files that were written to do harm: code in pickles, bombs, lying headers, names that climb out of their folder."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from fuzz.mutate import zipped

BOMB = 400  # mebibytes


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


CALLS = (("fuzz.canary", "fire", "x"), ("os", "system", "true"), ("posix", "system", "true"),
         ("builtins", "exec", "import fuzz.canary; fuzz.canary.fire()"), ("builtins", "eval", "__import__('os')"),
         ("subprocess", "Popen", "true"), ("builtins", "getattr", "x"), ("builtins", "__import__", "antigravity"),
         ("torch", "load", "x"), ("numpy", "load", "x"), ("pathlib", "Path.write_text", "x"))  # fmt: skip


def pickles() -> list[bytes]:
    """Every way a pickle can ask for a call, and ways to make its reader grow, loop or overflow."""
    made = []
    for module, name, argument in CALLS:
        target = f"{module}\n{name}\n".encode()
        made += [
            b"\x80\x02c" + target + _text(argument) + b"\x85R.",  # GLOBAL, REDUCE
            b"\x80\x02c" + target + _text(argument) + b"\x85\x81.",  # NEWOBJ
            b"(" + _text(argument) + b"i" + target + b".",  # INST
            b"(c" + target + _text(argument) + b"o.",  # OBJ
            b"\x80\x04" + _text(module) + _text(name) + b"\x93" + _text(argument) + b"\x85R.",  # STACK_GLOBAL
            b"\x80\x02}" + _text("data") + b"c" + target + _text(argument) + b"\x85Rs.",  # as a value
            b"\x80\x02c" + target + b"}" + _text("x") + _text(argument) + b"sb.",  # BUILD
        ]
    nested = b"\x80\x02)" + b"\x85" * 1_000_000
    laughs = b"\x80\x02" + _text("ha") + b"".join(b"q\1h\1h\1\x86" for _ in range(40))
    lists = b"\x80\x02]" + b"".join(b"q\1]h\1ah\1a" for _ in range(40))
    encode, hexed = b"c_codecs\nencode\n", _text("hex_codec")
    chain = b"\x80\x02" + encode + b"q\2C\1x" + b"".join(b"q\1h\2h\1" + hexed + b"\x86R" for _ in range(45))
    made += [
        b"\x80\x02}" + nested[2:] + b"K\1s.",  # a key whose hash takes a million calls
        b"\x80\x02}" + laughs[2:] + b"K\1s.",  # a key whose hash takes 2^40
        b"\x80\x02cbuiltins\nset\n]" + laughs[2:] + b"a\x85R.",
        b"\x80\x02\x8f(" + laughs[2:] + b"\x90.",
        nested + b".",
        b"\x80\x02" + encode + lists[2:] + _text("latin1") + b"\x86R.",  # a text of 2^40 letters
        chain + b".",  # bytes doubled 45 times
        b"\x80\x02" + _text("x" * 60_000) + b"q\1" + encode + b"q\2](" + b"h\2h\1X\6\0\0\0latin1\x86R" * 30_000 + b"e.",
        b"\x80\x05\x96" + struct.pack("<Q", 6 * 10**9) + b"x.",  # BYTEARRAY8
        b"\x80\x02cbuiltins\nbytearray\n\x8a\x05" + (6 * 10**9).to_bytes(5, "little") + b"\x85R.",
        b"\x80\x02c__builtin__\nbytearray\n\x8a\x05" + (6 * 10**9).to_bytes(5, "little") + b"\x85R.",
        b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",  # BINBYTES8
        b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"N.",  # FRAME
        b"\x80\x02Nr\xff\xff\xff\xff.",  # LONG_BINPUT: the unpickler in C makes room for 2^32
        b"\x80\x02\x82\1.", b"\x80\x02\x84\xff\xff\xff\x7f.", b"Pid\n.", b"\x80\x02NQ.",
        b"I" + b"9" * 5000 + b"\n.", b"L" + b"9" * 5000 + b"L\n.",
        b"\x80\x02\x8b" + struct.pack("<i", 10**6) + b"\x7f" * 10**6 + b".",
        b"\x80\x02ctorch\nTensor\n\x8a\x05" + (10**10).to_bytes(5, "little") + b"\x85R.",
        b"\x80\x02ctorch.storage\nUntypedStorage\n\x8a\x05" + (10**10).to_bytes(5, "little") + b"\x85R.",
        b"", b".", b"N.", b"\x80\xff.", b"(" * 100_000 + b".", b"2" * 10, b"0" * 10,
    ]  # fmt: skip
    return made


def torch_zips(good: bytes) -> list[bytes]:
    """The pickles above inside PyTorch's archive, and an archive that unpacks to far more than it is."""
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    made = [
        zipped([(name, bad if name.endswith("data.pkl") else content) for name, content in entries])
        for bad in pickles()
    ]
    climbing = [(f"../../{name}", content) for name, content in entries]
    bomb = next(name for name, _ in entries if name.endswith("data/0"))
    swollen = zip_bomb(bomb, b"", [(name, content) for name, content in entries if name != bomb])
    return [*made, zipped(climbing), zipped([*entries, *entries]), swollen]


def npz_files(good: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    first, rest = entries[0][0], entries[1:]
    shapes = ("(1000000000000,)", "(10000000000,)", "(-1,)", "(0, 1000000000000)", "(1,) * 9", "(" * 400, "()")
    claims = [npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}") for shape in shapes]
    claims += [npy_header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (1,), }}") + bytes(64)
               for kind in ("|O", "|S10", "<U4", "<M8[s]", "|V8", "<c16", "?", "<f2")]  # fmt: skip
    evil = npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickles()[0]
    zeros = npy_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({BOMB * 2**17},), }}")
    made = [zipped([(first, claim), *rest]) for claim in (*claims, evil, b"not npy", b"")]
    encrypted = bytearray(good)
    for at in range(len(encrypted) - 4):
        if encrypted[at : at + 4] == b"PK\1\2":
            encrypted[at + 8] |= 1
    return [*made, zip_bomb(first, zeros, rest), bytes(encrypted), claims[0], evil, pickles()[0],
            zipped([]), zipped([(first.removesuffix(".npy"), b"raw"), *rest])]  # fmt: skip


def npy_header(text: str) -> bytes:
    padded = text.encode() + b" " * (117 - len(text) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded


def npy_files() -> list[bytes]:
    shapes = ("(1000000000000,)", "(10000000000,)", "(3, 2, 2)", "(-1,)", "(" * 400)
    made = [npy_header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}") for shape in shapes]
    return [
        *made,
        npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (12,), }") + pickles()[0],
        *pickles()[:7],
    ]


@cache
def _swollen(head: bytes, filler: bytes, mebibytes: int) -> tuple[bytes, int, int]:
    """head and many fillers as a deflate stream, its CRC and size: one block is compressed, then repeated."""
    block = filler * (2**20 // len(filler))
    stream = zlib.compressobj(1, zlib.DEFLATED, -15)
    data = stream.compress(head) + stream.flush(zlib.Z_FULL_FLUSH)
    one = stream.compress(block) + stream.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(head)
    for _ in range(mebibytes):
        crc = zlib.crc32(block, crc)
    return data + one * mebibytes + stream.flush(), crc, len(head) + mebibytes * len(block)


def gzip_bomb(head: bytes, filler: bytes = b"\0", mebibytes: int = BOMB) -> bytes:
    data, crc, size = _swollen(head, filler, mebibytes)
    return b"\x1f\x8b\x08" + bytes(7) + data + struct.pack("<2I", crc, size)


def zip_bomb(name: str, head: bytes, rest: Sequence[tuple[str, bytes]]) -> bytes:
    """A zip archive whose first member is head and hundreds of megabytes of zeros."""
    data, crc, size = _swollen(head, b"\0", BOMB)
    members = [(name, data, crc, size, zipfile.ZIP_DEFLATED)]
    members += [(other, content, zlib.crc32(content), len(content), zipfile.ZIP_STORED) for other, content in rest]
    body, directory = b"", b""
    for member, content, checksum, unpacked, method in members:
        about = struct.pack("<5H3I2H", 20, 0, method, 0, 33, checksum, len(content), unpacked, len(member), 0)
        directory += b"PK\1\2\x14\0" + about + struct.pack("<3H2I", 0, 0, 0, 0, len(body)) + member.encode()
        body += b"PK\3\4" + about + member.encode() + content
    end = struct.pack("<4H2IH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + end


def gzips(head: bytes) -> list[bytes]:
    """A few hundred kilobytes that unpack to a thousand times more; and some with rubbish after their end."""
    bombs = [gzip_bomb(head), gzip_bomb(head, b"0\n")]
    return [*bombs, gzip.compress(head, mtime=0) + b"rubbish", gzip.compress(head, mtime=0) * 2, b"\x1f\x8b"]


def idx_files() -> list[bytes]:
    shapes = (
        (10**9, 28, 28),
        (2**32 - 1,) * 3,
        (0, 2**32 - 1, 2**32 - 1),
        (0, 0, 0),
        (1, 0, 0),
        (2**28, 1, 1),
        (2**31 - 1, 1, 1),
    )
    heads = [b"\0\0\x08\x03" + struct.pack(">3I", *shape) for shape in shapes]
    counts = [b"\0\0\x08\x01" + struct.pack(">I", n) for n in (0, 1, 2**31 - 1, 2**32 - 1)]
    return [*heads, *(gzip.compress(h, mtime=0) for h in heads), *counts, *gzips(heads[6])]


def tars() -> list[bytes]:
    def made(*members: tuple[str, bytes, int], pack: str = "w:gz") -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=pack) as tar:  # type: ignore[call-overload]
            for name, kind, size in members:
                info = tarfile.TarInfo(name)
                info.type, info.size, info.linkname = kind, size, "/etc/passwd"
                tar.addfile(info, io.BytesIO(bytes(size)) if kind == tarfile.REGTYPE else None)
        return out.getvalue()

    regular = tarfile.REGTYPE
    header = tarfile.TarInfo("huge.bin")
    header.size = 10**12
    bomb = tarfile.TarInfo("bomb.bin")
    bomb.size = (BOMB - 1) * 2**20
    return [
        made(("../../outside.bin", regular, 10)),
        made(("/tmp/outside.bin", regular, 10)),
        made(("a\\..\\..\\outside.bin", regular, 10)),
        made(("C:outside.bin", regular, 10)),
        made(("link.bin", tarfile.SYMTYPE, 0), ("link.bin", regular, 10)),
        made(("link.bin", tarfile.LNKTYPE, 0)),
        made(("fifo.bin", tarfile.FIFOTYPE, 0)),
        gzip_bomb(bomb.tobuf()),
        made(*((f"{i}.bin", regular, 0) for i in range(3000))),
        made(("x" * 300 + ".bin", regular, 1)),
        header.tobuf() + bytes(1024),
        gzip.compress(header.tobuf() + bytes(1024), mtime=0),
        b"", b"\x1f\x8b", b"BZh9" + bytes(20), b"\xfd7zXZ\0" + bytes(20),
    ]  # fmt: skip


def pictures() -> list[bytes]:
    """Headers that claim many pixels, shapes that grow when resized, and formats whose readers start programs."""

    def png(width: int, height: int, rows: bytes = b"") -> bytes:
        def chunk(kind: bytes, body: bytes) -> bytes:
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

        head = chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0))
        return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")

    return [
        png(2**31 - 1, 2**31 - 1),
        png(40_000, 40_000),
        png(9_000, 9_000),
        png(9_400, 9_500, bytes(9_401 * 9_500)),
        png(1, 80_000_000),
        png(60_000, 1, bytes(60_001)),
        png(1, 60_000, bytes(120_000)),
        png(0, 0),
        b"P6 100000 100000 255\n",
        b"P5 1 1 65535\n\0\0",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 28 28\n%%EndComments\n(canary) run\n%%EOF\n",
        b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;",
        b"BM" + bytes(24) + struct.pack("<2i", 2**30, -(2**30)) + bytes(40),
    ]


def array_npz(**arrays: object) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()
