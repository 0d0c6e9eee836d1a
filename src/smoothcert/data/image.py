"""One photograph: file → 224×224 RGB bytes. Also a program that does so for another (see decoding.py).

As a program it is started many times, so it imports Pillow and nothing of ours.
"""

from __future__ import annotations

import io
import json
import math
import os
import random
import signal
import struct
import sys
from typing import BinaryIO

from PIL import Image, ImageOps, UnidentifiedImageError

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "PPM")
"""others are not tried: some of Pillow's readers start programs"""
MOST_PIXELS = 89_478_485  # Pillow's own limit, 256 MiB of RGB: the largest image of ImageNet has 61 million
MOST_BYTES = 2**28
RESIZED, CROPPED = 256, 224
HEADER = struct.Struct("<?I")  # whether it worked, and how many bytes follow

Box = tuple[int, int, int, int]


def read_image(path: str, key: str | None) -> bytes:
    """(224, 224, 3) bytes under the test transform, or under the training transform that a key names.

    Test: the shorter side to 256, the centre 224×224. Training: a random-resized crop of 224×224 and a flip.
    """
    image = decoded(path)
    if key is None:
        scale = RESIZED / min(image.size)
        size = [max(RESIZED, int(side * scale)) for side in image.size]
        if size[0] * size[1] > MOST_PIXELS:
            raise ValueError(f"{path}: {image.width} × {image.height} pixels are too long and thin to be resized")
        image = image.resize(size, Image.Resampling.BILINEAR)
        left, top = (round((side - CROPPED) / 2) for side in image.size)
        return image.crop((left, top, left + CROPPED, top + CROPPED)).tobytes()
    rng = random.Random(key)  # hashes a string with SHA-512, on every platform alike
    image = image.crop(random_box(*image.size, rng)).resize((CROPPED, CROPPED), Image.Resampling.BILINEAR)
    if rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return image.tobytes()


def random_box(width: int, height: int, rng: random.Random) -> Box:
    """A box of 8–100 % of the area, 3:4 to 4:3; the centre where none of ten draws fits."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1.0)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            left, top = rng.randint(0, width - w), rng.randint(0, height - h)
            return left, top, left + w, top + h
    w, h = min(width, round(height * 4 / 3)), min(height, round(width * 4 / 3))
    left, top = (width - w) // 2, (height - h) // 2
    return left, top, left + w, top + h


def decoded(path: str, most_pixels: int = MOST_PIXELS, as_it_is: bool = False) -> Image.Image:
    """The picture as RGB or as it is, upright as its EXIF says; ValueError names the file."""
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES:,} bytes")
        with open(path, "rb") as whole:  # in memory: of a file Pillow would make room for as much as a chunk claims
            data = io.BytesIO(whole.read(MOST_BYTES))
        with Image.open(data, formats=FORMATS) as file:
            if file.width * file.height > most_pixels:
                raise ValueError(f"{file.width} × {file.height} pixels are more than {most_pixels:,}")
            upright = ImageOps.exif_transpose(file)
            return upright if as_it_is else _to_rgb(upright)
    except Exception as error:  # Pillow's readers raise many kinds on damaged files
        text = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, UnidentifiedImageError):
            text = f"not one of {', '.join(FORMATS)}"
        raise ValueError(f"{path}: cannot be decoded ({text})") from error


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits, which Pillow would clip instead of scaling them
        image = image.point(lambda value: value / 256).convert("L")
    if image.mode in ("P", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """A JSON line [path, key] in, a header and bytes out, until the requests end."""
    for line in requests:
        try:
            ok, data = True, read_image(*json.loads(line))
        except Exception as error:
            ok, data = False, str(error).encode("utf-8", "backslashreplace")
        replies.write(HEADER.pack(ok, len(data)) + data)
        replies.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; its end ends the requests
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        sys.exit(0)
