"""What a wheel must hold, and what it must not: `python release/contents.py WHEEL`."""

import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def problems(wheel: Path) -> list[str]:
    """Every file of the package is in the wheel, and nothing but the package."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (file for file in SOURCE.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    wanted = {str(file.relative_to(SOURCE)) for file in files}
    missing, strange = sorted(wanted - inside), sorted(inside - wanted)
    return [f"missing: {name}" for name in missing] + [f"does not belong: {name}" for name in strange]


if __name__ == "__main__":
    sys.exit("\n".join(problems(Path(sys.argv[1]))) or None)
