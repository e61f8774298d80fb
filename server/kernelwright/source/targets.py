"""GPUs by name, with the ceilings of their rooflines from the vendor's datasheets: for machines that have none of them."""

from kernelwright.values import Device

_T = 1e12
_G = 1e9
_GIB = 2**30
_MIB = 2**20


def _gpu(
    name: str, sm: int, processors: int, memory: int, l2: float, bandwidth: float, tensor: tuple[float, float], fp32: float,
    fp64: float, fp8: float | None = None,
) -> Device:  # fmt: skip
    """`tensor`: dense TFLOP/s for TF32 and for 16 bit; `fp32`, `fp64`: outside the tensor cores; `bandwidth` in GB/s."""
    tf32, half = tensor
    peaks = {"float64": fp64, "float32": fp32, "tf32": tf32, "float16": half, "bfloat16": half}
    if fp8 is not None:
        peaks["float8"] = fp8
    return Device(
        kind="cuda",
        name=f"NVIDIA {name}",
        compute_capability=sm,
        multiprocessors=processors,
        memory_bytes=memory * _GIB,
        l2_bytes=int(l2 * _MIB),
        bandwidth=bandwidth * _G,
        peak_flops={dtype: peak * _T for dtype, peak in peaks.items()},
    )


# Dense figures without sparsity. Sources: "NVIDIA A100 Tensor Core GPU" datasheet (June 2021); "NVIDIA H100 Tensor Core
# GPU" datasheet and the Hopper architecture whitepaper (SXM5); "NVIDIA H200 Tensor Core GPU" datasheet; "NVIDIA L4" and
# "NVIDIA L40S" datasheets; "NVIDIA Ada GPU Architecture" whitepaper (RTX 4090, 16 bit with fp32 accumulation); "NVIDIA
# Blackwell architecture" technical brief (B200, HGX, per GPU).
_TARGETS: dict[str, Device] = {
    "A100": _gpu("A100 SXM4 80GB", 80, 108, 80, 40, 2039, (156, 312), 19.5, 9.7),
    "H100": _gpu("H100 SXM5 80GB", 90, 132, 80, 50, 3350, (494.7, 989.4), 66.9, 33.5, 1978.9),
    "H200": _gpu("H200", 90, 132, 141, 50, 4800, (494.7, 989.4), 66.9, 33.5, 1978.9),
    "L4": _gpu("L4", 89, 58, 24, 48, 300, (60, 121), 30.3, 0.47, 242.5),
    "L40S": _gpu("L40S", 89, 142, 48, 96, 864, (183, 362), 91.6, 1.43, 733),
    "RTX4090": _gpu("GeForce RTX 4090", 89, 128, 24, 72, 1008, (82.6, 165.2), 82.6, 1.29, 330.3),
    "B200": _gpu("B200", 100, 148, 180, 126, 8000, (1100, 2250), 75, 37, 4500),
}

TARGET_NAMES = tuple(_TARGETS)


def target(name: str) -> Device | None:
    """The GPU whose short name `name` is or contains ("H200", "NVIDIA H200 141GB", "rtx 4090"); None for an unknown one."""
    wanted = _plain(name)
    if wanted in _TARGETS:
        return _TARGETS[wanted]
    matches = [short for short in _TARGETS if short in wanted]
    return _TARGETS[max(matches, key=len)] if matches else None


def _plain(name: str) -> str:
    return name.upper().replace(" ", "").replace("-", "").replace("_", "")
