"""An audit called from Python."""

import pytest

from smoothcert.audit.attack import Effort
from smoothcert.audit.run import audit, choose
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.files import jsonl
from smoothcert.noise import Gaussian
from smoothcert.procedures.fixed import Fixed
from smoothcert.records.header import Header
from smoothcert.records.log import CertificationLog
from smoothcert.smoothed.votes import Voter
from tests.audit.linear import make


@pytest.fixture
def audited(tmp_path):
    rows = [{"index": index, "label": 0, "predict": 0, "radius": 0.1, "correct": 1} for index in range(3)]
    header = Header(noise=Gaussian(4.0), num_classes=10, procedure=Fixed(Gaussian(4.0)))
    log = CertificationLog(tmp_path / "certify.jsonl", "made", header, {}, rows)
    voter, effort = Voter(make().eval(), Gaussian(4.0), 10, 0, 100), Effort(votes=1000, steps=1, restarts=1, views=1)
    return lambda: audit(choose(log, None), 0.001, voter, load("fake", "test"), effort, tmp_path / "audit.jsonl")


def test_an_audit_log_has_one_writer_at_a_time(audited):
    first = audited()
    row = next(first)
    with pytest.raises(InputError, match="another process is busy"):
        next(audited())
    first.close()
    forgotten = audited()
    assert next(forgotten) == row
    del forgotten
    assert [row["index"] for row in audited()] == [0, 1, 2]


def test_a_resumed_audit_reads_its_log_once(audited, monkeypatch):
    rows, seen, real = list(audited()), [], jsonl.read_unzipped
    monkeypatch.setattr(jsonl, "read_unzipped", lambda path, limit: seen.append(path.name) or real(path, limit))
    assert list(audited()) == rows and seen == ["audit.jsonl"]
