"""The command line as a person meets it: help, mistakes, broken files, interruptions."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from smoothcert.cli import COMMANDS
from smoothcert.cli.parse import known_options
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.noise import Gaussian
from smoothcert.objectives import CrossEntropy, Objective
from smoothcert.recipes import Recipe, StepDecay, to_dict
from smoothcert.records.log import read_certification
from tests.cli.running import fails, smoothcert

RECIPE = Recipe("fake", "lenet", Objective(Gaussian(0.25), (CrossEntropy(),)), 12, 0.02, StepDecay(30), batch=32)
COMMAND = [sys.executable, "-m", "smoothcert"]
TRAIN = ["train", "recipe.json", "--out", "run", "--device", "cpu"]
CERTIFY = ["certify", "run", "--n", "200", "--device", "cpu", "--every", "4"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a recipe, a trained run and its certification."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "recipe.json").write_text(json.dumps(to_dict(RECIPE)))
    assert smoothcert(*TRAIN, cwd=folder).returncode == 0
    done = smoothcert(*CERTIFY, cwd=folder)
    assert re.search(r"10 of 10 images  ACR \d\.\d+ ± .*n=200, alpha=0.001", done.stdout)
    assert done.stderr == ""  # quiet where nobody looks
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(tmp_path, command):
    done = smoothcert(command, "--help", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: smoothcert {command}")
    assert command in smoothcert("--help", cwd=tmp_path).stdout
    assert not re.search(r"default: (None|False)?\)", re.sub(r"[\s│]+", " ", done.stdout))


def test_help_does_not_wait_for_heavy_imports(tmp_path):
    code = (
        "import sys\nfrom smoothcert.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'matplotlib', 'scipy.stats', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    for command in COMMANDS:
        subprocess.run([sys.executable, "-c", code, command, "--help"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([sys.executable, "-c", code, "recipes"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["certfy"], "did you mean certify"),
        (["--verson"], "unknown option"),
        (["train"], "recipe"),
        (["train", "mnist5k/consistncy/0.50"], "did you mean mnist5k/consistency/0.50"),
        (["train", "fake/x", "--sede", "3"], "did you mean --seed"),
        (["train", "fake/x", "twice"], "unknown argument 'twice'"),
        (["certify", "x", "--num_clases", "3"], "did you mean --num-classes"),
        (["train", "missing.toml"], "missing.toml"),
        (["train", "mnist/gaussian/0.50", "--data", "nowhere"], "smoothcert data fetch mnist"),
        (["train", "mnist5k/gaussian/0.50", "--device", "warp"], "--device cpu"),
        (["certify", "nowhere"], "no such run"),
        (["certify", "."], "not a run folder"),
        (["certify", "x", "--n", "many"], "--n"),
        (["table"], "at least one"),
        (["table", "nowhere"], "no such file"),
        (["table", "x", "--format", "excel"], "excel"),
        (["plot", "nowhere"], "no such file"),
        (["predict", "nowhere"], "no such run"),
        (["data", "fetch", "mnits"], "did you mean mnist"),
        (["data", "fetch"], "fetch what"),
        (["recipes", "zzz"], "zzz"),
    ],
)
def test_a_wrong_call_gets_one_clear_line(tmp_path, arguments, message):
    assert message in fails(*arguments, cwd=tmp_path)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_that_may_be_meant_is_one(tmp_path, name):
    module = import_module(f"smoothcert.cli.{name.replace('-', '_')}{'_' * (name == 'import')}")
    options = known_options(getattr(module, name.title().replace("-", "")))
    shown = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", smoothcert(name, "--help", cwd=tmp_path).stdout))
    assert set(options) <= shown


def test_tables_plots_and_predictions_of_a_run(trained):
    done = smoothcert("table", "run", "--format", "json", cwd=trained)
    (entry,) = json.loads(done.stdout)
    assert entry["images"] == entry["selected"] == 10 and entry["n"] == 200
    assert "not stated" not in smoothcert("table", "run", cwd=trained).stdout
    assert smoothcert("table", "run", "--out", "t.md", cwd=trained).stdout == "t.md\n"
    assert (trained / "t.md").read_text().startswith("| name | ACR |")
    assert smoothcert("plot", "run", "--out", "p.svg", cwd=trained).returncode == 0
    assert (trained / "p.svg").read_text().lstrip().startswith("<?xml")
    done = smoothcert("predict", "run", "--every", "10", "--n", "100", cwd=trained)
    assert re.search(r"4 images  correct [\d.]+%  abstained \d", done.stdout)
    rows = smoothcert("predict", "run", "--every", "10", "--n", "100", "--json", cwd=trained).stdout
    rows = json.loads(rows)
    assert [row["image"] for row in rows] == ["0", "10", "20", "30"]
    (seed,) = {row["seed"] for row in rows}
    again = ["predict", "run", "--every", "10", "--n", "100", "--seed", str(seed)]
    assert json.loads(smoothcert(*again, "--json", cwd=trained).stdout) == rows
    assert f"seed={seed})" in smoothcert(*again, cwd=trained).stdout
    assert re.search(r"seed=(\d+)\)", done.stdout)[1] != str(seed)  # fresh in each call


def test_predicting_from_image_files(trained):
    import numpy as np
    from PIL import Image

    Image.fromarray(np.zeros((28, 28), np.uint8)).save(trained / "black.png")
    Image.fromarray(np.zeros((30, 28), np.uint8)).save(trained / "tall.png")
    np.save(trained / "x.npy", np.full((28, 28), 0.5))
    np.save(trained / "bright.npy", np.full((28, 28), 200.0))
    (trained / "broken.png").write_bytes((trained / "black.png").read_bytes()[:40])
    done = smoothcert("predict", "run", "black.png", "x.npy", "--n", "100", cwd=trained)
    assert len(done.stdout.splitlines()) == 2 and "votes" in done.stdout
    assert "resize" in fails("predict", "run", "tall.png", cwd=trained)
    assert "broken.png" in fails("predict", "run", "broken.png", cwd=trained)
    assert "scale the image" in fails("predict", "run", "bright.npy", cwd=trained)


def test_one_radius_is_the_curve_of_this_radius(trained):
    call = ["certify", "run", "--n", "200", "--device", "cpu", "--every", "4"]
    for out, options in (("one", ["--radius", "0.25"]), ("grid", ["--procedure", "curve", "--radii", "0.25"])):
        said = smoothcert(*call, *options, "--out", f"{out}.jsonl", cwd=trained).stdout
        assert "at radius 0.25" in said
    one, grid = (read_certification(trained / f"{name}.jsonl") for name in ("one", "grid"))
    assert one.header == grid.header and one.header.grid == (0.25,)
    assert [row["looks"] for row in one.rows] == [row["looks"] for row in grid.rows]
    for wrong in (["--radii", "0", "0.25"], ["--procedure", "adaptive"]):
        assert "one radius" in fails(*call, "--radius", "0.25", *wrong, "--out", "x.jsonl", cwd=trained)


def test_a_shard_that_no_image_falls_to_has_done_its_job(trained):
    call = ["certify", "run", "--n", 200, "--device", "cpu", "--every", 20, "--out", "few.jsonl", "--shard", "5/8"]
    done = smoothcert(*call, cwd=trained)
    assert (done.returncode, done.stdout) == (0, "few.jsonl  0 of 2 images\n")
    done = smoothcert(*call, "--json", cwd=trained)
    assert done.returncode == 0 and json.loads(done.stdout)["rows"] == []


def test_settings_that_cannot_certify_are_refused_at_once(trained):
    assert "n >= 10" in fails("certify", "run", "--n", "5", cwd=trained)
    assert "alpha" in fails("certify", "run", "--alpha", "2", cwd=trained)
    assert "other settings (n: 200 there, 300" in fails("certify", "run", "--n", "300", "--every", "4", cwd=trained)
    assert "another recipe" in fails("train", "recipe.json", "--out", "run", "--seed", "5", cwd=trained)


def test_damaged_files_are_named(trained, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    model = (trained / "run" / "model.safetensors").read_bytes()
    for damaged in (model[:1000], model[:-4] + b"\0\1\2\3", b"", b"junk" * 100):
        (run / "model.safetensors").write_bytes(damaged)
        assert "model.safetensors" in fails("certify", "run", cwd=tmp_path)
    (run / "model.safetensors").write_bytes(model)
    log = (trained / "run" / "certify.jsonl").read_bytes()
    (run / "certify.jsonl").write_bytes(log.replace(b'"radius":0', b'"radius":1', 1))
    assert "damaged" in fails("table", "run", cwd=tmp_path)
    assert "damaged" in fails(*CERTIFY, cwd=tmp_path)


def test_what_is_left_of_a_published_run_is_not_overwritten(trained, tmp_path):
    (tmp_path / "recipe.json").write_text((trained / "recipe.json").read_text())
    run = tmp_path / "run"
    run.mkdir()
    for name in ("recipe.json", "train.jsonl", "model.safetensors"):
        (run / name).write_bytes((trained / "run" / name).read_bytes())
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    assert "without its checkpoint: choose another --out" in fails(*TRAIN, cwd=tmp_path)
    assert {name: (run / name).read_bytes() for name in before} == before
    (run / "model.safetensors").unlink()
    assert "without its checkpoint: choose another --out" in fails(*TRAIN, cwd=tmp_path)
    assert "its weights were not kept" in fails("certify", "run", cwd=tmp_path)
    assert (run / "train.jsonl").read_bytes() == before["train.jsonl"]


def killed(arguments, cwd, signal_, until):
    """Start the command, send it a signal as soon as `until` holds, and wait for its end."""

    def heed_ctrl_c():  # which a shell tells its background jobs, such as this test run, to ignore
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=heed_ctrl_c,
    )
    deadline = time.monotonic() + 120
    while not until() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal_)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_stopped_commands_go_on_where_they_were(trained, tmp_path, signal_):
    (tmp_path / "recipe.json").write_text((trained / "recipe.json").read_text())
    run = tmp_path / "run"
    code, said = killed(TRAIN, tmp_path, signal_, until=(run / "checkpoint.safetensors").exists)
    assert code in (130, -9) and said.count("\n") == (signal_ == signal.SIGINT)
    assert "not finished" in fails("certify", "run", cwd=tmp_path) or (run / "model.safetensors").exists()
    assert smoothcert(*TRAIN, cwd=tmp_path).returncode == 0
    assert digest(load_weights(run / "model.safetensors")[0]) == digest(
        load_weights(trained / "run" / "model.safetensors")[0]
    )
    log = run / "certify.jsonl"
    code, said = killed(CERTIFY, tmp_path, signal_, until=lambda: log.exists() and log.read_bytes().count(b"\n") >= 3)
    assert code in (130, -9) and said.count("\n") == (signal_ == signal.SIGINT)
    assert smoothcert(*CERTIFY, cwd=tmp_path).returncode == 0
    expected = read_certification(trained / "run" / "certify.jsonl").rows
    found = read_certification(log).rows
    assert [{**r, "seconds": 0} for r in found] == [{**r, "seconds": 0} for r in expected]


def test_two_processes_do_not_share_a_run(trained):
    import fcntl

    with (trained / "run" / ".certify.jsonl.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "another process" in fails(*CERTIFY, cwd=trained)


@pytest.mark.skipif(os.geteuid() != 0 if hasattr(os, "geteuid") else True, reason="mounting a small tmpfs needs root")
def test_a_full_disk_gets_one_line_and_nothing_is_lost(trained, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4500k", "tmpfs", small], capture_output=True)
    if mounted.returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        (small / "recipe.json").write_text((trained / "recipe.json").read_text())
        assert "disk is full" in fails(*TRAIN, cwd=small)
        subprocess.run(["mount", "-o", "remount,size=50m", small], check=True)
        assert smoothcert(*TRAIN, cwd=small).returncode == 0
        every_image = [*CERTIFY[:-1], "1"]
        smoothcert(*every_image, "--limit", "3", cwd=small)
        log = small / "run" / "certify.jsonl"
        before = log.read_bytes()
        (small / "filler").write_bytes(b"\0" * os.statvfs(small).f_bavail * os.statvfs(small).f_frsize)
        assert "disk is full" in fails(*every_image, cwd=small)
        assert log.read_bytes().startswith(before) and len(read_certification(log).rows) < 40
        (small / "filler").unlink()
        assert smoothcert(*every_image, cwd=small).returncode == 0
        assert len(read_certification(log).rows) == 40
    finally:
        subprocess.run(["umount", small], check=False)


def test_output_can_be_piped_into_something_that_stops_reading(trained):
    done = subprocess.run(
        f"{sys.executable} -m smoothcert recipes | head -1", shell=True, cwd=trained, capture_output=True, text=True
    )
    assert done.stderr == "" and done.stdout.startswith("recipe")


def test_the_command_is_installed():
    assert (Path(sys.executable).parent / "smoothcert").exists()
