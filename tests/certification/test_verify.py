"""`verify` computes all rows again: whatever is edited in a log does not follow any more, also with a new checksum."""

import json
import subprocess
import sys

import pytest
from test_procedures import KINDS, run

from smoothcert.certification.verify import verify
from smoothcert.errors import InputError
from smoothcert.records.jsonl import encode


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        for number, kind in enumerate(KINDS):
            run(folder / f"{number}.jsonl", kind)
        yield [folder / f"{number}.jsonl" for number in range(len(KINDS))]


def edited(path, target, row=None, header=None):
    """A copy with one thing changed in its first certified row, or in its header, and every checksum made right."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for line in lines:
        del line["crc"]
    if header is not None:
        header(lines[0]["decides"])
    if row is not None:
        row(next(line for line in lines[1:] if line["predict"] != -1 and len(line["estimation"]) > 1))
    target.write_bytes(b"".join(map(encode, lines)))
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
    "number as text": lambda row: row.update(radius=str(row["radius"])),
    "unknown class": lambda row: row["estimation"].update({"10": 1}),
    "no votes": lambda row: row.update(estimation={}),
    "abstained": lambda row: row.update(predict=-1, radius=0.0, correct=0),
}
HEADERS = {
    "n": bump("n", 1),
    "alpha": bump("alpha", 0.0001),
    "noise": sigma,
    "num_classes": lambda d: d.update(num_classes=1),
    "selected": bump("selected", 1),
    "procedure": lambda d: d.update(procedure="paper" if d["procedure"] != "paper" else "curve"),
    "bound": lambda d: d.update(bound="pair" if d["bound"] == "single" else "single"),
    "noise kind": lambda d: d.update(noise={"kind": "laplace", "b": 1.0}),
}


def test_honest_logs_follow(logs):
    for log in logs:
        found = verify(log)
        assert found.problems == () and found.rows == 10 and found.votes > 10


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda i: str(KINDS[i]))
@pytest.mark.parametrize("field", ROWS)
def test_an_edited_row_is_caught(logs, tmp_path, kind, field):
    found = verify(edited(logs[kind], tmp_path / "log", row=ROWS[field]))
    assert len(found.problems) == 1 and found.problems[0][0] is not None


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda i: str(KINDS[i]))
@pytest.mark.parametrize("field", HEADERS)
def test_an_edited_header_is_caught(logs, tmp_path, kind, field):
    assert verify(edited(logs[kind], tmp_path / "log", header=HEADERS[field])).problems


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
        lambda row: row.update(looks="none"),
    ):
        assert verify(edited(logs[kind], tmp_path / "log", row=change)).problems


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
