"""`verify` computes all rows again: whatever is edited in a log does not follow any more, also with a new checksum."""

import subprocess
import sys

import pytest
from forging import opened, sealed
from test_procedures import KINDS, run

from smoothcert.analysis import read_results
from smoothcert.certification.verify import verify
from smoothcert.errors import InputError
from smoothcert.records.log import read_certification


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for number, kind in enumerate(KINDS):
        run(folder / f"{number}.jsonl", kind)
    return [folder / f"{number}.jsonl" for number in range(len(KINDS))]


def edited(path, target, row=None, header=None):
    """A copy with one thing changed in its first certified row, or in its header, and every checksum made right."""
    lines = opened(path)
    if header is not None:
        header(lines[0]["decides"])
    if row is not None:
        row(next(line for line in lines[1:] if line["predict"] != -1 and len(line["estimation"]) > 1))
    target.write_bytes(sealed(lines))
    return target


def bump(key, by):
    def change(where):
        where[key] += by

    return change


def vote(stage, by):
    def change(row):
        row[stage][str(row["label"])] = row[stage].get(str(row["label"]), 0) + by

    return change


def move(row):
    """One vote from another class to the label's: the sum stays."""
    votes = row["estimation"]
    other = next(name for name in votes if name != str(row["label"]))
    votes[other] -= 1
    votes[str(row["label"])] += 1
    if not votes[other]:
        del votes[other]


def relabel(row):
    row["label"] = (row["label"] + 1) % 10


def reclass(row):
    row["predict"] = (row["predict"] + 1) % 10


def sigma(decides):
    decides["noise"]["sigma"] *= 1.01


ROWS = {
    "radius": bump("radius", 1e-9),
    "radius down": bump("radius", -0.01),
    "class": reclass,
    "label": relabel,
    "index": bump("index", 1),
    "correct": lambda row: row.update(correct=1 - row["correct"]),
    "estimation": vote("estimation", 1),
    "moved vote": move,
    "unknown class": lambda row: row["estimation"].update({"10": 1}),
    "no votes": lambda row: row.update(estimation={}),
    "abstained": lambda row: row.update(predict=-1, radius=0.0, correct=0),
}
HEADERS = {
    "n": bump("n", 1),
    "alpha": bump("alpha", 0.0001),
    "noise": sigma,
    "procedure": lambda d: d.update(procedure="paper" if d["procedure"] != "paper" else "curve"),
    "bound": lambda d: d.update(bound="pair" if d["bound"] == "single" else "single"),
    "noise kind": lambda d: d.update(noise={"kind": "laplace", "b": 1.0}),
}
IMPOSSIBLE = {
    "num_classes must be": lambda d: d.update(num_classes=1),
    "11 images are said to be selected, but it is 10": bump("selected", 1),
}


def test_honest_logs_follow(logs):
    for log in logs:
        found = verify(log)
        assert found.problems == () and found.rows == 10 and found.votes > 10


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda i: str(KINDS[i]))
@pytest.mark.parametrize("field", ROWS)
def test_an_edited_row_is_caught(logs, tmp_path, kind, field):
    found = verify(edited(logs[kind], tmp_path / "log", row=ROWS[field]))
    rows = [index for index, _ in found.problems if index is not None]
    moved_away = [(None, "9 of 10 selected images: INCOMPLETE")] if field == "index" else []
    assert len(rows) == 1 and [what for what in found.problems if what[0] is None] == moved_away


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda i: str(KINDS[i]))
@pytest.mark.parametrize("field", HEADERS)
def test_an_edited_header_is_caught(logs, tmp_path, kind, field):
    """Either no certificate follows from it, or it cannot be a header at all, and nobody reads the log."""
    try:
        assert verify(edited(logs[kind], tmp_path / "log", header=HEADERS[field])).problems
    except InputError as error:
        assert "its header cannot be used" in str(error)


@pytest.mark.parametrize("words", IMPOSSIBLE)
def test_an_impossible_header_is_refused_by_every_reader(logs, tmp_path, words):
    log = edited(logs[0], tmp_path / "log", header=IMPOSSIBLE[words])
    for read in (verify, read_certification, read_results):
        with pytest.raises(InputError, match=f"its header cannot be used: {words}"):
            read(log)


def test_an_impossible_row_is_refused_by_every_reader(logs, tmp_path):
    log = edited(logs[0], tmp_path / "log", row=lambda row: row.update(radius=str(row["radius"])))
    for read in (verify, read_certification, read_results):
        with pytest.raises(InputError, match=r"line \d+: the radius '.*' is negative or not a number"):
            read(log)


@pytest.mark.parametrize("kind", [0, 1, 2, 4, 5])
def test_edited_selection_votes_are_caught(logs, tmp_path, kind):
    assert verify(edited(logs[kind], tmp_path / "log", row=vote("selection", 1))).problems


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_edited_looks_are_caught(logs, tmp_path, kind):
    for change in (
        lambda row: row["looks"].pop(),
        lambda row: row["looks"].append(row["looks"][-1]),
        lambda row: row["looks"][0].__setitem__(0, row["looks"][0][0] + 1),
        lambda row: row["looks"][-1].__setitem__(1, row["looks"][-1][1] + 1),
        lambda row: row.update(looks=[]),
    ):
        assert verify(edited(logs[kind], tmp_path / "log", row=change)).problems
    with pytest.raises(InputError, match="the looks are not lists"):
        verify(edited(logs[kind], tmp_path / "log", row=lambda row: row.update(looks="none")))


def test_an_edit_without_a_new_checksum_is_damage(logs, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_bytes(logs[0].read_bytes().replace(b'"correct":1', b'"correct":0', 1))
    with pytest.raises(InputError, match="damaged"):
        verify(log)


def test_it_needs_no_torch(logs):
    code = f"import sys; from pathlib import Path; from smoothcert.certification.verify import verify\n\
found = [verify(Path(p)) for p in {[str(log) for log in logs]!r}]\n\
assert not any(v.problems for v in found) and 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
