"""The README's promises: a short example of something real, and files that are there; tests/docs runs its blocks."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_has_ten_lines_and_shows_its_output():
    (example,) = re.findall(r"```python\n(.*?)```\n\n<!-- test: output -->\n```text\n", README.read_text(), re.S)
    assert len([line for line in example.splitlines() if line]) <= 10


def test_every_file_it_names_exists():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
