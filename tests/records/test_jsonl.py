"""Checksummed JSON lines: what certification and audit logs have in common."""

import gzip
import os

import pytest

from smoothcert.audit.run import KIND as AUDIT
from smoothcert.errors import InputError
from smoothcert.files import jsonl
from smoothcert.files.jsonl import Writer, begun, encode, read
from smoothcert.records.log import KIND as CERTIFICATION

HEADER = {"decides": {"a": 1, "b": (2, 3)}, "environment": {}}


@pytest.fixture(params=[CERTIFICATION, AUDIT], ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture
def log(tmp_path, kind):
    writer = Writer(tmp_path / "log.jsonl", kind, HEADER, None)
    for index in range(3):
        writer.append({"index": index})
    writer.close()
    return tmp_path / "log.jsonl"


def indices(path, kind):
    return [row["index"] for row in read(path, kind).rows]


def resumed(path, kind, header=HEADER):
    return Writer(path, kind, header, read(path, kind) if begun(path) else None)


def test_what_is_appended_is_read_again_also_packed(log, kind):
    assert indices(log, kind) == [0, 1, 2] and read(log, kind).decides == {"a": 1, "b": [2, 3]}
    assert read(log, kind).size == log.stat().st_size
    packed = log.with_name("log.jsonl.gz")
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert indices(packed, kind) == [0, 1, 2]
    before = packed.read_bytes()
    with pytest.raises(InputError, match="is packed"):
        resumed(packed, kind)
    assert packed.read_bytes() == before


def test_wherever_a_crash_cuts_it_the_whole_rows_are_kept_and_it_is_resumed(log, kind):
    data = log.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(len(data)):
        log.write_bytes(data[:cut])
        kept = max(0, sum(end <= cut for end in ends) - 1)
        writer = resumed(log, kind)
        for index in range(kept, 3):
            writer.append({"index": index})
        writer.close()
        assert log.read_bytes() == data, cut


def test_damage_is_named_by_its_line(log, kind):
    data = log.read_bytes()
    log.write_bytes(data.replace(b'"index":1', b'"index":7'))
    with pytest.raises(InputError, match="line 3 is damaged"):
        read(log, kind)
    for row, words in (({}, "line 5 does not say"), ({"index": 1}, "line 5 repeats image 1")):
        log.write_bytes(data + encode(row))
        with pytest.raises(InputError, match=words):
            read(log, kind)


def test_no_more_is_read_than_a_log_can_have(log, kind, monkeypatch):
    monkeypatch.setattr(jsonl, "_LIMIT", log.stat().st_size - 1)
    with pytest.raises(InputError, match="larger than"):
        read(log, kind)


def test_nobody_elses_file_is_written_to(log, kind):
    (other,) = {CERTIFICATION, AUDIT} - {kind}
    mine = log.read_bytes()
    for content in (mine, mine[:60], b"notes", b"notes\n", encode({"format": "else"})):
        log.write_bytes(content)
        with pytest.raises(InputError, match=f"is not {other.name}"):
            resumed(log, other)
        assert log.read_bytes() == content
    log.write_bytes(mine)
    with pytest.raises(InputError, match="a: 1 there, 2 asked for"):
        resumed(log, kind, HEADER | {"decides": HEADER["decides"] | {"a": 2}})
    assert log.read_bytes() == mine


def test_a_full_disk_leaves_the_rows_before_it(log, kind, monkeypatch):
    before, writer = log.read_bytes(), resumed(log, kind)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        writer.append({"index": 3})
    writer.close()
    assert log.read_bytes() == before
