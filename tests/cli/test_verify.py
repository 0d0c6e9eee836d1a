"""smoothcert verify and certify --procedure, as a user calls them."""

import json

import pytest

from smoothcert.cli import COMMANDS, main
from smoothcert.files.jsonl import encode


@pytest.fixture
def log(tmp_path):
    rows = [
        {"format": "smoothcert certification log 1", "name": "by hand", "decides": DECIDES, "environment": {}},
        {"index": 0, "label": 1, "predict": -1, "radius": 0.0, "correct": 0, "selection": {"1": 5},
         "estimation": {"0": 60, "1": 40}, "seconds": 0.1},
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(map(encode, rows)))
    return path


DECIDES = {
    "data": {"name": "fake", "split": "test", "images": 40, "fingerprint": ""},
    "selection": {"every": 40, "start": 0, "stop": None},
    "selected": 1,
    "noise": {"kind": "gaussian", "sigma": 0.5},
    "num_classes": 2,
    "procedure": "paper",
    "bound": "single",
    "n0": 5,
    "n": 100,
    "alpha": 0.001,
    "seed": 0,
    "device": "cpu",
}


def call(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    return stop.value.code


def test_certificates_that_follow_from_their_votes_are_counted(log, capsys):
    assert call("verify", log) == 0
    assert "1 certificates all follow" in capsys.readouterr().out
    assert "verify" in COMMANDS


def test_an_edited_certificate_is_named_and_the_command_fails(log, capsys):
    row = json.loads(log.read_bytes().splitlines()[1])
    del row["crc"]
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0] + encode(row | {"radius": 0.3, "predict": 1}))
    assert call("verify", log) == 1
    assert "image 0: predict is 1" in capsys.readouterr().out
    assert call("verify", log, "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["problems"][0]["index"] == 0 and found["rows"] == 1
