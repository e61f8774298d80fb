"""What is here: the GPU with the ceilings of its roofline, or the CPU; and the versions that were found."""

import importlib.metadata
import platform
import sys

from kernelwright.proof.jobs import Probe
from kernelwright.values import Device

# (substring of the name, bytes/s of memory, dense FLOP/s per dtype); vendor datasheets, first match wins.
_TERA = 1e12
_GPUS: tuple[tuple[str, float, dict[str, float]], ...] = (
    ("B200", 8.0e12, {"float32": 75, "tf32": 1100, "float16": 2250, "bfloat16": 2250, "float8": 4500, "float64": 37}),
    ("H200", 4.8e12, {"float32": 67, "tf32": 494, "float16": 989, "bfloat16": 989, "float8": 1979, "float64": 34}),
    ("H100 PCIe", 2.0e12, {"float32": 51, "tf32": 378, "float16": 756, "bfloat16": 756, "float8": 1513, "float64": 26}),
    ("H100 NVL", 3.9e12, {"float32": 60, "tf32": 418, "float16": 835, "bfloat16": 835, "float8": 1671, "float64": 30}),
    ("H100", 3.35e12, {"float32": 67, "tf32": 494, "float16": 989, "bfloat16": 989, "float8": 1979, "float64": 34}),
    ("A100", 2.0e12, {"float32": 19.5, "tf32": 156, "float16": 312, "bfloat16": 312, "float64": 9.7}),
    ("L40", 0.864e12, {"float32": 90, "tf32": 90, "float16": 181, "bfloat16": 181, "float8": 362, "float64": 1.4}),
    ("L4", 0.3e12, {"float32": 30, "tf32": 60, "float16": 121, "bfloat16": 121, "float8": 242, "float64": 0.5}),
    ("RTX 5090", 1.79e12, {"float32": 105, "tf32": 105, "float16": 210, "bfloat16": 210, "float64": 1.6}),
    ("RTX 4090", 1.01e12, {"float32": 82, "tf32": 82, "float16": 165, "bfloat16": 165, "float64": 1.3}),
    ("RTX 3090", 0.936e12, {"float32": 35, "tf32": 35, "float16": 71, "bfloat16": 71, "float64": 0.55}),
    ("A10", 0.6e12, {"float32": 31, "tf32": 62, "float16": 125, "bfloat16": 125, "float64": 0.97}),
    ("T4", 0.32e12, {"float32": 8, "float16": 65, "float64": 0.25}),
    ("V100", 0.9e12, {"float32": 15.7, "float16": 125, "float64": 7.8}),
)

# FP32 lanes of one multiprocessor (CUDA programming guide, arithmetic instructions per clock).
_LANES = {70: 64, 75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 120: 128}


def probe(job: Probe, report: object = None) -> Device:
    """The Device of this process: the current GPU, else the CPU. Missing packages are None, never an error."""
    versions = {"torch": _version("torch"), "triton": _version("triton"), "python": platform.python_version()}
    try:
        import torch
    except (ImportError, OSError):
        return Device(kind="cpu", name=cpu_name(), **{**versions, "torch": None})
    if not torch.cuda.is_available():
        return Device(kind="cpu", name=cpu_name(), memory_bytes=_host_memory(), **versions)
    index = torch.cuda.current_device()
    properties = torch.cuda.get_device_properties(index)
    bandwidth, peaks = ceilings(
        properties.name,
        capability=properties.major * 10 + properties.minor,
        multiprocessors=properties.multi_processor_count,
        clock_khz=getattr(properties, "clock_rate", 0),
        memory_clock_khz=getattr(properties, "memory_clock_rate", 0),
        bus_bits=getattr(properties, "memory_bus_width", 0),
    )
    uuid = str(getattr(properties, "uuid", ""))
    return Device(
        kind="cuda",
        name=properties.name,
        index=index,
        uuid=uuid if uuid.startswith("GPU-") or not uuid else f"GPU-{uuid}",
        compute_capability=properties.major * 10 + properties.minor,
        multiprocessors=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        l2_bytes=getattr(properties, "L2_cache_size", 0),
        bandwidth=bandwidth,
        peak_flops=peaks,
        **versions,
    )


def ceilings(
    name: str,
    *,
    capability: int = 0,
    multiprocessors: int = 0,
    clock_khz: int = 0,
    memory_clock_khz: int = 0,
    bus_bits: int = 0,
) -> tuple[float, dict[str, float]]:
    """Bandwidth in bytes/s and peak FLOP/s per dtype, by name, else from clocks (double data rate, one FMA per lane).

    A ceiling that cannot be known is 0, or absent.
    """
    for part, bandwidth, peaks in _GPUS:
        if part in name:
            return bandwidth, {dtype: tera * _TERA for dtype, tera in peaks.items()}
    bandwidth = 2.0 * memory_clock_khz * 1e3 * bus_bits / 8
    flops = 2.0 * multiprocessors * _LANES.get(capability, 0) * clock_khz * 1e3
    return bandwidth, {"float32": flops} if flops else {}


def cpu_name() -> str:
    """The model of the CPU, "CPU" where the system does not say."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip() or "CPU"
    except OSError:
        pass
    return platform.processor() or "CPU"


def _host_memory() -> int:
    import os

    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _version(package: str) -> str | None:
    module = sys.modules.get(package)
    if module is not None and isinstance(getattr(module, "__version__", None), str):
        return str(module.__version__)
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
