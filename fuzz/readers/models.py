"""Weights and models, ours and others."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzz import hostile
from fuzz.mutate import BYTES, with_json
from fuzz.readers.base import OPCODES, OWN, ZIP, Reader, deep_texts
from smoothcert.recipes import RECIPES, to_dict


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

    from smoothcert.interchange.weights import digest

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


def run_hostile(seeds: list[bytes]) -> list[bytes]:
    """Runs whose network or noise is code of somebody's own that no training of ours vouches for."""
    about = weights_about()
    noise = {"kind": OWN, "norm": 1, "scale": 0.5}
    wrong = [about | {"model": "fuzz.canary:fire"}, about | {"model": OWN}, about | {"noise": noise}]
    stolen = about["recipe"] | {"sources": [{"module": "os", "sha256": "0" * 64}]}
    wrong += [about | {"model": "os:abort", "recipe": stolen}]
    return [safetensors(lenet_state(), each) for each in wrong]


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
    from smoothcert.interchange.weights import load_weights

    return load_weights(path)


def read_run(path: Path) -> object:
    from smoothcert.certification.target import open_target

    return open_target(path, device="cpu")


def checkpoint_tensors() -> dict[str, torch.Tensor]:
    return {
        "model.weight": torch.ones(2, 2),
        "model.bias": torch.zeros(2),
        "optimizer.momentum_buffer.weight": torch.ones(2, 2),
    }


def checkpoint_seeds() -> list[bytes]:
    position = {"epoch": 1, "step": 2, "sums": {"images": 3.0}, "seconds": 0.5, "phases": {}, "history": [{"epoch": 1}]}
    return [safetensors(checkpoint_tensors(), {"position": position, "recipe": {"lr": 0.1}, "data_fingerprint": "0"})]


def read_checkpoint(path: Path) -> object:
    from smoothcert.recipes import find_recipe
    from smoothcert.training.checkpoint import load_checkpoint
    from smoothcert.training.learner import Learner

    learner = Learner(find_recipe("mnist5k/gaussian/0.50"), torch.nn.Linear(2, 2))
    return load_checkpoint(path, learner, {"recipe": {"lr": 0.1}, "data_fingerprint": "0"})


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
    from smoothcert.interchange.pth import read_state

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
    from smoothcert.interchange.foreign_model import open_model

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
    from smoothcert.interchange.foreign_model import open_model

    return open_model(str(path))


SAFE = with_json(unpack_safetensors, pack_safetensors)


def scheduler_seeds() -> list[bytes]:
    cosine = {"beta_schedule": "squaredcos_cap_v2", "num_train_timesteps": 1000, "prediction_type": "epsilon"}
    linear = {"beta_schedule": "linear", "beta_start": 1e-4, "beta_end": 0.02}
    return [json.dumps(said).encode() for said in (cosine, linear)]


def read_scheduler(path: Path) -> object:
    from smoothcert.interchange.diffusers_unet import read_schedule

    return read_schedule(path)


READERS = (
    Reader("weights", ".safetensors", small_weights_seeds, read_weights, (SAFE, SAFE, SAFE, SAFE, *BYTES), share=2),
    Reader("run", ".safetensors", run_seeds, read_run,
           (*(with_json(unpack_about, pack_about(lenet_state)),) * 6, SAFE),
           run_hostile, 0.2),
    Reader("checkpoint", ".safetensors", checkpoint_seeds, read_checkpoint,
           (*(with_json(unpack_about, pack_about(checkpoint_tensors)),) * 4, SAFE, SAFE, *BYTES), share=1),
    Reader("pth", ".pth", pth_seeds, read_pth, ZIP, lambda seeds: hostile.torch_zips(seeds[0]), 2),
    Reader("old-pth", ".pth.tar", old_pth_seeds, read_pth, OPCODES, old_pth_hostile, 2),
    Reader("foreign", ".pth.tar", foreign_seeds, read_foreign, ZIP[3:5], foreign_hostile, 0.1),
    Reader("onnx", ".onnx", onnx_seeds, read_onnx, BYTES, onnx_hostile, 0.5),
    Reader("scheduler", ".json", scheduler_seeds, read_scheduler,
           (*(with_json(json.loads, lambda value: json.dumps(value).encode()),) * 4, *BYTES), deep_texts, 0.5),
)  # fmt: skip
