"""Every reader of files: good files of its kind, hostile ones, how to mutate them, and the call that opens one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzz import hostile
from fuzz.mutate import BYTES, TEXT, Mutation, members, opcodes, rezip, tar_members, with_json
from fuzz.watch import RESIDENT
from smoothcert.certification.log import FORMAT, encode
from smoothcert.data import cifar10
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.recipes import RECIPES, to_dict, to_toml

IMAGES = 4  # in a file of CIFAR-10, where the real ones have ten thousand


@dataclass(frozen=True)
class Reader:
    """`seeds` and `hostile` make their files when asked; `share` is how many of all inputs it gets."""

    name: str
    suffix: str
    make_seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    mutations: Sequence[Mutation]
    make_hostile: Callable[[list[bytes]], list[bytes]] = lambda seeds: []
    share: float = 1.0
    resident: int = RESIDENT

    @cached_property
    def seeds(self) -> list[bytes]:
        return self.make_seeds()

    @cached_property
    def hostile(self) -> list[bytes]:
        return self.make_hostile(self.seeds)


# Images and arrays


def idx_seeds() -> list[bytes]:
    images = b"\0\0\x08\x03" + struct.pack(">3I", 3, 4, 4) + bytes(range(48))
    return [images, gzip.compress(images, mtime=0)]


def idx_label_seeds() -> list[bytes]:
    labels = b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes(range(5))
    return [labels, gzip.compress(labels, mtime=0)]


def read_idx_images(path: Path) -> object:
    from smoothcert.data.dataset import Dataset
    from smoothcert.data.idx import read_idx

    images = read_idx(path, rank=3)
    return Dataset.of("mnist", "test", images[:, None], np.zeros(len(images), np.uint8), 10)


def read_idx_labels(path: Path) -> object:
    from smoothcert.data.dataset import Dataset
    from smoothcert.data.idx import read_idx

    labels = read_idx(path, rank=1)
    return Dataset.of("mnist", "test", np.zeros((5, 1, 4, 4), np.uint8), labels, 10)


def cifar_rows() -> tuple[np.ndarray, list[int]]:
    return np.arange(IMAGES * 3072, dtype=np.uint64).astype(np.uint8).reshape(IMAGES, 3072), list(range(IMAGES))


def cifar_binary_seeds() -> list[bytes]:
    pixels, labels = cifar_rows()
    return [np.hstack([np.array(labels, np.uint8)[:, None], pixels]).tobytes()]


def cifar_pickle_seeds() -> list[bytes]:
    import pickle

    pixels, labels = cifar_rows()
    return [pickle.dumps({"data": pixels, "labels": labels, "filenames": ["a.png"]}, p) for p in (2, 3, 4)]


def read_cifar(path: Path) -> object:
    before, cifar10.PER_FILE = cifar10.PER_FILE, IMAGES
    try:
        return cifar10._read_part(path)
    finally:
        cifar10.PER_FILE = before


def picture_seeds(turned: bool = True) -> list[bytes]:
    from PIL import Image

    pixels = np.arange(12 * 10 * 3, dtype=np.uint16).astype(np.uint8).reshape(12, 10, 3)
    made = []
    for kind, mode in (("PNG", "RGB"), ("JPEG", "RGB"), ("WEBP", "RGB"), ("BMP", "RGB"), ("PPM", "RGB"), ("PNG", "P"),
                       ("PNG", "LA"), ("PNG", "I;16")):  # fmt: skip
        out = io.BytesIO()
        image = Image.fromarray(pixels)
        image = image.convert("L").convert("I").convert(mode) if mode == "I;16" else image.convert(mode)
        exif = Image.Exif()
        exif[0x0112] = 6
        image.save(out, kind, **({"exif": exif} if turned and kind in ("JPEG", "PNG", "WEBP") else {}))
        made.append(out.getvalue())
    return made


def read_picture(path: Path) -> object:
    from smoothcert.data.decoding import decode

    return decode((str(path), None)), decode((str(path), "key"))


def read_picture_to_predict(path: Path) -> object:
    from smoothcert.cli.predict import read_image

    return read_image(path, (3, 12, 10))


def npy_seeds() -> list[bytes]:
    out = io.BytesIO()
    np.save(out, np.linspace(0, 1, 360, dtype=np.float32).reshape(3, 12, 10))
    return [out.getvalue()]


def read_mnist5k(path: Path) -> object:
    from smoothcert.data.mnist5k import _digits

    return _digits(path)


def tar_seeds() -> list[bytes]:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in (
            ("c/data_batch_1.bin", b"x" * 700),
            ("c/batches.meta.txt", b"cat\n"),
            ("c/readme.html", b""),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return [out.getvalue()]


def read_tar(path: Path) -> object:
    from smoothcert.data.fetch import _unpack

    folder = path.parent / "unpacked"
    folder.mkdir(exist_ok=True)
    return _unpack(path.read_bytes(), folder, (".bin", ".txt"))


# Logs

HEADER = {
    "data": {"name": "mnist", "split": "test", "images": 40, "fingerprint": "0"},
    "selection": {"every": 10, "start": 0, "stop": None}, "selected": 4, "noise": {"kind": "gaussian", "sigma": 0.5},
    "num_classes": 3, "procedure": "paper", "bound": "single", "n0": 20, "n": 300, "alpha": 0.001, "seed": 0,
    "device": "cpu", "model": {"name": "lenet", "sha256": "0"},
    "recipe": to_dict(RECIPES["mnist/consistency/0.50"]),
}  # fmt: skip


def log_rows(name: str, bound: str) -> list[dict[str, Any]]:
    """A log as certification writes it, of made-up votes: header and rows."""
    from smoothcert.certification.run import to_row
    from smoothcert.smoothed.certify import conclude
    from smoothcert.smoothed.evidence import Evidence
    from smoothcert.smoothed.procedure import build

    radii = None if name == "paper" else (0.0, 0.5, 1.0)
    procedure = build(name, Gaussian(0.5), 20, 300, 0.001, bound=bound, radii=radii)
    rows: list[dict[str, Any]] = [
        {"format": FORMAT, "name": "run", "decides": HEADER | procedure.header(), "environment": {}}
    ]
    for index, errors in zip(range(0, 40, 10), (0.0, 0.04, 0.3, 0.6), strict=True):
        evidence = Evidence()
        while (ask := procedure.next(evidence)) is not None:
            wrong = int(ask.stop * errors)
            votes = [wrong // 2, ask.stop - wrong, wrong - wrong // 2]
            evidence = evidence.selected(votes) if ask.stage == "selection" else evidence.looked(votes)
        certificate = conclude(procedure, evidence)
        rows.append({**to_row(certificate, 1, 0.25), "index": index})
    return rows


@cache
def log_seeds() -> list[bytes]:
    kinds = (("paper", "single"), ("paper", "pair"), ("curve", "single"), ("adaptive", "single"), ("adaptive", "pair"))
    return [b"".join(map(encode, log_rows(*kind))) for kind in kinds]


def unpack_log(data: bytes) -> list[Any]:
    rows = [json.loads(line) for line in data.splitlines()]
    return [{key: value for key, value in row.items() if key != "crc"} for row in rows]


def pack_log(rows: Any) -> bytes:
    return b"".join(map(encode, rows))


LOG_MUTATIONS = (*(with_json(unpack_log, pack_log),) * 8, *TEXT)


def read_log_results(path: Path) -> object:
    from smoothcert.analysis import read_results, summarize
    from smoothcert.analysis.metrics import default_radii
    from smoothcert.analysis.tables import FORMATS

    results = read_results(path)
    summary = summarize(results, default_radii([results]))
    return [form([summary]) for form in FORMATS.values()]


def read_log_verified(path: Path) -> object:
    from smoothcert.certification.verify import verify

    return verify(path)


def read_log_part(path: Path) -> object:
    """As one part of a certification whose other part is sound."""
    path.replace(path.with_name("log.part-2.jsonl"))
    whole = path.with_name("log.jsonl")
    whole.write_bytes(b"".join(log_seeds()[0].splitlines(keepends=True)[:3]))
    return read_log_results(whole), read_log_verified(whole)


AUDIT = {"run": "r", "attack": {"steps": 3}, "selected": [0, 1]}


def audit_seeds() -> list[bytes]:
    from smoothcert.audit.log import FORMAT as AUDIT_FORMAT

    rows = [{"index": i, "radius": 0.5, "found": None} for i in range(3)]
    return [pack_log([{"format": AUDIT_FORMAT, "decides": AUDIT, "environment": {}}, *rows])]


def read_audit(path: Path) -> object:
    from smoothcert.audit.log import AuditLog

    log = AuditLog(path, AUDIT, {})
    log.close()
    return log.rows


def tsv_seeds() -> list[bytes]:
    head = b"idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
    text = (
        head + b"".join(b"%d\t3\t3\t0.%d\t1\t0:00:01.5\n" % (i, i) for i in range(5)) + b"7\t1\t-1\t0.0\t0\t0:00:02\n"
    )
    return [text, gzip.compress(text, mtime=0)]


def training_log_seeds() -> list[bytes]:
    rows = [
        {"epoch": i, "lr": 0.1, "cross_entropy": 1.5, "noisy_accuracy": 0.5, "test_noisy_accuracy": 0.5, "seconds": 2.5,
         "seconds_data": 0.5, "seconds_attack": 0.0, "seconds_descent": 2.0, "images_per_second": 100.0,
         "peak_memory_process": 10**8}
        for i in range(1, 4)
    ]  # fmt: skip
    return [b"".join(json.dumps(row).encode() + b"\n" for row in rows)]


def pack_lines(rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_training(path: Path) -> object:
    from smoothcert.analysis.cost import cost
    from smoothcert.analysis.report_data import about_training
    from smoothcert.training.log import read_training_log

    rows = read_training_log(path)
    about_training(rows, 3)
    return cost(rows) if rows else None


# Recipes

NAMES = ("mnist/consistency/0.50", "cifar10/smoothadv/0.25", "mnist5k/gaussian/0.50", "mnist/macer/0.50")


def recipes() -> list[Any]:
    return [RECIPES[name] for name in (*NAMES, *RECIPES) if name in RECIPES][:6]


def toml_seeds() -> list[bytes]:
    return [to_toml(recipe).encode() for recipe in recipes()]


def json_seeds() -> list[bytes]:
    return [json.dumps(to_dict(recipe)).encode() for recipe in recipes()]


def deep_texts(seeds: list[bytes]) -> list[bytes]:
    deep = [b"[" * n + b"]" * n for n in (100, 900, 1000, 100_000)] + [
        b'{"a":' * n + b"1" + b"}" * n for n in (900, 10**5)
    ]
    return [*deep, *(b"x = " + value for value in deep), b"x = " + b"9" * 5000, b"x = 1\n" * 1000, b"a.b = 1\n[a.b]\n",
            b"a" + b".a" * 5000 + b" = 1\n", b"[" + b"a." * 5000 + b"a]\n", b'x = "' + b"y" * 10**6 + b'"']  # fmt: skip


def use_recipe(recipe: Any) -> object:
    """What follows the reading: numbers that a file may hold, but that would fail later, are refused as well."""
    factors = [recipe.schedule.factor(epoch, recipe.epochs) for epoch in (0, 0.5, 1, 7.25)]
    return to_toml(recipe), recipe.num_hyperparameters, factors, recipe.objective.at(3)


def read_recipe_file(path: Path) -> object:
    from smoothcert.recipes import find

    return use_recipe(find(str(path)))


def read_run_recipe(path: Path) -> object:
    from smoothcert.recipes import from_dict
    from smoothcert.run_folder import RunFolder

    path.replace(path.parent / "recipe.json")
    folder = RunFolder(path.parent)
    try:
        folder.claim(to_dict(RECIPES["mnist/consistency/0.50"]))
    except InputError:
        use_recipe(from_dict(folder.read_recipe()))
        raise
    return folder


def name_seeds() -> list[bytes]:
    names = ("mnist/gaussian/0.50", "../../x", "/etc/passwd", "mnist/../../x", "mnist\\..\\x", "..", "mnist/*/0.50")
    settings = ("lr=0.02", "objective.lbd=10", "epochs=3", "attack=none", "model=cifar_resnet20")
    return [f"{name}\n{setting}".encode() for name in names for setting in settings]


def read_name(path: Path) -> object:
    """A recipe's name and a setting as on the command line; the folder of its run must be one below runs/."""
    from smoothcert.cli.variant import Variant
    from smoothcert.recipes import matching, override, real_name

    name, _, setting = path.read_bytes().decode("utf-8", "replace").partition("\n")
    recipe = RECIPES["mnist/gaussian/0.50"]
    variant = Variant(set=((setting,),))
    found = None
    for step in (real_name, matching):
        try:
            found = step(name)
        except InputError:
            continue
        if isinstance(found, str):
            folder = Path("runs") / variant.run_name(found, 0)
            if folder.parent != Path("runs") or folder.name in ("..", "."):
                raise RuntimeError(f"{folder} is not in runs")
    return override(recipe, (setting,)), found


# Weights and models


def weights_about() -> dict[str, Any]:
    noise = {"kind": "gaussian", "sigma": 0.5}
    return {"model": "lenet", "num_classes": 3, "normalization": "none", "noise": noise, "dataset": "mnist",
            "recipe": to_dict(RECIPES["mnist/consistency/0.50"])}  # fmt: skip


def lenet_state() -> dict[str, torch.Tensor]:
    from smoothcert.models import build

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return dict(build("lenet", 3).state_dict())


def safetensors(tensors: dict[str, torch.Tensor], about: dict[str, Any]) -> bytes:
    from safetensors.torch import save

    from smoothcert.models.weights import digest

    return save(tensors, metadata={"smoothcert": json.dumps({"about": about, "sha256": digest(tensors)})})


def small_weights_seeds() -> list[bytes]:
    tensors = {
        "a": torch.arange(6.0).view(2, 3),
        "b": torch.tensor(3),
        "c": torch.zeros(0, 2),
        "d": torch.ones(2, dtype=torch.bool),
    }
    return [safetensors(tensors, weights_about())]


def run_seeds() -> list[bytes]:
    return [safetensors(lenet_state(), weights_about())]


def unpack_safetensors(data: bytes) -> Any:
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"]["smoothcert"] = json.loads(header["__metadata__"]["smoothcert"])
    return [header, data[8 + size :].hex()]


def pack_safetensors(value: Any) -> bytes:
    header, body = value
    inner = header["__metadata__"]["smoothcert"]
    header["__metadata__"]["smoothcert"] = inner if isinstance(inner, str) else json.dumps(inner)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes.fromhex(body)


def unpack_about(data: bytes) -> Any:
    return unpack_safetensors(data)[0]["__metadata__"]["smoothcert"]["about"]


def pack_about(kind: Callable[[], dict[str, torch.Tensor]]) -> Callable[[Any], bytes]:
    return lambda about: safetensors(kind(), about)


def read_weights(path: Path) -> object:
    from smoothcert.models.weights import load_weights

    return load_weights(path)


def read_run(path: Path) -> object:
    from smoothcert.certification.target import open_target

    return open_target(str(path), torch.device("cpu"))


def checkpoint_tensors() -> dict[str, torch.Tensor]:
    return {"model.weight": torch.ones(2, 2), "model.bias": torch.zeros(2), "momentum.weight": torch.ones(2, 2)}


def checkpoint_seeds() -> list[bytes]:
    position = {"epoch": 1, "step": 2, "sums": {"images": 3.0}, "seconds": 0.5, "phases": {}, "history": [{"epoch": 1}]}
    return [safetensors(checkpoint_tensors(), {"position": position, "recipe": {"lr": 0.1}})]


def read_checkpoint(path: Path) -> object:
    from torch.optim import SGD

    from smoothcert.training.checkpoint import load_checkpoint

    f = torch.nn.Linear(2, 2)
    return load_checkpoint(path, f, SGD(f.parameters(), 0.1, momentum=0.9), {"lr": 0.1})


def pth_of(content: object, **options: Any) -> bytes:
    out = io.BytesIO()
    torch.save(content, out, **options)
    return out.getvalue()


def small_pth_states() -> list[dict[str, Any]]:
    state = {"fc.weight": torch.ones(3, 2), "fc.bias": torch.zeros(3), "n": torch.tensor(3)}
    wrapped = {f"1.module.{key}": value for key, value in state.items()}
    return [state, {"arch": "lenet", "epoch": 3, "state_dict": wrapped, "optimizer": {"betas": (0.9, 0.99)}}]


def pth_seeds() -> list[bytes]:
    return [pth_of(state) for state in small_pth_states()]


def old_pth_seeds() -> list[bytes]:
    return [pth_of(state, _use_new_zipfile_serialization=False) for state in small_pth_states()]


def old_pth_hostile(seeds: list[bytes]) -> list[bytes]:
    """The hostile pickles alone, and in the place of the fourth of the five pickles of an old checkpoint."""
    import pickle

    head = b"".join(pickle.dumps(value, 2) for value in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}))
    return [*hostile.pickles(), *(head + bad + pickle.dumps([], 2) for bad in hostile.pickles())]


def read_pth(path: Path) -> object:
    from smoothcert.models.pth import read_state

    return read_state(path)


def foreign_seeds() -> list[bytes]:
    return [pth_of({"arch": "lenet", "epoch": 3, "state_dict": lenet_state()})]


def foreign_hostile(seeds: list[bytes]) -> list[bytes]:
    """States that would be some network of ours, but for one tensor."""
    state = lenet_state()
    many = torch.ones(1, 1).expand(10**12, 500)
    kinds = (torch.float64, torch.bool, torch.bfloat16, torch.int8, torch.float8_e5m2, torch.complex64)
    full = torch.ones(3, 500)
    odd = [
        many, torch.ones(10**6, 1), torch.ones(()), torch.ones(0, 500), torch.ones(1, 500), torch.ones(500, 3).T,
        full * torch.nan, full.to_sparse(), *(full.to(kind) for kind in kinds),
    ]  # fmt: skip
    made = [pth_of({"arch": "lenet", "state_dict": {**state, "fc2.weight": tensor}}) for tensor in odd]
    for arch in (
        "cifar_resnet9998",
        "cifar_resnet8",
        "cifar_resnet1",
        "imagenet_resnet50",
        "x" * 10**5,
        7,
        "os.system",
    ):
        made.append(pth_of({"arch": arch, "state_dict": {"fc.weight": torch.ones(10, 64)}}))
    for before in ({}, {"0.mean": torch.ones(3)}, {"0.a": torch.ones(3), "0.b": torch.ones(2, dtype=torch.int64)}):
        made.append(pth_of({"arch": "lenet", "state_dict": before | {f"1.{k}": v for k, v in state.items()}}))
    return made


def read_foreign(path: Path) -> object:
    from smoothcert.models.opened import open_model

    return open_model(str(path))


def onnx_model(batch: int | str = "n", shape: Sequence[int | str] = (3, 2, 2), **external: str) -> Any:
    import onnx

    helper = onnx.helper
    weight = np.linspace(-1, 1, 60, dtype=np.float32).reshape(5, 12)
    nodes = [helper.make_node("Flatten", ["x"], ["flat"]), helper.make_node("Gemm", ["flat", "w"], ["y"], transB=1)]
    values = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [batch, *shape])]
    results = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [batch, 5])]
    graph = helper.make_graph(nodes, "g", values, results, [onnx.numpy_helper.from_array(weight, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    if external:
        _make_external(model.graph.initializer[0], external)
    return model


def _make_external(tensor: Any, about: dict[str, str]) -> None:
    import onnx

    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in about.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value


def onnx_seeds() -> list[bytes]:
    return [onnx_model().SerializeToString(), onnx_model(4).SerializeToString()]


def onnx_hostile(seeds: list[bytes]) -> list[bytes]:
    import onnx

    helper = onnx.helper
    made = [onnx_model(batch, shape) for batch, shape in (
        (1, (10**4, 10**4, 10**4)), (1, (2**40, 2**40, 2)), (10**9, (3, 2, 2)), (10**12, (3, 2, 2)), (0, (3, 2, 2)),
        (-1, (3, 2, 2)), (1, (0, 2, 2)), (1, (-3, 2, 2)), (1, ()), ("n", ("c", "h", "w")), (1, (12,)),
        (1, (3, 2, 2, 1)))]  # fmt: skip
    places = ("../outside.bin", "/etc/passwd", "/dev/zero", "missing.bin", "", ".", "*/_ORT_MEM_ADDR_/*", "input.onnx")
    made += [onnx_model(location=place, offset="0", length="240") for place in places]
    made += [
        onnx_model(location="input.onnx", offset=o, length=n)
        for o, n in (("-1", "240"), ("9" * 30, "240"), ("0", "9" * 12))
    ]
    for place in places:  # the same in a constant, not among the initializers
        model = onnx_model()
        constant = helper.make_node("Constant", [], ["w"], value=model.graph.initializer[0])
        model.graph.node.insert(0, constant)
        del model.graph.initializer[:]
        _make_external(model.graph.node[0].attribute[0].t, {"location": place, "offset": "0", "length": "240"})
        made.append(model)
    for nodes, kind in (
        ([helper.make_node("SequenceConstruct", ["x"], ["y"])], None),
        (
            [
                helper.make_node("Flatten", ["x"], ["z"]),
                helper.make_node("Cast", ["z"], ["y"], to=onnx.TensorProto.STRING),
            ],
            8,
        ),
        (
            [
                helper.make_node("Flatten", ["x"], ["z"]),
                helper.make_node("Cast", ["z"], ["y"], to=onnx.TensorProto.BOOL),
            ],
            9,
        ),
        ([helper.make_node("Shape", ["x"], ["y"])], 7),
        ([helper.make_node("NoSuchOperator", ["x"], ["y"])], 1),
        ([helper.make_node("Shell", ["x"], ["y"], domain="os.system")], 1),
    ):
        model = onnx_model()
        del model.graph.node[:], model.graph.output[:], model.graph.initializer[:]
        model.graph.node.extend(nodes)
        value = helper.make_tensor_value_info("x", 1, ["n", 3, 2, 2])
        output = (helper.make_tensor_value_info("y", kind, None) if kind else
                  helper.make_value_info("y", helper.make_sequence_type_proto(value.type)))  # fmt: skip
        model.graph.output.append(output)
        made.append(model)
    return [b"", b"\0", *(model.SerializeToString() for model in made)]


def read_onnx(path: Path) -> object:
    from smoothcert.models.opened import open_model

    return open_model(str(path))


# Tables of numbers

REQUEST = "request"


def table_seeds() -> list[bytes]:
    from smoothcert.stats.group_sequential import sequential_table

    table = sequential_table([0.0, 1.0], 0.001, 300)
    fields = {name: getattr(table, name) for name in ("z", "unreachable", "caps", "looks", "accept", "futile")}
    return [hostile.array_npz(alpha=table.alpha, request=REQUEST, fingerprint=table.fingerprint, **fields)]


def read_table(path: Path) -> object:
    """None is how a cache says no: the table is then built anew."""
    from smoothcert.stats.table_cache import _read

    table = _read(path, REQUEST)
    if table is None:
        raise InputError("not sound")
    return table


def gaps_seeds() -> list[bytes]:
    return [hostile.array_npz(gaussian=np.linspace(-1, 1, 9), consistency=np.linspace(0, 1, 5))]


def read_gaps_file(path: Path) -> object:
    from smoothcert.analysis.gaps import read_gaps

    return read_gaps(path)


def constant(made: Callable[[], list[bytes]]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda seeds: made()


def gzipped_heads(seeds: list[bytes]) -> list[bytes]:
    return hostile.gzips(seeds[0])


JSON = with_json(json.loads, lambda value: json.dumps(value).encode())
LINES = with_json(lambda data: [json.loads(line) for line in data.splitlines()], pack_lines)
SAFE = with_json(unpack_safetensors, pack_safetensors)
OPCODES: tuple[Mutation, ...] = (opcodes, opcodes, opcodes, *BYTES)
ZIP: tuple[Mutation, ...] = (members, members, members, members, *BYTES)

READERS = (
    Reader("idx-images", "", idx_seeds, read_idx_images, (*BYTES, rezip, rezip), constant(hostile.idx_files), 2),
    Reader("idx-labels", "", idx_label_seeds, read_idx_labels, (*BYTES, rezip, rezip), constant(hostile.idx_files), 1),
    Reader("cifar-binary", ".bin", cifar_binary_seeds, read_cifar, BYTES, share=0.5),
    Reader("cifar-pickle", "", cifar_pickle_seeds, read_cifar, OPCODES, constant(hostile.pickles), 2),
    Reader("picture", ".png", picture_seeds, read_picture, BYTES, constant(hostile.pictures), 1, 2 * RESIDENT),
    Reader("predict-picture", ".png", lambda: picture_seeds(turned=False), read_picture_to_predict, BYTES,
           constant(hostile.pictures), 0.5),
    Reader("predict-array", ".npy", npy_seeds, read_picture_to_predict, BYTES, constant(hostile.npy_files), 0.5),
    Reader("mnist5k", ".csv.gz", tsv_seeds, read_mnist5k, (*BYTES, rezip), gzipped_heads, 0.2),
    Reader("archive", ".tar.gz", tar_seeds, read_tar, (tar_members, tar_members, tar_members, *BYTES, rezip),
           constant(hostile.tars), 0.5),
    Reader("tsv", ".tsv", tsv_seeds, read_log_results, (*TEXT, rezip), gzipped_heads, 2),
    Reader("log", ".jsonl", log_seeds, read_log_results, LOG_MUTATIONS, deep_texts, 2),
    Reader("verify", ".jsonl", log_seeds, read_log_verified, LOG_MUTATIONS, deep_texts, 2),
    Reader("log-part", ".jsonl", lambda: log_seeds()[:1], read_log_part, LOG_MUTATIONS, deep_texts, 1),
    Reader("audit-log", ".jsonl", audit_seeds, read_audit, LOG_MUTATIONS, deep_texts, 0.5),
    Reader("training-log", ".jsonl", training_log_seeds, read_training, (*(LINES,) * 4, *TEXT), deep_texts, 2),
    Reader("toml", ".toml", toml_seeds, read_recipe_file, TEXT, deep_texts, 3),
    Reader("json", ".json", json_seeds, read_recipe_file, (*(JSON,) * 6, *TEXT), deep_texts, 2),
    Reader("run-recipe", ".json", lambda: json_seeds()[:1], read_run_recipe, (*(JSON,) * 4, *TEXT), deep_texts, 1),
    Reader("recipe-name", "", name_seeds, read_name, TEXT, share=1),
    Reader("weights", ".safetensors", small_weights_seeds, read_weights, (SAFE, SAFE, SAFE, SAFE, *BYTES), share=2),
    Reader("run", ".safetensors", run_seeds, read_run,
           (*(with_json(unpack_about, pack_about(lenet_state)),) * 6, SAFE),
           share=0.2),
    Reader("checkpoint", ".safetensors", checkpoint_seeds, read_checkpoint,
           (*(with_json(unpack_about, pack_about(checkpoint_tensors)),) * 4, SAFE, SAFE, *BYTES), share=1),
    Reader("pth", ".pth", pth_seeds, read_pth, ZIP, lambda seeds: hostile.torch_zips(seeds[0]), 2),
    Reader("old-pth", ".pth.tar", old_pth_seeds, read_pth, OPCODES, old_pth_hostile, 2),
    Reader("foreign", ".pth.tar", foreign_seeds, read_foreign, ZIP[3:5], foreign_hostile, 0.1),
    Reader("onnx", ".onnx", onnx_seeds, read_onnx, BYTES, onnx_hostile, 0.5),
    Reader("table-cache", ".npz", table_seeds, read_table, ZIP, lambda seeds: hostile.npz_files(seeds[0]), 1),
    Reader("gaps", ".npz", gaps_seeds, read_gaps_file, ZIP, lambda seeds: hostile.npz_files(seeds[0]), 1),
)  # fmt: skip


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]
