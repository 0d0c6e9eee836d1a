"""The site: built strictly and offline, complete, and true to the code."""

import re
import subprocess
import sys
from dataclasses import fields
from importlib.util import find_spec

import pytest
from docs.tools.commands import help_of
from docs.tools.outside import relinked

import smoothcert
from smoothcert.cli import COMMANDS
from smoothcert.records.header import _OF_PROCEDURE, Header
from smoothcert.records.log import REVEALED
from smoothcert.records.row import Row
from tests.docs.block import PAGES, ROOT

MADE = {"commands.md", "api.md"}  # pages that exist on the site only
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install 'smoothcert[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_public_name_has_an_entry_with_its_docstring(site):
    page = (site / "api.html").read_text()
    for name in smoothcert.__all__:
        assert f'id="smoothcert.{name}"' in page, name
    methods = [name for name in vars(smoothcert.SmoothedClassifier) if not name.startswith("_")]
    assert methods and all(f'id="smoothcert.SmoothedClassifier.{name}"' in page for name in methods)
    assert "certifies the ℓ₂ ball of radius σ Φ⁻¹(p_A)" in page


def test_every_command_has_its_help(site):
    page = (site / "commands.html").read_text()
    for name in COMMANDS:
        assert f'id="{name}"' in page and f"usage: smoothcert {name}" in page
    assert "--label-aware" in help_of("certify") and "\x1b" not in help_of("certify")


ELSEWHERE = r"\"(?:https?:)?//[^\"]*"
LOADS = re.compile(rf"<(?:script|img|iframe)[^>]*src={ELSEWHERE}|<link[^>]*href={ELSEWHERE}")


def test_nothing_is_fetched_when_a_page_is_opened(site):
    assert LOADS.search('<script src="https://cdn.example/x.js">') and LOADS.search('<link href="//fonts.example/x">')
    for page in site.rglob("*.html"):
        assert not LOADS.findall(page.read_text()), page.name
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet.name


def test_pages_stand_in_the_order_in_which_people_need_them(site):
    page = (site / "index.html").read_text()
    sections = re.findall(r'<p class="caption"><span class="caption-text">(.*?)</span>', page)
    assert sections == ["Start here", "How to", "Explained", "Reference", "Results", "Project"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_are_there(page):
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
        if target in MADE and page.parent == DOCS:
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name} → {target}"
        assert not anchor or anchor in headings(there.read_text()), f"{page.name} → {target}#{anchor}"


def headings(text):
    """Anchors, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip().lower().replace(" ", "-") for title in titles}


def test_links_out_of_the_folder_are_turned_into_links_of_the_site():
    def new(text):
        return relinked(text, "docs", "a.md")

    assert new("[r](../results/README.md#x)") == ("[r](results.md#x)", set())
    assert new("[s](../examples/slurm.sh)") == ("[s](examples/slurm.sh)", {"examples/slurm.sh"})
    assert new("[b](b.md)") == ("[b](b.md)", set())
    assert new("[src](../src)") == ("src (`src`)", set())
    assert new("[no](../nowhere.md)") == ("[no](../nowhere.md)", set())  # which the strict build refuses


def documented(title):
    """The names in the first column of the table under that heading of the page on logs."""
    page = (DOCS / "log-format.md").read_text()
    part = re.split(r"^## ", page.partition(f"## {title}\n")[2], flags=re.M)[0]
    return {name for cell in re.findall(r"^\| (`.*?) \|", part, re.M) for name in re.findall(r"`(\w+)`", cell)}


def test_the_log_format_is_documented_field_by_field():
    in_header = {field.name for field in fields(Header)} | set(_OF_PROCEDURE)
    assert documented("Header") == in_header
    assert documented("Rows") == set(Row.__annotations__)
    assert documented("Closing row") == {"rows", "chain", "acr", *REVEALED}


@pytest.mark.parametrize(
    "word",
    ["α", "n₀", "n", "ACR", "certified accuracy", "abstain", "`curve`", "pair", "label-aware", "σ", "radius",
     "grid noise", "precision", "closing row"],
)  # fmt: skip
def test_the_glossary_has(word):
    assert re.search(rf"^\| {re.escape(word)}\b|^\| {re.escape(word)} ", (DOCS / "glossary.md").read_text(), re.M)
