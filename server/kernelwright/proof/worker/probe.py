"""What is here: the GPU with the ceilings of its roofline, or the CPU; and the versions that were found."""

import contextlib
import importlib.metadata
import os
import platform
import sys
from typing import Any

from kernelwright.proof.jobs import Probe
from kernelwright.values import Device
from kernelwright.values.targets import target

# FP32 lanes of one multiprocessor (CUDA programming guide, arithmetic instructions per clock).
_LANES = {70: 64, 75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 120: 128}


def probe(job: Probe, report: object = None) -> Device:
    """The Device of this process: the current GPU, else the CPU. Missing packages are None, never an error."""
    versions = {
        "torch": _version("torch"),
        "triton": _version("triton"),
        "cute": _version("nvidia-cutlass-dsl"),
        "python": platform.python_version(),
    }
    try:
        import torch
    except (ImportError, OSError):
        return Device(kind="cpu", name=cpu_name(), **{**versions, "torch": None})
    if not torch.cuda.is_available():
        return Device(kind="cpu", name=cpu_name(), memory_bytes=_host_memory(), **versions)
    index = torch.cuda.current_device()
    properties = torch.cuda.get_device_properties(index)
    bandwidth, peaks = ceilings(properties)
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


def ceilings(properties: Any) -> tuple[float, dict[str, float]]:
    """Bandwidth in bytes/s and peak FLOP/s per dtype, by the GPU's name, else from clocks (double data rate, one FMA a lane).

    A ceiling that cannot be known is 0, or absent.
    """
    known = target(properties.name)
    if known is not None:
        return known.bandwidth, dict(known.peak_flops)
    told = lambda name: getattr(properties, name, 0)  # the clocks in kHz
    lanes = told("multi_processor_count") * _LANES.get(told("major") * 10 + told("minor"), 0)
    bandwidth = 2.0 * told("memory_clock_rate") * 1e3 * told("memory_bus_width") / 8
    flops = 2.0 * lanes * told("clock_rate") * 1e3
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
