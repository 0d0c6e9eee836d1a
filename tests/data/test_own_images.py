"""A user's own images: what is taken, in which order, and what is said of what is not."""

import io
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from smoothcert import data
from smoothcert.data import own_images, own_of
from smoothcert.errors import InputError

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (5, 8, 8), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (4, 6, 7, 3), dtype=np.uint8)


def png(path, pixels, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **how)
    return path


@pytest.fixture
def folder(tmp_path):
    """Five grey pictures 8×8 and a CSV beside their folder."""
    for i, pixels in enumerate(GREY):
        png(tmp_path / "images" / f"{i}.png", pixels)
    (tmp_path / "labels.csv").write_text("file,label\n" + "".join(f"{i}.png,{i % 3}\n" for i in (4, 2, 0, 1, 3)))
    return tmp_path


def everything(images):
    return images.batch(torch.arange(len(images)))


def test_a_folder_with_a_table_is_in_the_order_of_its_names(folder):
    found = own_images(folder / "images", folder / "labels.csv")
    x, y = everything(found)
    assert torch.equal(x, torch.from_numpy(GREY)[:, None].float() / 255)
    assert y.tolist() == [0, 1, 2, 0, 1]
    assert (found.name, found.shape, found.own.kind, found.own.labelled) == ("images", (1, 8, 8), "folder", True)
    assert found.own.names == tuple(f"{i}.png" for i in range(5))


def test_the_fingerprint_is_of_the_content_and_not_of_the_place(folder):
    one = own_images(folder / "images", folder / "labels.csv").fingerprint
    (folder / "images").rename(folder / "moved")
    assert own_images(folder / "moved", folder / "labels.csv").fingerprint == one
    changed = GREY[3].copy()
    changed[0, 0] ^= 1
    png(folder / "moved" / "3.png", changed)
    other = own_images(folder / "moved", folder / "labels.csv").fingerprint
    table = (folder / "labels.csv").read_text()
    (folder / "labels.csv").write_text(table.replace("3.png,0", "3.png,1"))
    assert len({one, other, own_images(folder / "moved", folder / "labels.csv").fingerprint}) == 3


@pytest.mark.parametrize(
    ("names", "labels", "all_classes"),
    [(("cat", "dog"), [0, 0, 1, 1], True), (("10", "9"), [10, 10, 9, 9], False)],
)
def test_class_folders_are_counted_by_name_or_are_numbers(tmp_path, names, labels, all_classes):
    for i, pixels in enumerate(COLOUR):
        png(tmp_path / names[i // 2] / f"{i}.png", pixels)
    found = own_images(tmp_path)
    assert found.labels.tolist() == labels and found.own.all_classes is all_classes
    assert torch.equal(found.images, torch.from_numpy(COLOUR).permute(0, 3, 1, 2))


def test_names_are_mapped_by_the_classes_of_the_model(folder):
    (folder / "labels.csv").write_text("file,label\n" + "".join(f"{i}.png,{['zoo', 'cat'][i % 2]}\n" for i in range(5)))
    found = own_images(folder / "images", folder / "labels.csv", classes=("zoo", "cat"))
    assert found.labels.tolist() == [0, 1, 0, 1, 0]


def test_without_labels_they_are_unknown(folder):
    for spec, kind in ((folder / "images", "folder"), (folder / "images" / "2.png", "picture")):
        found = own_images(spec)
        assert (found.own.kind, found.own.labelled, set(found.labels.tolist())) == (kind, False, {-1})
    assert found.own.names == ("2.png",)


@pytest.mark.parametrize("last", [False, True], ids=["channels-first", "channels-last"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_arrays_are_bytes_or_floats_with_channels_first_or_last(tmp_path, dtype, last):
    images = COLOUR if dtype == np.uint8 else (COLOUR / 255).astype(dtype)
    held = images if last else images.transpose(0, 3, 1, 2)
    np.savez_compressed(tmp_path / "a.npz", x=held, y=np.arange(4))
    np.save(tmp_path / "a.npy", held)
    np.save(tmp_path / "y.npy", np.arange(4))
    for found in (own_images(tmp_path / "a.npz"), own_images(tmp_path / "a.npy", tmp_path / "y.npy")):
        x, y = everything(found)
        assert y.tolist() == [0, 1, 2, 3] and found.own.kind == "array" and not found.own.names
        assert torch.equal(x, torch.from_numpy(COLOUR).permute(0, 3, 1, 2).float() / 255)
    np.save(tmp_path / "grey.npy", GREY)
    assert own_images(tmp_path / "grey.npy").shape == (1, 8, 8)


def test_a_picture_that_can_be_told_exactly_is(tmp_path):
    opaque = np.dstack([COLOUR[0], np.full((6, 7), 255, np.uint8)])
    for name, pixels in (("rgb", COLOUR[0]), ("rgba", opaque)):
        found = own_images(png(tmp_path / f"{name}.png", pixels))
        assert torch.equal(found.images[0], torch.from_numpy(COLOUR[0]).permute(2, 0, 1))
    bits = own_images(png(tmp_path / "bits.png", GREY[0] > 127)).images
    assert torch.equal(bits[0, 0], torch.from_numpy(GREY[0] > 127).to(torch.uint8) * 255)


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "my_images.py").write_text(
        "import numpy as np, random, torch\n"
        "from PIL import Image\n"
        "good = [(torch.full((1, 4, 4), i / 4), i) for i in range(3)]\n"
        "def made():\n"
        "    return [(np.full((4, 4), 9, np.uint8), np.int64(1)), (Image.new('L', (4, 4), 3), torch.tensor(0))]\n"
        "class Random:\n"
        "    def __len__(self): return 2\n"
        "    def __getitem__(self, i): return torch.rand(1, 4, 4), 0\n"
        "augmented = Random()\n"
        "sizes = [(torch.zeros(1, 4, 4), 0), (torch.zeros(1, 5, 5), 0)]\n"
        "bare = [torch.zeros(1, 4, 4)]\n"
        "named = [(torch.zeros(1, 4, 4), 'cat')]\n"
        "empty = []\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "my_images"
    sys.modules.pop("my_images", None)


def test_whatever_can_be_indexed(code):
    found = own_images(f"{code}:good")
    assert found.labels.tolist() == [0, 1, 2] and found.images[:, 0, 0, 0].tolist() == [0, 0.25, 0.5]
    assert (found.name, found.own.kind) == ("my_images:good", "code")
    assert own_images(f"{code}:made").images.dtype == torch.uint8


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("augmented", "another image when asked again"),
        ("sizes", "different shapes"),
        ("bare", "not a pair"),
        ("named", "its label is str 'cat'"),
        ("empty", "cannot be indexed"),
        ("number", "cannot be indexed"),
        ("none", "has no none"),
    ],
)
def test_code_that_gives_no_images_is_told_in_one_line(code, name, message):
    with pytest.raises(InputError, match=message) as error:
        own_images(f"{code}:{name}")
    assert "\n" not in str(error.value)


def edited(**files):
    """Writes files by name: bytes, an array for a picture, None to delete."""

    def edit(folder):
        for name, content in files.items():
            path = folder / name
            if content is None:
                path.unlink()
            elif isinstance(content, np.ndarray):
                png(path, content)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return edit


def table(text):
    return edited(**{"labels.csv": text})


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return edited(**{"a.npz": out.getvalue()})


ALL = "file,label\n0.png,0\n1.png,1\n2.png,2\n3.png,0\n"
WRONG = [
    (table(ALL), "images", "has no label for 4.png"),
    (table(ALL + "4.png,1\n5.png,1\n"), "images", "names 5.png, which is no picture in"),
    (table(ALL + "../labels.csv,1\n"), "images", "names ../labels.csv, which is no picture"),
    (table(ALL + "4.png,1\n4.png,2\n"), "images", "line 7 repeats 4.png"),
    (table(ALL + "4.png,\n"), "images", "line 6 lacks a file or a label"),
    (table(ALL + "4.png,cat\n"), "images", "label 'cat' of 4.png is not a whole number.*--classes"),
    (table(ALL + "4.png,1.5\n"), "images", "label '1.5' of 4.png is not a whole number"),
    (table(ALL + "4.png,-1\n"), "images", "label '-1' of 4.png is not a whole number"),
    (table("name,class\n0.png,0\n"), "images", "must name the columns file,label"),
    (table("file,label\n"), "images", "names no file"),
    (table("\xff".encode("latin-1")), "images", "not a CSV file in UTF-8"),
    (edited(**{"labels.csv": None}), "images", "labels.csv: no such file"),
    (edited(**{"images/2.png": b"no picture"}), "images", r"2.png: cannot be decoded \(not one of JPEG"),
    (edited(**{"images/2.png": GREY[2][:4]}), "images", "2.png: is 1×4×8, but 0.png is 1×8×8"),
    (edited(**{"images/2.png": np.dstack([GREY[2]] * 3)}), "images", "2.png: is 3×8×8, but 0.png is 1×8×8"),
    (edited(**{"images/2.png": np.dstack([GREY[2]] * 4)}), "images", "2.png: has transparent pixels"),
    (edited(**{"images/2.png": GREY[2].astype(np.uint16) * 257}), "images", "2.png: has pixels of kind I;16"),
    (edited(**{"images/2.gif": b""}), "images", "2.gif: pictures of this kind are not read"),
    (edited(**{"empty/readme.txt": b""}), "empty", "no pictures in it"),
    (edited(), "nowhere", "no such file or folder"),
    (edited(), "labels.csv", "neither a folder nor a picture"),
    (edited(), "images/0.png", "--labels is for a folder"),
    (npz(x=GREY), "a.npz", "leave --labels out"),
]  # fmt: skip


@pytest.mark.parametrize(("spoil", "spec", "message"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_wrong_with_pictures_and_labels_is_told_in_one_line(folder, spoil, spec, message):
    spoil(folder)
    with pytest.raises(InputError, match=message) as error:
        own_images(folder / spec, folder / "labels.csv")
    assert "\n" not in str(error.value)


WRONG_ARRAYS = [
    (npz(images=GREY.astype(np.int64)), "holds int64: images are uint8 from 0 to 255, or floats"),
    (npz(images=GREY.astype(np.float32)), "scale them to 0 … 1"),
    (npz(images=np.full((2, 8, 8), np.nan)), "scale them to 0 … 1"),
    (npz(images=GREY, labels=np.arange(4)), "5 images but labels of shape"),
    (npz(images=GREY, labels=np.arange(5) / 2), "labels must be whole numbers"),
    (npz(images=GREY, labels=np.arange(5) - 1), "labels must be whole numbers"),
    (npz(images=GREY, labels=np.array(list("abcde"))), "label 'a' of image 0 is not a whole number"),
    (npz(pictures=GREY), "no array `images` or `x`, only \\['pictures'\\]"),
    (npz(images=np.zeros((2, 3, 5, 3), np.uint8)), "both of N×C×H×W and N×H×W×C fits"),
    (npz(images=np.zeros((2, 4, 5, 2), np.uint8)), "neither of N×C×H×W and N×H×W×C fits"),
    (npz(images=np.zeros((3, 8, 8), np.uint8)), "is 3×8×8, many grey images or one of many channels"),
    (npz(images=np.zeros((0, 1, 8, 8), np.uint8)), "holds no image"),
    (npz(images=np.array([{}, {}])), "not an array of numbers"),
    (edited(**{"a.npz": b"PK no"}), "not a .npz file"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "message"), WRONG_ARRAYS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_wrong_with_arrays_is_told_in_one_line(tmp_path, write, message):
    write(tmp_path)
    with pytest.raises(InputError, match=message) as error:
        own_images(tmp_path / "a.npz")
    assert "\n" not in str(error.value)


WRONG_FOLDERS = [
    (edited(**{"set/0.png": GREY[0], "set/cat/1.png": GREY[1]}), "0.png: lies beside the class folders"),
    (edited(**{"set/cat/0.png": GREY[0], "set/dog/a/1.png": GREY[1]}), "1.png: lies deeper than the class folders"),
    (edited(**{"set/cat/0.png": GREY[0], "set/dog/no.txt": b""}), "dog: no pictures in it"),
]


@pytest.mark.parametrize(("make", "message"), WRONG_FOLDERS, ids=lambda value: value if isinstance(value, str) else "")
def test_pictures_that_no_class_can_be_told_of_are_refused(tmp_path, make, message):
    make(tmp_path)
    with pytest.raises(InputError, match=message):
        own_images(tmp_path / "set")


def test_load_takes_them_and_tests_are_never_the_training_images(folder, tmp_path):
    spec, labels = str(folder / "images"), folder / "labels.csv"
    assert len(data.load(spec, "test", labels=labels)) == 5
    with pytest.raises(InputError, match="has no folders train and test"):
        data.load(spec, "train", labels=labels)
    rest, aside = (data.load(spec, f"{word}-2", labels=labels) for word in ("train-without", "held-out"))
    assert own_of(aside).names == ("0.png", "2.png") and own_of(rest).names == ("1.png", "3.png", "4.png")
    with pytest.raises(InputError, match="training needs labels"):
        data.load(spec, "held-out-2")
    with pytest.raises(InputError, match="knows its labels"):
        data.load("fake", "test", labels=labels)
    with pytest.raises(InputError, match="unknown data set 'imagess'"):
        data.load("imagess", "test")
    for split in ("train", "test"):
        for i in range(2):
            png(tmp_path / "both" / split / str(i) / "a.png", GREY[i + 2 * (split == "test")])
    both = str(tmp_path / "both")
    assert [data.load(both, split).images[0, 0, 0, 0] for split in ("train", "test")] == [GREY[0, 0, 0], GREY[2, 0, 0]]
