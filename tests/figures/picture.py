"""Pictures looked at as a reader of the file would: is it whole, and what is written on it?"""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image


def is_whole(path: Path) -> bool:
    """Whether it is a complete file of the kind its ending names, with something drawn on it."""
    match path.suffix:
        case ".png":
            return len(np.unique(pixels(path))) > 2
        case ".svg":
            return sum(node.tag.endswith("path") for node in ElementTree.parse(path).iter()) > 10
        case ".pdf":
            data = path.read_bytes()
            return data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF") and data.count(b"/Type /Page ") == 1
    return False


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def words_on(path: Path) -> list[str]:
    """All that is written on a picture that matplotlib wrote as SVG."""
    return re.findall(r"<!-- (.*?) -->", path.read_text("utf-8"), re.DOTALL)
