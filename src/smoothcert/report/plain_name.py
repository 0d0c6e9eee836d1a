"""Names without the folders of the machine they come from: a page is sent to people who should not know them."""

from __future__ import annotations

import re

_FOLDERS = re.compile(r"""(?<![\w.~-])(?:[A-Za-z]:)?[\\/](?:[^\s\\/:'"]+[\\/])+""")


def plain_name(text: str) -> str:
    """The last part of what may be a path.

    >>> plain_name("/home/me/net.onnx"), plain_name("C:\\\\me\\\\net.onnx"), plain_name("timm:resnet50")
    ('net.onnx', 'net.onnx', 'timm:resnet50')
    """
    return re.split(r"[\\/]", text.rstrip("\\/"))[-1] or text


def without_folders(message: str) -> str:
    """A sentence whose absolute paths lost their folders.

    >>> without_folders("its data is '/home/me/cats', but its recipe says 'mnist'")
    "its data is 'cats', but its recipe says 'mnist'"
    """
    return _FOLDERS.sub("", message)
