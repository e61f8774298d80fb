"""What is here: the GPU with the ceilings of its roofline, or the CPU; and the versions that were found."""

import contextlib
import importlib.metadata
import os
import platform
import sys

from kernelwright.proof.jobs import Probe
from kernelwright.values import Device
from kernelwright.values.targets import target

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
    known = target(name)
    if known is not None:
        return known.bandwidth, dict(known.peak_flops)
    bandwidth = 2.0 * memory_clock_khz * 1e3 * bus_bits / 8
    flops = 2.0 * multiprocessors * _LANES.get(capability, 0) * clock_khz * 1e3
    return bandwidth, {"float32": flops} if flops else {}


def cpu_name() -> str:
    """The model of the CPU, "CPU" where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip() or "CPU"
    return platform.processor() or "CPU"


def _host_memory() -> int:
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
