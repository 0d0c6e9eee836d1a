"""An installed smoothcert, tried in an empty folder: its data files, every public name, and a certificate each way."""

import subprocess
import sys
from pathlib import Path

import smoothcert
from smoothcert.paper import published

assert "site-packages" in smoothcert.__file__, f"not the installed one: {smoothcert.__file__}"
for name in smoothcert.__all__:
    getattr(smoothcert, name)
RECIPE = """data = "fake"
model = "lenet"
epochs = 8
lr = 0.02
batch = 32
schedule = { kind = "linear_decay" }
objective = { noise = { kind = "gaussian", sigma = 0.25 }, terms = [{ kind = "cross_entropy" }] }
"""
Path("fake.toml").write_text(RECIPE)


def run(*words: str) -> str:
    command = [str(Path(sys.executable).with_name("smoothcert")), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


assert "selftest" in run("--help")
run("train", "fake.toml", "--out", "run")
print(run("certify", "run", "--n", "200", "--every", "10").strip())
print(run("verify", "run").strip())
run("report", "run", "--out", "report.html")
assert Path("report.html").stat().st_size > 10_000
assert "0.911" in run("show", "mnist/gaussian/0.25")  # the paper's tables and logs came along
assert published("mnist/gaussian/0.25") is not None
