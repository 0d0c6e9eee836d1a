"""Whatever text a file holds, its reader gives a value or says in one line why not."""

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from smoothcert.analysis import read_results
from smoothcert.errors import InputError
from smoothcert.files.pickle_program import look_through
from smoothcert.files.reading import parse_array, parse_json, read_arrays, read_unzipped, read_up_to
from smoothcert.files.shown import shown
from smoothcert.recipes import RECIPES, find_recipe, from_dict, to_dict
from smoothcert.records.training_log import read_training_log

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(LEAVES, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=8), v, max_size=4))


@given(data=st.binary(max_size=300), limit=st.integers(0, 400))
def test_one_byte_more_than_the_limit_is_all_that_is_read(data, limit):
    assert read_up_to(io.BytesIO(data), limit) == data[: limit + 1]


@given(value=JSON)
def test_json_is_parsed_as_it_was_written(value):
    assert repr(parse_json(json.dumps(value))) == repr(value)


@pytest.mark.parametrize(
    "text", ["[" * 60 + "]" * 60, '{"a":' * 990 + "1" + "}" * 990, "[" * 10**5, "[" * 10**5 + "]" * 10**5]
)
def test_what_is_nested_too_deep_to_be_walked_is_refused(text):
    with pytest.raises(ValueError, match=r"deep|Expecting"):
        parse_json(text)


@given(value=st.recursive(LEAVES, lambda v: st.lists(v, max_size=30)))
def test_a_quoted_value_stays_short(value):
    assert len(shown(value)) <= 161 and "\n" not in shown(value)
    assert shown([10**5000]) == "a number of very many digits"


@settings(max_examples=60)
@given(
    array=arrays.arrays(st.sampled_from(["<f8", "<i8", "?", "<U3", ">i2"]), arrays.array_shapes(min_dims=0, min_side=0))
)
def test_an_array_comes_back_whole_or_not_at_all(array):
    out = io.BytesIO()
    np.save(out, array)
    data = out.getvalue()
    found = parse_array(data)
    assert found.dtype == array.dtype and found.shape == array.shape and found.tobytes() == array.tobytes()
    for end in range(0, len(data) - 1, 7):
        with pytest.raises(ValueError, match="header"):
            parse_array(data[:end] if array.nbytes or end < 100 else b"")


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10**6)))
    assert len(read_unzipped(path, 10**6)) == 10**6
    with pytest.raises(InputError, match="larger than"):
        read_unzipped(path, 10**6 - 1)
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10**5))
    assert read_arrays(tmp_path / "bomb.npz", 10**6)["a"].shape == (10**5,)
    with pytest.raises(InputError, match="unpacks to more"):
        read_arrays(tmp_path / "bomb.npz", 10**5)


@given(place=st.integers(0, 30), value=JSON)
def test_any_value_anywhere_in_a_recipe_is_taken_or_refused(place, value):
    values = to_dict(RECIPES["mnist/consistency/0.50"])
    tables = [
        values,
        values["objective"],
        values["objective"]["noise"],
        values["schedule"],
        *values["objective"]["terms"],
    ]
    places = [(table, key) for table in tables for key in table]
    table, key = places[place % len(places)]
    table[key] = value
    try:
        assert to_dict(from_dict(values)) is not None
    except InputError as error:
        assert len(str(error)) < 500


@given(text=st.text(max_size=200), suffix=st.sampled_from([".toml", ".json"]))
def test_any_text_is_a_recipe_or_refused(text, suffix, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"recipe{suffix}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError):
        find_recipe(str(path))


@given(
    cells=st.lists(
        st.lists(st.text(max_size=6) | st.integers().map(str) | st.floats().map(str), max_size=7), max_size=4
    )
)
def test_any_cells_are_a_tsv_log_or_refused(cells, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "log.tsv"
    rows = [
        "idx\tlabel\tpredict\tradius\tcorrect\ttime",
        "0\t1\t1\t0.5\t1\t0:00:01",
        *("\t".join(row) for row in cells),
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8", errors="replace")
    try:
        found = read_results(path)
    except InputError:
        return
    assert len(found) >= 1 and np.isfinite(found.radius).all()


@given(rows=st.lists(JSON, max_size=4))
def test_a_training_log_holds_tables_and_nothing_else(rows, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if all(isinstance(row, dict) for row in rows):
        assert repr(read_training_log(path)) == repr(rows)
    else:
        with pytest.raises(InputError, match="not a training log"):
            read_training_log(path)


@pytest.mark.parametrize("new", [True, False])
def test_every_checkpoint_that_torch_writes_passes(new):
    import zipfile

    state = {f"layer{i}.weight": torch.ones(2, 3)[:, :2] for i in range(300)}
    content = {"state_dict": state, "optimizer": {"betas": (0.9, (1, 2)), "state": dict(enumerate(state.values()))}}
    out = io.BytesIO()
    torch.save(content, out, _use_new_zipfile_serialization=new)
    if new:
        with zipfile.ZipFile(out) as archive:
            program = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
            look_through(Path("new"), program, 100_000)
    else:
        look_through(Path("old"), out.getvalue(), 100_000, pickles=5)


@pytest.mark.parametrize("depth", [30, 2000])
def test_tuples_that_cannot_be_hashed_in_time_are_refused(depth):
    doubled = b"\x80\x02K\x01" + b"q\x01h\x01\x86" * depth + b"."
    nested = b"\x80\x02K\x01" + b"\x85" * (depth * 40) + b"."
    duplicated = b"\x80\x02K\x01" + b"2\x86" * depth + b"."
    sets = b"\x80\x04K\x01" + b"q\x01(h\x01h\x01\x85\x91" * depth + b"."
    for bad in (doubled, nested, duplicated, sets):
        with pytest.raises(InputError, match="file: refused, and nothing in it was executed: its pickle nests tuples"):
            look_through(Path("file"), bad, 100_000)


@pytest.mark.parametrize("bad", [b"N0" * 60 + b"N.", b"\x80\x02Nr\xff\xff\xff\xff.", b"Np101\n.", b"Np-1\n."])
def test_a_pickle_that_is_longer_than_its_kind_is_refused(bad):
    with pytest.raises(InputError, match="is longer than that of any file of its kind"):
        look_through(Path("file"), bad, 100)
