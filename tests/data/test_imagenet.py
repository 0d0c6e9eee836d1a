from __future__ import annotations

import dataclasses
import io
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from beside import unpacker
from PIL import Image

from smoothcert import data
from smoothcert.data import image
from smoothcert.data.imagenet import ImageFolder, load
from smoothcert.errors import InputError

GRADIENT = np.stack(np.meshgrid(np.linspace(0, 255, 300), np.linspace(0, 255, 280), indexing="xy"), -1)
PICTURE = Image.fromarray(np.dstack([GRADIENT, np.full((280, 300), 90)]).astype(np.uint8))  # 300 wide, 280 high


def saved(path: Path, picture: Image.Image = PICTURE, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, **options)  # type: ignore[arg-type]
    return path


@pytest.fixture
def root(tmp_path):
    """Two classes, written in an order that is not the sorted one."""
    for split, count in (("train", 5), ("val", 3)):
        for wnid, shade in (("n02", 200), ("n01", 50)):
            for number in reversed(range(count)):
                noise = np.random.Generator(np.random.PCG64(number)).integers(0, 55, (260, 270, 3))
                saved(
                    tmp_path / "two" / split / wnid / f"{number}.JPEG",
                    Image.fromarray((shade + noise).astype(np.uint8)),
                )
    (tmp_path / "two" / "train" / "n01" / "notes.txt").write_text("not an image")
    return tmp_path


@pytest.fixture(scope="module")
def real_data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    unpacker().imagenette(root / "imagenette")
    return root


def two(root: Path, split: str, workers: int = 0) -> ImageFolder:
    return dataclasses.replace(load("two", 2, split, root), workers=workers)


def test_images_are_ordered_by_class_folder_and_then_by_name(root):
    train = two(root, "train")
    assert list(train.files) == [f"{c}/{n}.JPEG" for c in ("n01", "n02") for n in range(5)]
    assert train.labels.tolist() == [0] * 5 + [1] * 5
    assert (train.num_classes, train.shape, len(two(root, "test"))) == (2, (3, 224, 224), 6)


def test_batches_hold_images_in_the_unit_range_and_their_labels(root):
    x, y = two(root, "test").batch(torch.tensor([0, 5]))
    assert x.shape == (2, 3, 224, 224) and x.dtype == torch.float32
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert y.tolist() == [0, 1] and x[0].mean() < 0.4 < 0.7 < x[1].mean() < 1


def test_the_result_does_not_depend_on_the_number_of_workers_or_on_the_batches(root):
    indices = torch.tensor([3, 9, 0, 7, 2, 2, 8])
    for key in (None, (0, 4)):
        expected = torch.cat([x for x, _ in two(root, "train").batches([indices], key)])
        for workers, size in ((0, 1), (1, 2), (2, 3), (3, 7), (2, 1)):
            batches = list(two(root, "train", workers).batches(indices.split(size), key))
            assert torch.equal(torch.cat([x for x, _ in batches]), expected)
            assert torch.cat([y for _, y in batches]).tolist() == [i // 5 for i in indices.tolist()]


def test_batches_without_a_key_are_the_test_transform(root):
    train = two(root, "train", workers=1)
    assert torch.equal(next(train.batches([torch.arange(4)]))[0], train.batch(torch.arange(4))[0])


def test_augmentation_depends_on_key_and_index(root):
    train = two(root, "train")
    views = [next(train.batches([torch.tensor([1, 2])], key))[0] for key in ((0, 0), (0, 1), (1, 0))]
    assert not torch.equal(views[0], views[1]) and not torch.equal(views[0], views[2])


def test_the_test_transform_resizes_the_shorter_side_to_256_and_takes_the_centre(tmp_path):
    path = saved(tmp_path / "a.png")
    found = np.frombuffer(image.read_image(str(path), None), np.uint8).reshape(224, 224, 3)
    resized = PICTURE.resize((274, 256), Image.Resampling.BILINEAR)  # 300 · 256 / 280 = 274.3
    assert np.array_equal(found, np.asarray(resized)[16:240, 25:249])


@pytest.mark.parametrize("size", [(40, 30), (256, 256), (224, 224), (1, 500), (2000, 3)])
def test_images_of_any_size_come_out_at_224(size, tmp_path):
    path = str(saved(tmp_path / "a.png", PICTURE.resize(size)))
    for key in (None, "some key"):
        assert len(image.read_image(path, key)) == 224 * 224 * 3


def test_random_boxes_have_the_areas_and_ratios_they_should():
    rng = random.Random(0)
    boxes = np.array([image.random_box(400, 400, rng) for _ in range(4000)])
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    assert boxes[:, :2].min() >= 0 and boxes[:, 2:].max() <= 400
    area, ratio = width * height / 160_000, width / height
    assert 0.079 < area.min() < 0.09 and area.max() > 0.95
    assert 0.74 < ratio.min() < 0.76 and 1.32 < ratio.max() < 1.35
    assert np.log(ratio).mean() == pytest.approx(0, abs=0.02)  # as often wide as high


def test_a_box_is_found_in_images_too_long_for_any():
    assert image.random_box(1000, 10, random.Random(0)) == (493, 0, 506, 10)
    assert image.random_box(10, 1000, random.Random(0)) == (0, 493, 10, 506)


def test_half_of_the_images_are_flipped(tmp_path):
    path = str(saved(tmp_path / "a.png"))  # red grows from left to right
    views = [np.frombuffer(image.read_image(path, str(i)), np.uint8).reshape(224, 224, 3) for i in range(100)]
    flipped = sum(view[:, 0, 0].mean() > view[:, -1, 0].mean() for view in views)
    assert 30 <= flipped <= 70  # outside once in 2e4; the keys are fixed


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_obeyed(orientation, tmp_path):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    # a picture that looks like PICTURE once its orientation is obeyed
    undo = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_90",
            7: "TRANSVERSE", 8: "ROTATE_270"}  # fmt: skip
    stored = PICTURE.transpose(Image.Transpose[undo[orientation]]) if orientation in undo else PICTURE
    path = saved(tmp_path / "a.png", stored, exif=exif)
    with Image.open(path) as file:
        assert ImageOps.exif_transpose(file).size == PICTURE.size
    assert image.read_image(str(path), None) == image.read_image(str(saved(tmp_path / "b.png")), None)


def test_greyscale_palette_alpha_cmyk_and_16_bits_become_rgb(tmp_path):
    grey = PICTURE.convert("L")
    deep = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    clear = PICTURE.copy()
    clear.putalpha(128)
    palette = PICTURE.quantize(16)
    cases = {
        "grey.png": (grey, grey.convert("RGB")),
        "deep.png": (deep, grey.convert("RGB")),
        "grey_alpha.png": (grey.convert("LA"), grey.convert("RGB")),
        "alpha.png": (clear, PICTURE),
        "palette.png": (palette, palette.convert("RGB")),
        "bit.png": (grey.convert("1"), grey.convert("1").convert("RGB")),
        "cmyk.jpeg": (PICTURE.convert("CMYK"), None),
    }
    for name, (stored, expected) in cases.items():
        options = {"transparency": bytes([0, 128] * 8)} if name == "palette.png" else {}
        found = np.frombuffer(image.read_image(str(saved(tmp_path / name, stored, **options)), None), np.uint8)
        plain = image.read_image(str(saved(tmp_path / "plain.png", expected or PICTURE)), None)
        difference = np.abs(found.astype(int) - np.frombuffer(plain, np.uint8))
        # CMYK was stored as JPEG, which is not exact
        assert difference.max() <= (12 if name == "cmyk.jpeg" else 0), name


def jpeg() -> bytes:
    file = io.BytesIO()
    PICTURE.save(file, "JPEG")
    return file.getvalue()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (jpeg()[:1500], "truncated"),
        (jpeg()[:10], "Truncated"),
        (b"", "not one of JPEG"),
        (b"hello", "not one of JPEG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "not one of JPEG"),
    ],
)
def test_a_file_that_is_no_image_is_named(workers, content, message, root):
    path = root / "two" / "train" / "n01" / "3.JPEG"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"n01/3.JPEG: cannot be decoded \(.*{message}") as error:
        list(two(root, "train", workers).batches(torch.arange(10).split(4), (0, 0)))
    assert "\n" not in str(error.value)


def test_a_file_that_vanished_is_named(root):
    train = two(root, "train")
    (root / "two" / "train" / "n01" / "3.JPEG").unlink()
    with pytest.raises(InputError, match=r"n01/3.JPEG: cannot be decoded \(No such file"):
        train.batch(torch.tensor([3]))


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path):
    import struct
    import zlib

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    for side, worker in ((10_000, 0), (60_000, 0), (10_000, 1)):
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
        folder = tmp_path / f"{side}{worker}" / "two"
        for wnid in ("a", "b"):
            saved(folder / "val" / wnid / "x.png")
        (folder / "val" / "a" / "x.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
        )
        start = time.perf_counter()
        with pytest.raises(InputError, match=r"a/x.png: cannot be decoded \(.*(pixels|bomb)"):
            list(two(folder.parent, "test", worker).batches([torch.tensor([0])]))
        assert time.perf_counter() - start < 20


def test_files_with_odd_names_are_found_by_workers_too(root):
    odd = root / "two" / "train" / "n01" / "ärger \n 図.JPEG"
    odd.write_bytes((root / "two" / "train" / "n01" / "0.JPEG").read_bytes())
    one, two_workers = (next(two(root, "train", w).batches([torch.arange(6)]))[0] for w in (0, 2))
    assert torch.equal(one, two_workers)


def test_workers_end_when_the_iteration_is_left(root):
    batches = two(root, "train", workers=2).batches(torch.arange(10).repeat(20).split(2), (0, 0))
    next(batches)
    assert len(children()) == 2
    batches.close()  # type: ignore[attr-defined]
    assert children() == []


def test_workers_end_when_their_parent_is_killed(root):
    code = (
        "import sys, torch, dataclasses, pathlib\n"
        "from smoothcert.data.imagenet import load\n"
        f"two = dataclasses.replace(load('two', 2, 'train', pathlib.Path({str(root)!r})), workers=2)\n"
        "batches = two.batches(torch.arange(10).repeat(100).split(2), (0, 0))\n"
        "next(batches)\n"
        "import os; print(os.getpid(), flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        workers = children(parent.pid)
        assert len(workers) == 2
        parent.kill()
    deadline = time.monotonic() + 20
    while any(alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in workers)


def test_a_worker_that_dies_is_reported(root):
    batches = two(root, "train", workers=1).batches(torch.arange(10).repeat(50).split(2), (0, 0))
    next(batches)
    for pid in children():
        os.kill(pid, 9)
    with pytest.raises(InputError, match=r"JPEG: the process decoding it died \(code -9\)"):
        list(batches)


def children(parent: int | None = None) -> list[int]:
    """Processes started by this one (or by another) that run the decoder."""
    if not Path("/proc/self/task").exists():
        pytest.skip("needs /proc to see processes")
    found: list[int] = []
    for task in Path(f"/proc/{parent or os.getpid()}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return [pid for pid in found if b"image.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def test_the_fingerprint_changes_with_names_and_sizes(root):
    first = two(root, "train").fingerprint
    assert two(root, "train").fingerprint == first
    path = root / "two" / "train" / "n02" / "4.JPEG"
    path.write_bytes(path.read_bytes() + b"\0")
    second = two(root, "train").fingerprint
    path.rename(path.with_name("5.JPEG"))
    assert len({first, second, two(root, "train").fingerprint}) == 3


def test_missing_uneven_and_empty_folders_are_explained(root):
    with pytest.raises(InputError, match="three has 3 classes, but here are 2 class folders"):
        (root / "two").rename(root / "three")
        load("three", 3, "train", root)
    (root / "three").rename(root / "two")
    with pytest.raises(InputError, match=r"four: no folder .*four/train: put the images there"):
        load("four", 4, "train", root)
    (root / "two" / "val" / "n02").rename(root / "two" / "val" / "n03")
    with pytest.raises(InputError, match="have different classes: n02, n03"):
        load("two", 2, "train", root)
    (root / "two" / "val" / "n03").rename(root / "two" / "val" / "n02")
    for path in (root / "two" / "val" / "n02").iterdir():
        path.unlink()
    with pytest.raises(InputError, match="val/n02: no images in it"):
        load("two", 2, "test", root)
    flat = root / "flat" / "imagenet" / "val"
    saved(flat / "a.JPEG")
    with pytest.raises(InputError, match="no class folders in it"):
        data.load("imagenet", "test", root / "flat")


def test_workers_are_chosen_by_the_caller(real_data):
    assert data.load("imagenette", "test", real_data, workers=3).workers == 3  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="workers must be at least 0"):
        data.load("imagenette", "test", real_data, workers=-1)


def test_photographs_of_ten_classes_are_cropped_to_224_and_are_not_imagenet(real_data):
    train, test = (data.load("imagenette", split, real_data, workers=2) for split in ("train", "test"))
    assert train.labels.bincount().tolist() == [100] * 10 and test.labels.bincount().tolist() == [50] * 10
    x, y = next(train.batches([torch.arange(0, 1000, 25)], (0, 0)))
    assert x.shape == (40, 3, 224, 224) and y.unique().tolist() == list(range(10))
    with pytest.raises(InputError, match="imagenet has 1000 classes, but here are 10 class folders"):
        data.load("imagenet", "train", real_data / "imagenette")
