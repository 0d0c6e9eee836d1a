"""Pages and files of the site that lie elsewhere in the repository, and the links to them."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PAGES = {
    "results/README.md": "results.md",
    "results/leaderboard.md": "leaderboard.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""page of the repository → page of the site"""
HOME = {"README.md": "index.md"}

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def relinked(markdown: str, home: str, page: str) -> tuple[str, set[str]]:
    """The page's text as the site needs it, and the files of the repository that it shows or links to.

    Links are written as they work in the repository, from the folder `home`. On the site a page of the repository goes
    by its name there, a file is copied, and of a folder only its name is left.
    """
    files: set[str] = set()

    def new(match: re.Match[str]) -> str:
        picture, text, target, anchor = match.group(1, 2, 3, 4)
        place = os.path.normpath(PurePosixPath(home) / target)
        if place.startswith("docs/"):
            site = place.removeprefix("docs/")
        elif place in PAGES | HOME:
            site = (PAGES | HOME)[place]
        elif (ROOT / place).is_file():
            files.add(place)
            site = place
        elif (ROOT / place).is_dir():
            return f"{text} (`{place}`)"
        else:
            return match.group(0)  # the strict build names it
        return f"{picture}[{text}]({os.path.relpath(site, os.path.dirname(page) or '.')}{anchor or ''})"

    return _LINK.sub(new, markdown), files
