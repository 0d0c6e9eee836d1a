"""Wrong uses of every command: one line on standard error, exit code 2, no traceback, nothing left behind."""

import gzip
import json
import shlex

import pytest

from smoothcert.cli import COMMANDS
from smoothcert.interchange.weights import load_weights, save_weights
from smoothcert.noise import Gaussian
from smoothcert.objectives import CrossEntropy, Objective
from smoothcert.recipes import Recipe, StepDecay, to_dict
from tests.cli.running import fails, smoothcert

RECIPE = Recipe("fake", "lenet", Objective(Gaussian(0.25), (CrossEntropy(),)), 1, 0.02, StepDecay(30), batch=64)

# `run` is a trained and certified run of fake data (40 test images, every 4th certified), `part` has 5 of its 10 rows.
WRONG = """
train                                                   | recipe
train nothing                                           | recipe
train nowhere.toml                                      | nowhere.toml
train broken.json                                       | broken.json
train recipe.json --seed -1                             | seed
train recipe.json --seed x                              | --seed
train recipe.json --scale 0                             | --scale
train recipe.json --set nothing=1                       | nothing
train recipe.json --set lr=-1                           | lr
train recipe.json --out run                             | another recipe
train recipe.json --out foreign                         | without its checkpoint
train recipe.json --set objective.m=400 split_batch=true batch=400 | fewer images than m
train recipe.json --set starts_from=broken.json --init run | unknown recipe
show recipe.json --set starts_from=recipe.json          | unknown recipe
train recipe.json --out recipe.json                     | recipe.json
train recipe.json --device warp                         | --device
train recipe.json --progress slow                       | --progress
train mnist/gaussian/0.50 --data nowhere                | nowhere
train recipe.json --threads 0                           | threads
advise                                                  | run
advise nowhere                                          | nowhere
advise empty                                            | not a run folder
advise run --radius nan                                 | --radius
advise run --sigmas 0.5 0.5                             | --sigmas
advise run --sigmas -1                                  | sigma
advise run --images 1                                   | --images
advise run --votes 0                                    | --votes
advise run --dataset mnits                              | mnits
certify                                                 | run
certify nowhere                                         | nowhere
certify empty                                           | not a run folder
certify broken.json                                     | broken.json
certify run --every 41 --out x.jsonl                    | --every
certify run --every 0 --out x.jsonl                     | --every
certify run --seed -1 --out x.jsonl                     | seed
certify run --seed secrt --out x.jsonl                  | --seed
certify run --limit 0 --out x.jsonl                     | --limit
certify run --limit 0 --seed secret --out x.jsonl       | --limit
certify run --limit 0 --n 100 --budget 5000 --out x.jsonl | --limit
certify odd                                             | its recipe is None
certify run --n 9 --out x.jsonl                         | n >= 10
certify run --n0 0 --out x.jsonl                        | n0
certify run --alpha 0 --out x.jsonl                     | alpha
certify run --alpha nan --out x.jsonl                   | alpha
certify run --range 5 5 --out x.jsonl                   | --range
certify run --range 40 50 --out x.jsonl                 | 40
certify run --radius -1 --out x.jsonl                   | radi
certify run --radii 1 0.5 --procedure curve --out x.jsonl | radi
certify run --shard 3/3 --out x.jsonl                   | shard
certify run --noise laplace --out x.jsonl               | --noise
certify run --noise cauchy:1 --out x.jsonl              | cauchy
certify run --sigma -1 --out x.jsonl                    | sigma
certify run --batch 0 --out x.jsonl                     | batch
certify run --dataset mnits --out x.jsonl               | mnits
certify run --split dev --out x.jsonl                   | dev
certify run --n 300                                     | other settings
certify run --out new/deep/x.jsonl --limit 0            | --limit
certify run --out recipe.json                           | recipe.json
predict run --every 41                                  | --every
predict run --limit 0                                   | --limit
predict run --seed -1                                   | seed
predict run --n 0                                       | n
predict run --n 5                                       | n >=
predict run nowhere.png                                 | nowhere.png
predict run broken.json                                 | broken.json
predict run --alpha 1                                   | alpha
check                                                   | log
check run                                               | check what
check run --at-least 0.9                                | --radius
check run --radius 0.5                                  | check what
check run --radius 0.5 --at-least 90                    | --at-least
check run --radius -1 --at-least 0.9                    | --radius
check run --radius 0.5 --at-least 0.9 --confidence 95   | --confidence
check run --radius 0.5 --at-least 0.9 --of image        | --of
check run --compare nowhere                             | nowhere
check run --compare part.jsonl --radius 0.1             | lacks 5
check run --compare run --margin -1                     | --margin
check run --compare run                                 | too few
check old.tsv --radius 0.5 --at-least 0.9               | alpha
check broken.json --radius 0.5 --at-least 0.9           | broken.json
verify                                                  | at least one
verify nowhere                                          | nowhere
verify run --recompute 3                                | --model
verify run --recompute-seed 3                           | --recompute
verify run --model run --recompute 0                    | recompute
verify run --model run --recompute 1 --recompute-seed -1 | seed
verify run --public-key nowhere.pub                     | nowhere.pub
verify old.tsv                                          | old.tsv
reveal run                                              | secret
reveal nowhere                                          | nowhere
sign run                                                | --key
sign run --key nowhere.key                              | nowhere.key
sign run --new-key old.tsv                              | old.tsv
audit nowhere                                           | nowhere
audit run --images 0                                    | images
audit run --votes 0                                     | votes
audit run --seed -1                                     | seed
audit run --radius-factor 0                             | --radius-factor
audit run --log nowhere.jsonl                           | nowhere.jsonl
selftest --votes 5                                      | --votes
selftest --seed -1                                      | seed
selftest --device warp                                  | --device
merge nowhere                                           | nowhere
merge part.jsonl --out whole.jsonl                      | missing
merge                                                   | name
merge whole.jsonl.gz                                    | is packed
table                                                   | at least one
table run --radii -1                                    | --radii
table run --confidence 2                                | confidence
table run --out run                                     | run
table run --out old.tsv/t.md                            | old.tsv
table run --out run/../run/certify.jsonl                | what is read here
table part.jsonl --out part.jsonl                       | what is read here
table run --label a b                                   | --label
table run --json --format latex                         | --json
plot nowhere                                            | nowhere
plot run --out p.doc                                    | p.doc
plot run --out old.tsv/p.png                            | old.tsv
figure curves                                           | at least one
figure pie run                                          | pie
figure curves run --m run                               | figure ablation
figure gaps broken.json                                 | broken.json
leaderboard                                             | at least one
leaderboard nowhere                                     | nowhere
leaderboard old.tsv                                     | does not say its data set
leaderboard run --radii -1                              | --radii
leaderboard run --label a b                             | --label
leaderboard run --format excel                          | excel
compare run                                             | two
compare run nowhere                                     | nowhere
compare run run --confidence 0                          | --confidence
report                                                  | at least one
report run --paper 6:99                                 | not 99
report run --out nowhere/r.html --label a b             | --label
report old.tsv --out old.tsv                            | what is read here
export-tsv nowhere                                      | nowhere
export-tsv run --digits 0                               | digits
export-tsv run --out run/certify.jsonl                  | what is read here
export-tsv old.tsv                                      | what is read here
export-tsv run --out nowhere/t.tsv --digits -1          | digits
data get                                                | get
data fetch                                              | fetch what
data fetch mnits                                        | mnits
cost                                                    | at least one
cost nowhere                                            | nowhere
gaps run --image 40 --out g.npz                         | 40
gaps run --draws 0 --out g.npz                          | draws
gaps run --seed -1 --out g.npz                          | seed
gaps --out g.npz                                        | at least one
import nowhere.pth --out new --sigma 0.5 --dataset mnist | nowhere.pth
import broken.json --out new --sigma 0.5 --dataset mnist | broken.json
import broken.json --out new --sigma -1 --dataset mnist | sigma
import broken.json --out run --sigma 0.5 --dataset fake | run
export run                                              | export to what
export nowhere --safetensors m.safetensors              | nowhere
export run --safetensors old.tsv/m.safetensors          | old.tsv
export run --safetensors run/model.safetensors          | what is read here
recipes nothing-like-it                                 | nothing-like-it
show                                                    | recipe
show mnist/gausian/0.50                                 | did you mean
show mnist/gaussian/0.50 --seed -1                      | seed
reproduce table12                                       | 12
reproduce 6 --seeds 0,x                                 | --seeds
reproduce 6 --seeds -1                                  | seed
reproduce 6 --scale 2                                   | --scale
reproduce 6 --every 0 --dry-run                         | --every
reproduce 6 --n 5 --dry-run                             | n >= 10
reproduce mnist/gaussian/0.50 --procedure best          | --procedure
reproduce mnist/gaussian/0.50 --data nowhere            | data
reproduce mnist/gaussian/0.50 --every 41 --set data=fake --scale 0.01 | --every
demo --seed -1                                          | seed
demo --every 0                                          | --every
demo --n 5                                              | n >= 10
demo --scale 7                                          | --scale
certfy run                                              | did you mean certify
--jsn                                                   | unknown option
"""
CASES = [[part.strip() for part in line.split("|")] for line in WRONG.strip().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "recipe.json").write_text(json.dumps(to_dict(RECIPE)))
    assert smoothcert("train", "recipe.json", "--out", "run", "--seed", 7, "--device", "cpu", cwd=folder).stderr == ""
    assert smoothcert("certify", "run", "--n", 100, "--every", 4, "--device", "cpu", cwd=folder).returncode == 0
    lines = (folder / "run" / "certify.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "part.jsonl").write_bytes(b"".join(lines[:6]))
    (folder / "old.tsv").write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t1\t1\t0.5\t1\t0:00:01\n")
    (folder / "empty").mkdir()
    (folder / "foreign" / "checkpoint-500").mkdir(parents=True)  # as other programs name theirs
    (folder / "foreign" / "model.safetensors").write_bytes(b"somebody's weights")
    weights, about = load_weights(folder / "run" / "model.safetensors")
    save_weights(folder / "odd" / "model.safetensors", weights, about | {"recipe": None})
    (folder / "whole.jsonl.gz").write_bytes(gzip.compress(b"".join(lines)))
    (folder / "broken.json").write_text('{"data": ')
    return folder


def everything_in(folder):
    return {path: path.stat().st_mtime_ns if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("call", "message"), CASES, ids=[call for call, _ in CASES])
def test_a_wrong_use_gets_one_line_and_leaves_nothing(folder, call, message):
    before = everything_in(folder)
    said = fails(*shlex.split(call), cwd=folder)
    assert message in said and "Traceback" not in said and len(said) < 400
    assert everything_in(folder) == before


def test_no_command_is_left_out():
    assert {call.split()[0] for call, _ in CASES} >= set(COMMANDS)
