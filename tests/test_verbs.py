"""Whatever a command does, a few lines of Python do: the verbs of the door, on fake data."""

from itertools import islice

import numpy as np
import pytest
import torch

import smoothcert
from smoothcert import InputError, audit_run, certify_run, open_target, predict_run, read_log, reproduce, train
from smoothcert.files.jsonl import decode
from smoothcert.interchange.weights import digest, load_weights
from smoothcert.machine.work import Work
from smoothcert.recipes import override
from smoothcert.records.run_folder import RunFolder
from smoothcert.reproduction.plan import plan
from smoothcert.reproduction.reproduce import Milestone
from smoothcert.training.loop import Epoch, Step
from tests.cli.running import smoothcert as command

RECIPE = override(smoothcert.find_recipe("mnist5k/gaussian/0.50"), ["data=fake", "batch=32", "epochs=3"])
SMALL = {"n": 200, "every": 4, "device": "cpu"}
ATTACK = {"votes": 1000, "steps": 5, "restarts": 1, "views": 4, "device": "cpu"}
TABLE = {"settings": ["data=fake", "batch=64"], "scale": 0.03, "device": "cpu"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train(RECIPE, tmp_path_factory.mktemp("verbs") / "run", device="cpu").finish()


def timeless(log):
    rows = map(decode, log.read_bytes().splitlines(keepends=True)[1:-1])
    return sorted(({**row, "seconds": 0} for row in rows), key=lambda row: row["index"])


def weights(folder):
    return digest(load_weights(RunFolder(folder).model)[0])


def test_train_certify_and_read_in_three_lines(run):
    log = certify_run(run, **SMALL).finish()
    results = read_log(log)
    assert len(results) == 10 and results.acr >= 0 and read_log(run.folder).acr == results.acr
    assert 0 <= run.noisy_accuracy <= 1 and [row["epoch"] for row in run.epochs] == [1, 2, 3]


def test_events_tell_what_happens(tmp_path):
    events = list(train(RECIPE, tmp_path, device="cpu"))
    steps = [event for event in events if isinstance(event, Step)]
    assert [event.done for event in steps] == list(range(1, steps[0].total + 1)) and "images/s" in str(steps[0])
    assert sum(isinstance(event, Epoch) for event in events) == 3


def test_a_training_that_was_stopped_ends_with_the_same_weights(run, tmp_path):
    stopped = train(RECIPE, tmp_path, device="cpu")
    assert len(list(islice(stopped, 4))) == 4
    with pytest.raises(InputError, match="another process is busy"):
        train(RECIPE, tmp_path, device="cpu").finish()
    with pytest.raises(InputError, match="not finished"):
        _ = stopped.result
    stopped.close()
    assert len(train(RECIPE, tmp_path, device="cpu").finish().epochs) == 3
    assert weights(tmp_path) == weights(run.folder)


def test_a_certification_that_was_stopped_goes_on_and_has_one_writer(run, tmp_path):
    whole = certify_run(run, tmp_path / "whole.jsonl", **SMALL).finish()
    stopped = certify_run(run, tmp_path / "log.jsonl", **SMALL)
    seen = [event.row["index"] for event in islice(stopped, 3)]
    with pytest.raises(InputError, match="another process is busy"):
        certify_run(run, tmp_path / "log.jsonl", **SMALL).finish()
    stopped.close()
    again = list(certify_run(run, tmp_path / "log.jsonl", **SMALL))
    assert [event.row["index"] for event in again[:3]] == seen
    assert [(event.done, event.total) for event in again] == [(i, 10) for i in range(1, 11)]
    assert timeless(tmp_path / "log.jsonl") == timeless(whole)


def test_any_model_is_certified_as_the_command_does_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, noise = "tests.audit.linear:make", smoothcert.Gaussian(4.0)
    log = certify_run(model, "here.jsonl", noise=noise, dataset="fake", **SMALL).finish()
    options = ["--sigma", "4", "--dataset", "fake", "--n", "200", "--every", "4", "--device", "cpu"]
    assert command("certify", model, *options, "--out", "there.jsonl", cwd=tmp_path).returncode == 0
    assert timeless(log) == timeless(tmp_path / "there.jsonl")
    with pytest.raises(InputError, match="does not say its data"):
        certify_run(model, noise=noise, **SMALL).finish()


def test_an_audit_that_was_stopped_goes_on_and_has_one_writer(tmp_path):
    model, facts = "tests.audit.linear:make", {"noise": smoothcert.Gaussian(4.0), "dataset": "fake"}
    log = certify_run(model, tmp_path / "certify.jsonl", **facts, **SMALL | {"n": 1000}).finish()
    stopped = audit_run(model, log, **ATTACK)
    first = next(stopped)
    with pytest.raises(InputError, match="another process is busy"):
        audit_run(model, log, **ATTACK).finish()
    stopped.close()
    audit = audit_run(model, log, **ATTACK).finish()
    assert first.row in audit.rows and audit.out == tmp_path / "audit.jsonl"
    assert audit.verdict.sound and audit.verdict.attacked == len(audit.rows)


def test_files_and_test_images_are_predicted(run, tmp_path):
    np.save(tmp_path / "x.npy", np.full((28, 28), 0.5))
    (found,) = predict_run(run, [tmp_path / "x.npy"], n=100, seed=1, device="cpu").finish()
    g = open_target(run, device="cpu").smoothed(seed=1)
    assert found.prediction.votes == g.predict(torch.full((1, 28, 28), 0.5), 100, index=0).votes
    of_test_set = predict_run(run, n=100, every=10, device="cpu").finish()
    assert [event.image for event in of_test_set] == ["0", "10", "20", "30"] and of_test_set[0].label is not None
    with pytest.raises(InputError, match="--limit"):
        predict_run(run, limit=0, device="cpu").finish()


def test_a_row_of_the_paper_is_reproduced_and_a_second_call_trains_nothing(tmp_path):
    (task,) = plan("mnist/gaussian/0.50", tmp_path, settings=TABLE["settings"], scale=TABLE["scale"])
    stopped = reproduce("mnist/gaussian/0.50", tmp_path, **TABLE)
    assert str(next(stopped)) == f"train {task.folder.name}" and isinstance(next(stopped), Step)
    with pytest.raises(InputError, match="another process is busy"):
        reproduce("mnist/gaussian/0.50", tmp_path, **TABLE).finish()
    stopped.close()
    done = reproduce("mnist/gaussian/0.50", tmp_path, **TABLE).finish()
    assert [(v.row.name, v.verdict.word) for _, v in done.verdicts] == [("6:7", "reduced run"), ("7:2", "reduced run")]
    again = list(reproduce("mnist/gaussian/0.50", tmp_path, **TABLE))
    assert not any(isinstance(event, Step) for event in again)
    assert task.progress().trained and task.progress().certified == task.progress().selected


def test_what_cannot_be_reproduced_is_skipped_and_the_rest_is_done(tmp_path):
    missing = plan("mnist/gaussian/*", tmp_path, settings=TABLE["settings"], scale=TABLE["scale"])[1]
    RunFolder(missing.folder).claim(override(missing.recipe, ["lr=7"]))
    events = reproduce("mnist/gaussian/*", tmp_path, **TABLE)
    skipped = [str(event) for event in events if isinstance(event, Milestone) and event.kind == "skipped"]
    assert len(skipped) == 1 and "another recipe" in skipped[0]
    assert len(events.result.tasks) == 2 and list(events.result.skipped) == [missing.folder.name]


def test_a_figure_ends_in_its_picture(tmp_path):
    small = TABLE | {"settings": ["data=fake", "batch=64", "m=2"], "scale": 0.0001}
    done = reproduce("figure1", tmp_path, **small).finish()
    assert list(done.gaps) == ["Consistency", "SmoothAdv", "MACER", "Stability", "Gaussian"]
    assert done.picture == tmp_path / "figure1-reduced0.0001.pdf" and done.picture.exists()


def test_the_demo_ends_in_its_table_and_difference_and_a_second_call_goes_on(tmp_path):
    small = [
        "demo",
        "--set",
        "data=fake",
        "batch=32",
        "--scale",
        "0.05",
        "--n",
        "200",
        "--every",
        "4",
        "--device",
        "cpu",
    ]
    first = command(*small, cwd=tmp_path)
    assert first.returncode == 0, first
    lines = first.stdout.splitlines()
    assert lines[0].split()[:2] == ["name", "ACR"]
    assert [line.split()[0] for line in lines[1:3]] == ["gaussian-seed0", "consistency-seed0"]
    assert any(line.startswith("Consistency − Gaussian: ACR ") and "paired, 10 images" in line for line in lines)
    assert (tmp_path / "demo" / "certified-accuracy.png").exists()
    logs = [tmp_path / "demo" / f"{method}-seed0" / "certify.jsonl" for method in ("gaussian", "consistency")]
    whole, before = timeless(logs[1]), [log.read_bytes() for log in logs]
    trained = [(log.parent / "model.safetensors").stat().st_mtime_ns for log in logs]
    logs[1].write_bytes(before[1][:-30])  # as a crash in the middle of a row leaves it
    assert command(*small, cwd=tmp_path).stdout == first.stdout
    assert [(log.parent / "model.safetensors").stat().st_mtime_ns for log in logs] == trained
    assert logs[0].read_bytes() == before[0] and timeless(logs[1]) == whole


def test_work_gives_its_result_once_all_events_are_seen():
    def three():
        yield from (1, 2, 3)
        return "done"

    work = Work(three())
    assert list(work) == [1, 2, 3] and list(work) == [] and work.finish() == work.result == "done"
