"""A student with a loss and a network of one's own: trained, stopped, certified and compared without editing ours."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from smoothcert import certify_run, find_recipe, read_log, train
from smoothcert.analysis.setting import setting_of
from smoothcert.errors import InputError
from smoothcert.interchange.weights import digest, load_weights, save_weights
from smoothcert.records.run_folder import RunFolder
from smoothcert.training import loop
from tests.cli.running import fails, smoothcert
from tests.own import PARTS, student_in

FAST = ["--n", "200", "--device", "cpu"]
EVIL = "from pathlib import Path\nPath(__file__).with_name('run by a reader').touch()\n"


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    """Has trained `run`, and certified it; and `plain`, without a part of their own, to compare with."""
    with student_in(tmp_path_factory.mktemp("student")) as student:
        done = smoothcert("train", "mine.toml", "--out", "run", "--device", "cpu", cwd=student.folder)
        assert done.returncode == 0 and "2 epochs" in done.stdout, done
        student.forget()
        assert smoothcert("certify", "run", *FAST, cwd=student.folder).returncode == 0
        plain = ["--set", "data=fake", "epochs=2", "batch=32"]
        smoothcert("train", "mnist5k/gaussian/0.50", "--out", "plain", *plain, cwd=student.folder)
        assert smoothcert("certify", "plain", *FAST, cwd=student.folder).returncode == 0
        yield student


@pytest.fixture
def untouched(student):
    """The student, whose file is put back afterwards."""
    student.forget()
    yield student
    student.write(PARTS)
    (student.folder / "run by a reader").unlink(missing_ok=True)


def weights(run):
    return digest(load_weights(RunFolder(Path(run)).model)[0])


def test_the_run_names_their_parts_and_the_hash_of_their_file(student):
    said = json.loads((student.folder / "run" / "recipe.json").read_text())
    assert said["model"] == f"{student.module}:Net"
    assert said["objective"]["terms"][0] == {"kind": f"{student.module}:Margin", "gap": 0.5}
    assert [source["module"] for source in said["sources"]] == [student.module] and len(
        said["sources"][0]["sha256"]
    ) == 64
    rows = (student.folder / "run" / "train.jsonl").read_text()
    assert json.loads(rows.splitlines()[0]).keys() >= {"margin", "consistency"}


def test_python_and_the_command_line_train_the_same_weights(untouched, monkeypatch, tmp_path):
    monkeypatch.chdir(untouched.folder)
    recipe = find_recipe("mine.toml")
    own = sys.modules[untouched.module]
    assert recipe.objective.terms[0] == own.Margin(0.5)
    made = replace(recipe, objective=replace(recipe.objective, terms=(own.Margin(0.5), recipe.objective.terms[1])))
    run = train(made, tmp_path / "run", device="cpu").finish()
    assert weights(run.folder) == weights("run")
    log = read_log(certify_run(run, every=4, n=200, device="cpu").finish())
    assert len(log) == 10 and log.header.recipe.model == f"{untouched.module}:Net"


def test_a_stopped_training_ends_with_the_same_weights_with_dropout_too(untouched, monkeypatch, tmp_path):
    monkeypatch.chdir(untouched.folder)
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    for stop in (3, 9):
        for number, _ in enumerate(train("mine.toml", tmp_path / "run", device="cpu"), 1):
            if number == stop:
                break
    train("mine.toml", tmp_path / "run", device="cpu").finish()
    assert weights(tmp_path / "run") == weights("run")


def test_a_training_does_not_go_on_with_a_changed_source(untouched, monkeypatch, tmp_path):
    monkeypatch.chdir(untouched.folder)
    next(iter(train("mine.toml", tmp_path / "run", device="cpu")))
    untouched.write(PARTS.replace("self.gap +", "self.gap + 0 *"))
    line = fails("train", "mine.toml", "--out", tmp_path / "run", cwd=untouched.folder)
    assert f"{untouched.module} has changed since this training began" in line
    line = fails("train", tmp_path / "run" / "recipe.json", "--out", tmp_path / "new", cwd=untouched.folder)
    assert f"{untouched.module} has changed since the recipe was written" in line and not (tmp_path / "new").exists()
    untouched.write(PARTS)
    assert smoothcert("train", "mine.toml", "--out", tmp_path / "run", cwd=untouched.folder).returncode == 0


def test_a_changed_source_is_run_for_those_who_trust_it_and_two_networks_never_share_a_log(untouched, tmp_path):
    untouched.write(PARTS + "\n# another file\n")
    log = tmp_path / "log.jsonl"
    certify = ("certify", "run", "--out", log, "--every", "20", *FAST)
    line = fails(*certify, cwd=untouched.folder)
    assert f"{untouched.module} has changed since {untouched.module}:Net was trained" in line and "--trust" in line
    assert smoothcert(*certify, "--trust", cwd=untouched.folder).returncode == 0
    untouched.write(PARTS)
    assert "sources" in fails("certify", "run", "--out", log, "--every", "20", *FAST, cwd=untouched.folder)
    again = smoothcert("verify", log, "--model", "run", "--recompute", "2", cwd=untouched.folder)
    assert "has changed since" in again.stderr and "2 rows recomputed" in again.stdout


def test_what_cannot_be_imported_is_said_in_one_line(untouched):
    untouched.write("import no_such_module_at_all\n")
    assert "no_such_module_at_all" in fails("certify", "run", "--trust", cwd=untouched.folder)
    untouched.file.unlink()
    line = fails("certify", "run", cwd=untouched.folder)
    assert f"cannot find {untouched.module}" in line and "go to the folder it is in" in line
    assert f"cannot import {untouched.module}" in fails("train", "mine.toml", "--out", "run", cwd=untouched.folder)


@pytest.mark.parametrize(
    "command",
    [
        ["table", "run", "plain"],
        ["table", "run", "--format", "json"],
        ["compare", "run", "plain"],
        ["verify", "run"],
        ["report", "run", "plain", "--out", "page.html"],
        ["plot", "run", "plain", "--out", "plot.png"],
        ["cost", "run"],
        ["export-tsv", "run", "--out", "log.tsv"],
    ],
    ids=lambda command: command[0],
)
def test_readers_do_not_import_what_a_run_names(untouched, command):
    untouched.write(EVIL)
    done = smoothcert(*command, cwd=untouched.folder)
    assert done.returncode in (0, 1) and not done.stderr, done
    assert not untouched.is_imported and not (untouched.folder / "run by a reader").exists()


def test_reading_in_python_does_not_import_it_either(untouched):
    untouched.write(EVIL)
    header = read_log(untouched.folder / "run").header
    assert RunFolder(untouched.folder / "run").read_recipe() == header.recipe
    assert setting_of(read_log(untouched.folder / "run")).method is None  # not the paper's Consistency
    term = header.recipe.objective.terms[0]
    assert (term.kind, dict(term.values)) == (f"{untouched.module}:Margin", {"gap": 0.5})
    with pytest.raises(InputError, match="which reading does not import"):
        term(None, None)
    assert not untouched.is_imported and not (untouched.folder / "run by a reader").exists()


def test_a_network_that_no_training_vouches_for_is_not_imported(untouched, tmp_path):
    """The run of somebody who wants a module of ours imported and has no hash of it."""
    tensors, about = load_weights(RunFolder(untouched.folder / "run").model)
    untouched.write(EVIL)
    about["recipe"].pop("sources")
    (tmp_path / "forged").mkdir()
    save_weights(tmp_path / "forged" / "model.safetensors", tensors, about)
    assert "no hash of its source" in fails("certify", tmp_path / "forged", cwd=untouched.folder)
    assert not untouched.is_imported
    about["recipe"]["sources"], about["model"] = [{"module": "os", "sha256": "0" * 64}], "os:abort"
    save_weights(tmp_path / "forged" / "model.safetensors", tensors, about)
    assert "os is not a module of one's own" in fails("certify", tmp_path / "forged", cwd=untouched.folder)


def test_an_own_noise_certifies_and_is_verified_by_whoever_names_it(untouched, tmp_path):
    noise = f"{untouched.module}:Wide"
    chosen = ["--set", f'noise={{kind="{noise}", b=0.3}}', 'terms=[{kind="cross_entropy"}]']
    run = tmp_path / "run"
    assert smoothcert("train", "mine.toml", "--out", run, *chosen, cwd=untouched.folder).returncode == 0
    assert "use --procedure paper" in fails("certify", run, "--procedure", "curve", *FAST, cwd=untouched.folder)
    assert smoothcert("certify", run, *FAST, cwd=untouched.folder).returncode == 0
    assert (
        smoothcert("certify", run, *FAST, cwd=untouched.folder).returncode == 0
    )  # nothing left, and it is its own log
    again = smoothcert(
        "verify", run, "--model", run, "--recompute", "3", "--noise", f"{noise}:0.3", cwd=untouched.folder
    )
    assert again.returncode == 0 and "of 900 votes none differ" in again.stdout, again
    untouched.write(EVIL)
    line = fails("verify", run, cwd=untouched.folder)
    assert f"name it with --noise {noise}:0.3" in line
    for command in (["table", run], ["report", run, "--out", "page.html"], ["plot", run, "--out", "plot.png"]):
        done = smoothcert(*command, cwd=untouched.folder)
        assert done.returncode == 0 and not done.stderr, done
    assert read_log(run).header.norm == "ℓ₁" and not untouched.is_imported


def test_a_run_folder_does_not_decide_which_code_is_imported(untouched, tmp_path):
    """Its hash is looked at first: a stranger's run that names a file of ours finds another one, and nothing runs."""
    untouched.write(EVIL)
    assert "has changed since" in fails("certify", "run", cwd=untouched.folder) and not untouched.is_imported


def test_the_code_of_a_factory_stands_in_the_header_and_another_is_not_the_same_log(untouched, tmp_path):
    source = PARTS + "\ndef made():\n    return Net(10)\n"
    untouched.write(source)
    data = ("--sigma", "0.5", "--dataset", "mnist5k", "--input-shape", "1,28,28")
    certify = ("certify", f"{untouched.module}:made", *data, "--out", tmp_path / "factory.jsonl", *FAST)
    done = smoothcert(*certify, "--limit", "1", cwd=untouched.folder)
    assert done.returncode == 0, done
    untouched.write(source + "\n# another file\n")
    assert "sources" in fails(*certify, "--limit", "2", cwd=untouched.folder)
