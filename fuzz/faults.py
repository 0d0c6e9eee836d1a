"""Who notices? Faults in a copy of the package, one at a time: `selftest`, tests/smoothed + tests/theory, `audit`.

`selftest` runs all checks that users get, and stops at the first whose p-value is below 1e-10, far below its level.
pytest stops at the first failure; each fault names the file to begin with. `audit` certifies and attacks a half-space.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "fuzz" / "faults.toml"
RESULT = ROOT / "fuzz" / "faults.md"
WITNESSES = ("selftest", "tests", "audit")
LEAST_BY_SELFTEST = 30
SELFTEST = """
import sys, torch
torch.set_num_threads(1)
from smoothcert.audit.selftest import Suite
for check in Suite():
    if not check.p_value > 1e-10:
        sys.exit(f"{check.noise}: {check.name}: {check.statistic}")
"""
AUDITED = ("tests.audit.linear:make", "--sigma", "4", "--dataset", "fake", "--device", "cpu")


class Fault(NamedTuple):
    """`old`, which stands exactly once in `file` of src/smoothcert, is replaced by `new`."""

    name: str
    file: str
    old: str
    new: str
    first: str
    """the test file that is run first, so that one need not wait for it"""


FAULTS = tuple(Fault(**fault) for fault in tomllib.loads(TABLE.read_text())["fault"])


def source(fault: Fault) -> str:
    """The file with the fault; its text must be there exactly once, or the fault is not what its name says."""
    text = (ROOT / "src" / "smoothcert" / fault.file).read_text()
    if text.count(fault.old) != 1:
        sys.exit(f"{fault.name}: {fault.file} holds {fault.old!r} {text.count(fault.old)} times, not once")
    return text.replace(fault.old, fault.new)


def inject(fault: Fault, folder: Path) -> None:
    shutil.copytree(ROOT / "src" / "smoothcert", folder / "smoothcert", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "smoothcert" / fault.file).write_text(source(fault))


def run(folder: Path, *command: str) -> tuple[bool, str]:
    """Whether the command failed, and its last line; nothing but the copy in `folder` is imported."""
    path = os.pathsep.join((str(folder), str(ROOT)))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = [line for line in done.stdout.splitlines() if line.strip() and "!!!" not in line]
    failed = [line for line in said if line.startswith("FAILED")]
    return done.returncode != 0, (failed or said or [""])[-1].removeprefix("FAILED ").removeprefix("tests/")


def ask(witness: str, folder: Path, first: str) -> tuple[bool, str]:
    if witness == "selftest":
        return run(folder, "-c", SELFTEST)
    if witness == "tests":
        tests = [f"tests/{first}.py", "tests/smoothed", "tests/theory"]
        return run(folder, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow and not paper", *tests)
    log = str(folder / "certify.jsonl")
    certified = run(
        folder, "-m", "smoothcert", "certify", *AUDITED, "--n", "1000", "--every", "10", "--alpha", "0.1", "--out", log
    )
    effort = ("--votes", "1000", "--steps", "5", "--restarts", "1", "--views", "4")
    attack = ("-m", "smoothcert", "audit", AUDITED[0], "--log", log, *effort, "--device", "cpu")
    return certified if certified[0] else run(folder, *attack)


def judge(fault: Fault, witnesses: tuple[str, ...]) -> dict[str, tuple[bool, str]]:
    with tempfile.TemporaryDirectory() as name:
        inject(fault, Path(name))
        return {witness: ask(witness, Path(name), fault.first) for witness in witnesses}


def table(rows: dict[str, dict[str, tuple[bool, str]]]) -> str:
    count = {w: sum(found.get(w, (False, ""))[0] for found in rows.values()) for w in WITNESSES}
    lines = [
        "# Faults and who notices them",
        "",
        "Written by `make faults`. Each fault is put into a copy of the package, alone.",
        f"Of {len(rows)}: {', '.join(f'{w} {count[w]}' for w in WITNESSES)}.",
        "",
        "| fault | selftest | tests | audit | first seen by |",
        "|---|---|---|---|---|",
    ]
    for name, found in rows.items():
        cells = ["yes" if found.get(w, (False, ""))[0] else "–" for w in WITNESSES]
        said = next((found[w][1] for w in ("selftest", "tests") if found.get(w, (False, ""))[0]), "")
        lines.append(f"| {name} | {' | '.join(cells)} | {said[:100].replace('|', '/')} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="faults whose name contains one of these")
    parser.add_argument("--by", nargs="*", default=list(WITNESSES), choices=WITNESSES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="faults that are tried at once")
    given = parser.parse_args()
    chosen = [f for f in FAULTS if not given.only or any(word in f.name for word in given.only)]
    for fault in FAULTS:
        source(fault)

    def told(fault: Fault) -> dict[str, tuple[bool, str]]:
        clock = time.perf_counter()
        found = judge(fault, tuple(given.by))
        said = "  ".join(f"{w}: {'yes' if found[w][0] else 'NO '}" for w in given.by)
        print(f"{fault.name:<42}{said}  {time.perf_counter() - clock:4.0f} s  {found[given.by[0]][1][:80]}", flush=True)
        return found

    with ThreadPoolExecutor(given.jobs) as pool:
        rows = dict(zip((fault.name for fault in chosen), pool.map(told, chosen), strict=True))
    missed = [name for name, found in rows.items() if not any(found.get(w, (False,))[0] for w in ("selftest", "tests"))]
    by_selftest = sum(found.get("selftest", (False,))[0] for found in rows.values())
    print(f"{len(rows)} faults, {by_selftest} noticed by selftest, missed by selftest and tests: {missed or 'none'}")
    if len(chosen) == len(FAULTS) and set(given.by) == set(WITNESSES):
        RESULT.write_text(table(rows))
        sys.exit(1 if missed or by_selftest < LEAST_BY_SELFTEST else 0)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
