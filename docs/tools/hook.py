"""What MkDocs calls while it builds the site: pages that are generated, and links that leave docs/."""

from __future__ import annotations

import logging
from typing import Any

from docs.tools.commands import commands_page
from docs.tools.door import door_page
from docs.tools.outside import PAGES, ROOT, relinked
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

logging.getLogger("mkdocs.plugins.griffe").setLevel(logging.WARNING)
_HOME_OF = {site: place.rpartition("/")[0] for place, site in PAGES.items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    pages = {"commands.md": commands_page(), "api.md": door_page()}
    pages |= {site: (ROOT / place).read_text() for place, site in PAGES.items()}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    written = {f.src_uri: f.content_string for f in files.documentation_pages()}
    linked = {place for page, text in written.items() for place in relinked(text, _home(page), page)[1]}
    for place in sorted(linked):
        files.append(File.generated(config, place, content=(ROOT / place).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return relinked(markdown, _home(page.file.src_uri), page.file.src_uri)[0]


def _home(page: str) -> str:
    """The folder from which the page's links are meant."""
    return _HOME_OF.get(page, "docs")
