"""Certification, audit and training logs."""

from __future__ import annotations

import gzip
import json
import math
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.mutate import TEXT, rezip, with_json
from fuzz.readers.base import OWN, Reader, deep_texts, gzipped_heads
from smoothcert.files.jsonl import closing_row, encode, linked
from smoothcert.noise import Gaussian
from smoothcert.recipes import RECIPES, to_dict
from smoothcert.records.log import FORMAT

HEADER = {
    "data": {"name": "mnist", "split": "test", "images": 40, "fingerprint": "0"},
    "selection": {"every": 10, "start": 0, "stop": None}, "selected": 4, "noise": {"kind": "gaussian", "sigma": 0.5},
    "num_classes": 3, "procedure": "paper", "bound": "single", "n0": 20, "n": 300, "alpha": 0.001, "seed": 0,
    "device": "cpu", "model": {"name": "lenet", "sha256": "0"},
    "recipe": to_dict(RECIPES["mnist/consistency/0.50"]),
}  # fmt: skip


def log_rows(name: str, bound: str) -> list[dict[str, Any]]:
    """A log as certification writes it, of made-up votes: header and rows."""
    from smoothcert.procedures.certificate import conclude
    from smoothcert.procedures.evidence import Evidence
    from smoothcert.procedures.procedure import build
    from smoothcert.records.row import to_row

    radii = None if name == "paper" else (0.0, 0.5, 1.0)
    procedure = build(name, Gaussian(0.5), 20, 300, 0.001, bound=bound, radii=radii)
    rows: list[dict[str, Any]] = [
        {"format": FORMAT, "name": "run", "decides": HEADER | procedure.header(), "environment": {}}
    ]
    for index, errors in zip(range(0, 40, 10), (0.0, 0.04, 0.3, 0.6), strict=True):
        evidence = Evidence()
        while (ask := procedure.next(evidence)) is not None:
            wrong = int(ask.stop * errors)
            votes = [wrong // 2, ask.stop - wrong, wrong - wrong // 2]
            evidence = evidence.selected(votes) if ask.stage == "selection" else evidence.looked(votes)
        certificate = conclude(procedure, evidence)
        rows.append({**to_row(replace(certificate, index=index), 1, 0.25)})
    return rows


@cache
def log_seeds() -> list[bytes]:
    """Without and with a closing row; and one of a training with parts of somebody's own."""
    kinds = (("paper", "single"), ("paper", "pair"), ("curve", "single"), ("adaptive", "single"), ("adaptive", "pair"))
    logs = [log_rows(*kind) for kind in kinds]
    own = log_rows("paper", "single")
    recipe = to_dict(RECIPES["mnist/consistency/0.50"])
    recipe["objective"]["terms"].append({"kind": OWN, "gap": 1.0, "rates": [0.5, 1.0]})
    recipe |= {"schedule": {"kind": OWN}, "sources": [{"module": "fuzz.fires_when_imported", "sha256": "0" * 64}]}
    own[0]["decides"] = own[0]["decides"] | {"recipe": recipe}
    return [*map(pack_log, logs), *(pack_log([*log, closing(log)]) for log in logs), pack_log(own)]


def closing(log: list[dict[str, Any]]) -> dict[str, Any]:
    floors = log[0]["decides"]["procedure"] == "curve"
    acr = None if floors else math.fsum(row["radius"] * row["correct"] for row in log[1:]) / len(log[1:])
    return closing_row(len(log) - 1, "", {"acr": acr})


def unpack_log(data: bytes) -> list[Any]:
    rows = [json.loads(line) for line in data.splitlines()]
    return [{key: value for key, value in row.items() if key != "crc"} for row in rows]


def pack_log(rows: Any) -> bytes:
    """With a hash chain that fits, where there is one: else nothing behind it would ever be looked at."""
    lines = [encode(row) for row in rows]
    last = rows[-1].get("closing") if rows and isinstance(rows[-1], dict) else None
    if isinstance(last, dict) and "chain" in last:
        lines[-1] = encode({"closing": last | {"chain": linked(lines[:-1])}})
    return b"".join(lines)


LOG_MUTATIONS = (*(with_json(unpack_log, pack_log),) * 8, *TEXT)


def read_log_results(path: Path) -> object:
    from smoothcert.analysis import read_results, summarize
    from smoothcert.analysis.metrics import default_radii
    from smoothcert.analysis.tables import FORMATS

    results = read_results(path)
    summary = summarize(results, default_radii([results]))
    return [form([summary]) for form in FORMATS.values()]


def read_log_verified(path: Path) -> object:
    from smoothcert.certification.verify import verify

    return verify(path)


def secret_seeds() -> list[bytes]:
    return [json.dumps({"format": "smoothcert secret seed 1", "seed": "5a" * 32, "salt": "01" * 32}).encode()]


def read_secret_seed(path: Path) -> object:
    from smoothcert.records.secret_seed import read_secret

    return read_secret(path).commitment


PLAN = (100, 200, 300)


def pilot_seeds() -> list[bytes]:
    votes = {"0": {"1": 2}, "10": {"0": 1, "2": 1}}
    return [json.dumps({"format": "smoothcert pilot votes 1", "plan": PLAN, "votes": votes}).encode()]


def read_pilot_votes(path: Path) -> object:
    from smoothcert.certification.pilot import read_pilot

    return read_pilot(path, PLAN, 3)


def private_key() -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.from_private_bytes(b"fuzz" * 8)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_key() -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    public = load_pem_private_key(private_key(), None).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def signature_seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "key").write_bytes(private_key())
        return [signed(Path(folder), Path(folder) / "key").read_bytes()]


def signed(folder: Path, key: Path) -> Path:
    from smoothcert.certification.seal import sign

    (folder / "signed.jsonl").write_bytes(log_seeds()[0])
    return sign(folder / "signed.jsonl", key)


def read_signature(path: Path) -> object:
    from smoothcert.certification.verify import verify

    log, key = path.with_name("signed.jsonl"), path.with_name("key.pub")
    log.write_bytes(log_seeds()[0])
    key.write_bytes(public_key())
    path.replace(path.with_name("signed.jsonl.sig"))
    return verify(log, key)


def read_private_key(path: Path) -> object:
    return signed(path.parent, path)


def read_public_key(path: Path) -> object:
    from smoothcert.certification.verify import verify

    key = path.with_name("private")
    key.write_bytes(private_key())
    signed(path.parent, key)
    return verify(path.with_name("signed.jsonl"), path)


def read_log_part(path: Path) -> object:
    """As one part of a certification whose other part is sound."""
    path.replace(path.with_name("log.part-2.jsonl"))
    whole = path.with_name("log.jsonl")
    whole.write_bytes(b"".join(log_seeds()[0].splitlines(keepends=True)[:3]))
    return read_log_results(whole), read_log_verified(whole)


AUDIT = {"run": "r", "attack": {"steps": 3}, "selected": [0, 1]}


def audit_seeds() -> list[bytes]:
    from smoothcert.audit.run import KIND

    rows = [{"index": i, "radius": 0.5, "found": None} for i in range(3)]
    return [pack_log([{"format": KIND.format, "decides": AUDIT, "environment": {}}, *rows])]


def read_audit(path: Path) -> object:
    from smoothcert.audit.run import resume

    rows, writer = resume(path, AUDIT)
    writer.close()
    return rows


def tsv_seeds() -> list[bytes]:
    head = b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
    text = (
        head + b"".join(b"%d\t3\t3\t0.%d\t1\t0:00:01.5\n" % (i, i) for i in range(5)) + b"7\t1\t-1\t0.0\t0\t0:00:02\n"
    )
    return [text, gzip.compress(text, mtime=0)]


def training_log_seeds() -> list[bytes]:
    rows = [
        {"epoch": i, "lr": 0.1, "cross_entropy": 1.5, "noisy_accuracy": 0.5, "test_noisy_accuracy": 0.5, "seconds": 2.5,
         "seconds_data": 0.5, "seconds_attack": 0.0, "seconds_descent": 2.0, "images_per_second": 100.0,
         "peak_memory_process": 10**8}
        for i in range(1, 4)
    ]  # fmt: skip
    return [b"".join(json.dumps(row).encode() + b"\n" for row in rows)]


def pack_lines(rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_training(path: Path) -> object:
    from smoothcert.analysis.training_cost import training_cost
    from smoothcert.records.training_log import read_training_log
    from smoothcert.report.data import about_training

    rows = read_training_log(path)
    about_training(rows, 3)
    return training_cost(rows) if rows else None


OBJECT = with_json(json.loads, lambda value: json.dumps(value).encode())
LINES = with_json(lambda data: [json.loads(line) for line in data.splitlines()], pack_lines)
READERS = (
    Reader("tsv", ".tsv", tsv_seeds, read_log_results, (*TEXT, rezip), gzipped_heads, 2),
    Reader("log", ".jsonl", log_seeds, read_log_results, LOG_MUTATIONS, deep_texts, 2),
    Reader("verify", ".jsonl", log_seeds, read_log_verified, LOG_MUTATIONS, deep_texts, 2),
    Reader("secret-seed", ".secret", secret_seeds, read_secret_seed, (*(OBJECT,) * 4, *TEXT), deep_texts, 0.5),
    Reader("pilot", ".pilot", pilot_seeds, read_pilot_votes, (*(OBJECT,) * 4, *TEXT), deep_texts, 0.5),
    Reader("signature", ".sig", signature_seeds, read_signature, (*(OBJECT,) * 4, *TEXT), deep_texts, 0.5),
    Reader("public-key", ".pub", lambda: [public_key()], read_public_key, TEXT, deep_texts, 0.5),
    Reader("private-key", ".key", lambda: [private_key()], read_private_key, TEXT, deep_texts, 0.5),
    Reader("log-part", ".jsonl", lambda: log_seeds()[:10:5], read_log_part, LOG_MUTATIONS, deep_texts, 1),
    Reader("audit-log", ".jsonl", audit_seeds, read_audit, LOG_MUTATIONS, deep_texts, 0.5),
    Reader("training-log", ".jsonl", training_log_seeds, read_training, (*(LINES,) * 4, *TEXT), deep_texts, 2),
)  # fmt: skip
