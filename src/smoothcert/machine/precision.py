"""float32 or bfloat16: which of them a device computes at full speed, asked before anything is certified in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from smoothcert.errors import InputError

if TYPE_CHECKING:
    import torch

    from smoothcert.machine.device import Where

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
EMULATE = "SMOOTHCERT_EMULATE_BF16"


def require_precision(precision: str, device: torch.device) -> None:
    """InputError where `device` has no instructions for it: emulated bfloat16 is slower than float32.

    Emulation gives valid certificates of the same kind of f, so it is allowed, but only to those who ask for it.
    """
    if precision not in PRECISIONS:
        raise InputError(f"precision is float32 or bfloat16, not {precision!r}")
    if precision == "float32" or os.environ.get(EMULATE) == "1" or computes_bfloat16(device):
        return
    kind = "CPU" if device.type == "cpu" else f"device ({device.type})"
    raise InputError(
        f"this {kind} has no bfloat16 instructions: choose precision float32 (`train … --set precision=float32`,"
        f" `certify … --precision float32`), or set {EMULATE}=1 to emulate them slowly"
    )


def computes_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 itself: AVX-512 BF16, AMX or ARM BF16 on a CPU."""
    import torch

    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type != "cpu":
        try:
            torch.ones(2, 2, dtype=torch.bfloat16, device=device).mm(torch.ones(2, 2, device=device).bfloat16())
        except (RuntimeError, TypeError):
            return False
        return True
    if torch.backends.cpu.get_cpu_capability().startswith("AVX"):  # where oneDNN also counts emulation as support
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def fast_precision(where: Where) -> Precision:
    """The faster one there: bfloat16 where the device computes it."""
    from smoothcert.machine.device import prepare

    return "bfloat16" if computes_bfloat16(prepare(where)) else "float32"


def instructions() -> tuple[str, ...]:
    """What this CPU's vector units know, of what decides the speed of a network; () where the system does not say.

    Linux names them in /proc/cpuinfo.
    """
    known = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16", "asimd", "sve", "bf16", "i8mm")
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line for line in file if line.startswith(("flags", "Features"))]
    except OSError:
        return ()
    found = set(lines[0].split()) if lines else set()
    return tuple(name for name in known if name in found)


def float32_products(device: torch.device) -> dict[str, str]:
    """What a log says of float32 on CUDA, where products may be rounded to TF32; {} elsewhere."""
    import torch

    if device.type != "cuda":
        return {}
    tf32 = torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32
    return {"float32_products": "TF32" if tf32 else "float32"}


def processor(device: torch.device) -> dict[str, str]:
    """What a log says of where f was computed: kernels are chosen by it, and sum in an order of their own."""
    import torch

    return {"processor": torch.cuda.get_device_name(device) if device.type == "cuda" else " ".join(instructions())}
