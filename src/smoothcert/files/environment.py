"""The versions that stand in every output."""

import platform
from importlib.metadata import version

from smoothcert import __version__


def environment() -> dict[str, str]:
    others = {name: version(name) for name in ("torch", "numpy", "scipy")}
    return {"smoothcert": __version__, "python": platform.python_version(), **others}
