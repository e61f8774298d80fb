"""GPUs by name, with the ceilings of their rooflines for those here, and those that are not."""

import re

from kernelwright.values.device import Device

_T = 1e12
_G = 1e9
_GIB = 2**30
_MIB = 2**20


def _gpu(
    name: str, sm: int, processors: int, memory: int, l2: float, bandwidth: float, tensor: tuple[float | None, float],
    fp32: float, fp64: float, fp8: float | None = None,
) -> Device:  # fmt: skip
    """`tensor`: dense TFLOP/s for TF32 and for 16 bit; `fp32`, `fp64`: outside the tensor cores; `bandwidth` in GB/s.

    Where there is no TF32 there is no bfloat16 either.
    """
    tf32, half = tensor
    bfloat16 = None if tf32 is None else half
    peaks = {"float64": fp64, "float32": fp32, "tf32": tf32, "float16": half, "bfloat16": bfloat16, "float8": fp8}
    return Device(
        kind="cuda",
        name=f"NVIDIA {name}",
        compute_capability=sm,
        multiprocessors=processors,
        memory_bytes=memory * _GIB,
        l2_bytes=int(l2 * _MIB),
        bandwidth=bandwidth * _G,
        peak_flops={dtype: peak * _T for dtype, peak in peaks.items() if peak is not None},
    )


# Dense figures without sparsity. Sources: "NVIDIA A100 Tensor Core GPU" datasheet (June 2021); "NVIDIA H100 Tensor Core
# GPU" datasheet and the Hopper architecture whitepaper (SXM5); "NVIDIA H200 Tensor Core GPU" datasheet; "NVIDIA L4" and
# "NVIDIA L40S" datasheets; "NVIDIA Ada GPU Architecture" whitepaper (RTX 4090, 16 bit with fp32 accumulation); "NVIDIA
# Blackwell architecture" technical brief (B200, HGX, per GPU). Not yet checked against a datasheet: V100, T4, A10, H100 PCIe,
# H100 NVL, L40, RTX 3090 and RTX 5090 (16 bit with fp32 accumulation).
_TARGETS: dict[str, Device] = {
    "V100": _gpu("V100 SXM2 32GB", 70, 80, 32, 6, 900, (None, 125), 15.7, 7.8),
    "T4": _gpu("T4", 75, 40, 16, 4, 320, (None, 65), 8.1, 0.25),
    "A10": _gpu("A10", 86, 72, 24, 6, 600, (62.5, 125), 31.2, 0.98),
    "A100": _gpu("A100 SXM4 80GB", 80, 108, 80, 40, 2039, (156, 312), 19.5, 9.7),
    "H100": _gpu("H100 SXM5 80GB", 90, 132, 80, 50, 3350, (494.7, 989.4), 66.9, 33.5, 1978.9),
    "H100PCIE": _gpu("H100 PCIe", 90, 114, 80, 50, 2039, (378, 756), 51, 26, 1513),
    "H100NVL": _gpu("H100 NVL", 90, 132, 94, 50, 3938, (418, 835), 60, 30, 1671),
    "H200": _gpu("H200", 90, 132, 141, 50, 4800, (494.7, 989.4), 66.9, 33.5, 1978.9),
    "L4": _gpu("L4", 89, 58, 24, 48, 300, (60, 121), 30.3, 0.47, 242.5),
    "L40": _gpu("L40", 89, 142, 48, 96, 864, (90.5, 181), 90.5, 1.41, 362),
    "L40S": _gpu("L40S", 89, 142, 48, 96, 864, (183, 362), 91.6, 1.43, 733),
    "RTX3090": _gpu("GeForce RTX 3090", 86, 82, 24, 6, 936, (35.6, 71), 35.6, 0.56),
    "RTX4090": _gpu("GeForce RTX 4090", 89, 128, 24, 72, 1008, (82.6, 165.2), 82.6, 1.29, 330.3),
    "RTX5090": _gpu("GeForce RTX 5090", 120, 170, 32, 96, 1792, (104.8, 209.5), 104.8, 1.64, 419),
    "B200": _gpu("B200", 100, 148, 180, 126, 8000, (1100, 2250), 75, 37, 4500),
}

TARGET_NAMES = tuple(_TARGETS)
DEFAULT_TARGET = _TARGETS["H100"]


# Words of a name that say nothing about the chip, and those that say how it is mounted. Any other word ("Ti", "Laptop", "MIG")
# is taken for another chip's: a wrong roofline is worse than none.
_BESIDE = re.compile(r"NVIDIA|GEFORCE|TESLA|TENSOR|CORE|GPU|\d+GI?B|HBM\d?E?")
_MOUNTED = re.compile(r"PCIE|SXM\d?")


def target(name: str) -> Device | None:
    """The GPU that goes by this name ("H200", "NVIDIA H200 141GB", "rtx 4090"); None for another one, such as "RTX 3090 Ti"."""
    words = [word for word in re.split(r"[\s_-]+", name.upper()) if not _BESIDE.fullmatch(word)]
    chip = "".join(word for word in words if not _MOUNTED.fullmatch(word))
    return _TARGETS.get("".join(words)) or _TARGETS.get(chip)
