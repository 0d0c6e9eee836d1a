"""One certification by several processes: each image once, whoever did it, and nothing that does not belong to it."""

import gzip
import random
from dataclasses import replace
from itertools import chain

import pytest
import torch
from forging import opened, sealed
from tests.cli.running import fails, smoothcert

from smoothcert.analysis import read_results
from smoothcert.certification.crew import Crew, Shard, Torchrun, crew_of
from smoothcert.certification.merge import merge
from smoothcert.certification.run import certify_images
from smoothcert.certification.verify import verify
from smoothcert.data import load
from smoothcert.errors import InputError
from smoothcert.files import jsonl
from smoothcert.machine.processes import Place
from smoothcert.noise import Gaussian
from smoothcert.procedures.procedure import build
from smoothcert.records.log import missing, read_certification, write_log, writer
from smoothcert.records.parts import combined, files_of, one_per_log, part_path, read_whole, whole_path
from smoothcert.records.selection import Selection
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.drive import Image, drive

TEST = load("fake", "test")
CURVE = build("curve", Gaussian(0.5), n=300, radii=(0.0, 0.25, 0.5))
PATTERNS = torch.stack([TEST.batch(torch.arange(c, 40, 10))[0].mean(0) for c in range(10)]).flatten(1)


def f(x):
    return -torch.cdist(x.flatten(1).double(), PATTERNS.double())


def certify(log, crew=None, procedure=CURVE, batch=100, every=2, f=f, **more):
    g = SmoothedClassifier(f, Gaussian(0.5), 10, batch=batch)
    return certify_images(
        g, TEST, log, procedure, Selection(every), "test", {"model": {"name": "nearest"}}, None, crew, **more
    )


def timeless(rows):
    return sorted(({k: v for k, v in row.items() if k != "seconds"} for row in rows), key=lambda row: row["index"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return timeless(certify(tmp_path_factory.mktemp("log") / "log.jsonl"))


class Store:
    """The part of torch.distributed.Store that is used."""

    def __init__(self):
        self.values, self.counts = {}, {}

    def set(self, key, value):
        self.values[key] = value

    def get(self, key):
        return self.values[key]

    def add(self, key, amount):
        self.counts[key] = self.counts.get(key, 0) + amount
        return self.counts[key]


def logs_and_parts(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("batch", [7, 64, 1000])
def test_votes_do_not_depend_on_processes_batches_or_turns(tmp_path, whole, processes, batch):
    """f computes in float64 here, so that no vote can hang on the order of a sum."""
    log, store, turns = tmp_path / "log.jsonl", Store(), random.Random(batch)
    crews = [Torchrun(Place(rank, processes), store) for rank in range(processes)]
    crews[0].wait = lambda: iter(())  # for the others, who are in this very thread
    working = [certify(log, crew, batch=batch) for crew in crews]
    rows = [next(working[0])]  # the first shares the work out
    while working:
        row = next(process := turns.choice(working), None)
        working = [p for p in working if p is not process] if row is None else working
        rows += [] if row is None else [row]
    done = [row for file in files_of(log) for row in read_certification(file).rows]
    assert timeless(done) == whole == timeless(read_whole(log).rows)
    assert len(files_of(log)) == processes and crews[0].written == len(whole)


def test_a_shuffled_order_changes_nothing(whole):
    images = [Image(TEST.batch(torch.tensor([i]))[0][0], i) for i in range(0, 40, 2)]
    random.Random(0).shuffle(images)
    g = SmoothedClassifier(f, Gaussian(0.5), 10, batch=64)
    found = {image.index: c for image, c, _ in g.certificates(CURVE, images)}
    assert [found[row["index"]].radius for row in whole] == [row["radius"] for row in whole]
    assert [sum(found[row["index"]].estimation) for row in whole] == [sum(row["estimation"].values()) for row in whole]


def test_towards_the_end_nobody_sits_on_images_while_others_have_none():
    store = Store()
    first, second = (Torchrun(Place(rank, 2), store) for rank in range(2))
    assert first.room() > 1000  # not shared out yet
    taken = first.choose(range(40), ())
    assert [next(taken) for _ in range(20)] == list(range(20)) and first.room() == 5
    assert list(second.choose(range(40), ())) == list(range(20, 40)) and second.room() == 0


def test_no_more_images_are_open_than_there_is_room_for():
    g = SmoothedClassifier(f, Gaussian(0.5), 10, batch=64)
    begun, most = [], []

    def images():
        for i in range(12):
            begun.append(i)
            yield Image(TEST.batch(torch.tensor([i]))[0][0], i)

    for done, _ in enumerate(drive(g._voter, CURVE, images(), lambda: 3), 1):
        most.append(len(begun) - done + 1)
    assert max(most) == 3 and len(begun) == 12
    assert len(list(drive(g._voter, CURVE, images(), lambda: 0))) == 12  # one at a time


def test_shards_are_a_partition_and_skip_what_others_did(tmp_path, whole):
    log, images = tmp_path / "log.jsonl", Selection(every=2).of(40)
    shares = [list(Shard(i, 3).choose(images, ())) for i in range(3)]
    assert sorted(chain(*shares)) == list(images) and max(map(len, shares)) - min(map(len, shares)) <= 1
    for _ in range(4):
        next(rows := certify(log, Shard(0, 2)))
    rows.close()
    for i in range(3):  # another number of jobs takes over
        list(certify(log, Shard(i, 3)))
    assert timeless(row for file in files_of(log) for row in read_certification(file).rows) == whole
    assert timeless(certify(log)) == whole and not log.read_bytes().count(b"estimation")  # nothing was left


@pytest.mark.parametrize("text", ["3/3", "-1/3", "1", "a/b", "1/0", "0/0", "1/3/4", "٣/9", " 0/3"])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="--shard must be I/N"):
        Shard.parse(text)


def test_shards_and_torchrun_do_not_mix():
    with pytest.raises(InputError, match="leave it away"):
        crew_of(Place(0, 2, 0), "0/2")
    assert type(crew_of(Place(), None)) is Crew and crew_of(Place(), "1/2").part == "1-of-2"


@pytest.fixture
def shards(tmp_path):
    """A run folder whose log is in three parts, as another machine's half-made one."""
    log = tmp_path / "certify.jsonl"
    for i in range(3):
        list(certify(log, Shard(i, 3)))
    part_path(log, "9-of-10").write_bytes(b'{"half a hea')
    return log


def test_every_reader_takes_the_set_for_one_log(shards, whole):
    assert not shards.exists()
    for path in (shards.parent, shards, part_path(shards, "1-of-3")):
        assert timeless(read_whole(path).rows) == whole and whole_path(path) == shards
        assert len(read_results(path)) == len(whole) and verify(path).rows == len(whole)
    (path,) = one_per_log(sorted(shards.parent.glob("certify.part-?-of-3.jsonl")))
    one = read_results(path)
    assert one.index.tolist() == [row["index"] for row in whole]
    table = smoothcert("table", ".", "--format", "json", cwd=shards.parent)
    assert table.returncode == 0 and '"images": 20' in table.stdout


def test_a_packed_log_is_gone_on_with_in_an_unpacked_copy(tmp_path, whole):
    log = tmp_path / "certify.jsonl"
    few = list(certify(log, every=8))
    packed = tmp_path / "certify.jsonl.gz"
    packed.write_bytes(gzip.compress(log.read_bytes(), mtime=0))
    log.unlink()
    before = packed.read_bytes()
    assert read_whole(tmp_path).rows == few and whole_path(tmp_path) == packed
    assert len(read_results(tmp_path)) == len(few) and verify(tmp_path).rows == len(few)
    for words, changed in (
        ("gz: was made with other settings .n: 300", {"procedure": build("curve", Gaussian(0.5), n=400, radii=(0.0,))}),
        ("gz: is packed", {"every": 8, "crew": Shard(0, 2)}),
    ):
        with pytest.raises(InputError, match=words):
            list(certify(log, **changed))
        assert not log.exists()
    asked = []
    assert list(certify(log, every=8, f=lambda x: asked.append(len(x)) or f(x))) == few and not asked
    assert timeless(certify(log)) == whole == timeless(read_whole(tmp_path).rows) and whole_path(tmp_path) == log
    for every in (2, 1):  # the same images, or more of them: either way it would be written to
        with pytest.raises(InputError, match="packed"):
            list(certify(packed, every=every))
    with pytest.raises(InputError, match="packed"):
        writer(packed, "test", read_certification(packed).header, {}, read_certification(packed))
    assert packed.read_bytes() == before


def test_a_log_of_fewer_images_is_gone_on_with(tmp_path, whole):
    log = tmp_path / "log.jsonl"
    few = list(certify(log, every=8))
    with log.open("ab") as file:
        file.write(b'{"torn')
    asked = []
    rows = certify(log, f=lambda x: asked.append(len(x)) or f(x))
    assert [next(rows) for _ in few] == few and not asked
    assert timeless([*few, *rows]) == whole and sum(asked) < 500 * (len(whole) - len(few))
    assert (
        timeless(read_certification(log).rows) == whole
        and not missing(read_certification(log))
        and not verify(log).problems
    )
    for words, changed in (
        ("selection.every: 2 there, 8 asked for", {"every": 8}),
        ("n: 300 there, 400 asked for", {"every": 1, "procedure": build("curve", Gaussian(0.5), n=400, radii=(0.0,))}),
    ):
        before = log.read_bytes()
        with pytest.raises(InputError, match=words):
            list(certify(log, **changed))
        assert log.read_bytes() == before


@pytest.mark.parametrize("crew", [None, Shard(0, 3), Shard(2, 4)], ids=["alone", "shard", "another shard"])
@pytest.mark.parametrize("parts", [0, 3])
def test_a_resume_reads_every_file_once(tmp_path, monkeypatch, whole, parts, crew):
    log = tmp_path / "certify.jsonl"
    for made in [Shard(i, parts) for i in range(parts)] or [None]:
        list(certify(log, made))
    files, seen, real = files_of(log), [], jsonl.read_unzipped
    monkeypatch.setattr(jsonl, "read_unzipped", lambda path, limit: seen.append(path) or real(path, limit))
    assert timeless(certify(log, crew)) == whole and sorted(seen) == files


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_of_fewer_images_is_read_once(tmp_path, monkeypatch, whole, packed):
    log = source = tmp_path / "certify.jsonl"
    list(certify(log, every=8))
    if packed:
        source = tmp_path / "certify.jsonl.gz"
        source.write_bytes(gzip.compress(log.read_bytes()))
        log.unlink()
    seen, real = [], jsonl.read_unzipped
    monkeypatch.setattr(jsonl, "read_unzipped", lambda path, limit: seen.append(path) or real(path, limit))
    assert timeless(certify(log)) == whole and seen == [source]


def test_a_log_has_one_writer_at_a_time(tmp_path, whole):
    log = tmp_path / "log.jsonl"
    first = certify(log)
    row = next(first)
    before = log.read_bytes()
    for second in (None, Shard(0, 2), Torchrun(Place(0, 2), Store())):
        with pytest.raises(InputError, match="another process is busy"):
            next(certify(log, second))
        assert log.read_bytes() == before
    first.close()
    forgotten = certify(log)
    assert next(forgotten) == row
    del forgotten
    assert timeless(certify(log)) == whole


def test_shards_tolerate_each_other_but_not_themselves_and_nobody_else_them(tmp_path):
    log = tmp_path / "log.jsonl"
    working = [certify(log, Shard(i, 3)) for i in range(2)]
    assert [next(rows)["index"] for rows in working]
    for refused in (certify(log, Shard(1, 3)), certify(log), certify(log, Torchrun(Place(0, 2), Store()))):
        with pytest.raises(InputError, match="another process is busy"):
            next(refused)
    with pytest.raises(InputError, match="another process is busy"):
        merge([log])
    working.clear()
    assert len(merge([log], allow_gaps=True).files) == 2


def test_who_leads_keeps_lock_and_store_until_all_have_left(tmp_path):
    """All rows being written is not enough: the others ask the store once more, and it may end with the first."""
    log, store, busy, rows = tmp_path / "log.jsonl", Store(), [], 1
    second = Torchrun(Place(1, 2), store)
    first = certify(log, Torchrun(Place(0, 2), store))
    next(first)
    assert next(second.choose(range(0), ())) > 0  # and is slow with it
    for row in first:
        if row is None:
            with pytest.raises(InputError, match="another process is busy"):
                next(certify(log))
            busy.append(second.written)
            if len(busy) == 2:
                second.count_row()
            if len(busy) == 3:
                assert list(second.wait()) == []
        else:
            rows += 1
    assert rows == 19 and busy == [19, 19, 20]
    assert next(certify(log))


def test_parts_are_not_widened(shards):
    with pytest.raises(InputError, match="other settings"):
        list(certify(shards, every=1))


def test_merging_leaves_one_log(shards, whole):
    done = smoothcert("merge", ".", cwd=shards.parent)
    assert (done.returncode, done.stdout) == (0, "certify.jsonl  20 images from 3 files\n")
    assert timeless(read_certification(shards).rows) == whole and files_of(shards) == [shards]
    assert [row["index"] for row in read_certification(shards).rows] == [row["index"] for row in whole]
    assert timeless(certify(shards)) == whole  # and can be gone on with


def test_merging_to_another_place_keeps_the_parts(shards, whole):
    (shards.parent / "there").mkdir()
    moved = part_path(shards, "2-of-3").rename(shards.parent / "there" / "certify.part-2-of-3.jsonl")
    given = ("certify.part-0-of-3.jsonl", "certify.part-1-of-3.jsonl", moved)
    assert "say with --out" in fails("merge", *given, cwd=shards.parent)
    assert smoothcert("merge", *given, "--out", "all.jsonl", cwd=shards.parent).returncode == 0
    assert timeless(read_certification(shards.parent / "all.jsonl").rows) == whole and moved.exists()
    assert "exists" in fails("merge", *given, "--out", "all.jsonl", cwd=shards.parent)


def test_a_gap_is_refused_unless_allowed(shards):
    part_path(shards, "1-of-3").unlink()
    assert missing(read_whole(shards)) == list(range(2, 40, 6))
    assert "7 of 20 images are missing (2, 8, 14, …)" in fails("merge", ".", cwd=shards.parent)
    assert len(files_of(shards)) == 2
    done = smoothcert("merge", ".", "--allow-gaps", "--keep", cwd=shards.parent)
    assert "13 images from 2 files, 7 missing" in done.stdout and len(files_of(shards)) == 3


def test_an_image_done_twice_counts_once_if_both_agree(shards, whole):
    first, second = (part_path(shards, f"{i}-of-3") for i in range(2))
    row = read_certification(first).rows[0]
    second.write_bytes(sealed([*opened(second), row | {"seconds": 99.0}]))
    assert timeless(read_whole(shards).rows) == whole
    assert "20 images from 3 files, 1 of them in two parts alike" in smoothcert("merge", ".", cwd=shards.parent).stdout


@pytest.mark.parametrize("change", [{"radius": 9.0}, {"predict": -1}, {"estimation": {"1": 5}}])
def test_two_certificates_of_one_image_that_differ_are_refused(shards, change):
    first, second = (part_path(shards, f"{i}-of-3") for i in range(2))
    second.write_bytes(sealed([*opened(second), read_certification(first).rows[0] | change]))
    assert "different certificates" in fails("merge", ".", cwd=shards.parent)
    assert "different certificates" in fails("table", ".", cwd=shards.parent)


def test_parts_of_different_settings_are_refused_and_nothing_is_written(shards):
    before = logs_and_parts(shards.parent)
    other = build("curve", Gaussian(0.5), n=301, radii=(0.0, 0.25, 0.5))
    with pytest.raises(InputError, match="n: 300 there, 301 asked for"):
        list(certify(shards, Shard(0, 4), other))
    assert logs_and_parts(shards.parent) == before
    log = read_certification(part_path(shards, "0-of-3"))
    write_log(part_path(shards, "0-of-3"), replace(log, header=replace(log.header, seed=5)))
    assert "seed: 0 one, 5 the other" in fails("merge", ".", cwd=shards.parent)
    with pytest.raises(InputError, match="cannot be one log"):
        combined([read_certification(file) for file in files_of(shards)])


def test_a_damaged_part_is_named(shards):
    path = part_path(shards, "1-of-3")
    data = path.read_bytes()
    path.write_bytes(data[:-40] + b"#" + data[-39:])
    assert "certify.part-1-of-3.jsonl: line 9 is damaged" in fails("table", ".", cwd=shards.parent)
