"""Code blocks of a Markdown page, each with how it is tried.

A comment above a block says how: `<!-- test: MODE -->`. Without one a Python block is run, a bash block's commands are
parsed, a TOML block is read as a recipe, JSON and YAML are parsed, and a text block is only shown. MODE is

    run [with OPTIONS]   bash: commands of smoothcert are run, with these options added, so that it takes seconds
    file NAME            the block is written to that file, in the folder where its page's blocks run
    output               text: exactly what the block before it printed
    like                 text: the same up to numbers and spaces
    compile REASON       Python: not run, because it needs what a test does not have

`<!-- setup` … `-->` holds Python that readers do not see: what a page takes for granted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "results/README.md")),
]
DEFAULTS = {"python": "run", "bash": "parse", "toml": "recipe", "json": "read", "yaml": "read", "text": "show"}
MODES = {
    "python": {"run", "file", "compile"},
    "bash": {"run", "parse"},
    "toml": {"recipe", "file"},
    "json": {"read"},
    "yaml": {"read"},
    "text": {"show", "output", "like"},
    "setup": {"run"},
}
_BLOCK = re.compile(
    r"(?:^<!-- test: (?P<mode>\w+) ?(?P<more>[^\n]*?) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$"
    r"|^<!-- setup\n(?P<setup>.*?)^-->$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    mode: str
    more: str
    text: str
    marked: bool = False

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    source = page.read_text()
    found = []
    for match in _BLOCK.finditer(source):
        language = "setup" if match["setup"] else match["language"]
        text = match["setup"] or match["text"]
        mode = match["mode"] or ("run" if match["setup"] else DEFAULTS.get(language, ""))
        line = source.count("\n", 0, match.start("setup" if match["setup"] else "text"))
        found.append(Block(page, line, language, mode, match["more"] or "", text, bool(match["mode"])))
    return found
