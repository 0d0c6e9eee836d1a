"""The README's promises: its library example runs as printed."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_library_example_runs(tmp_path, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(example.strip().splitlines()) <= 12
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert "radius" in capsys.readouterr().out


def test_every_file_it_names_exists():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target
