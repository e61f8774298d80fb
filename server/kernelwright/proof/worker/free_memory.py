"""How much memory is free on a device, asked of the driver no more often than an answer depends on it."""

import time

import torch

_FRESH = 1.0  # seconds for which a reading stands where far more was free than is needed
_FAR_MORE = 4
_AMPLE = 8 << 30  # bytes of a GPU: with fewer, whoever runs next may need what processes that start or end hold

_seen: dict[str, tuple[float, int]] = {}  # by device, when it was asked for and what was free


def free_on(device: str) -> int:
    """Free bytes of the GPU, with what torch keeps cached there, or of the host."""
    free = _of_gpu() if device == "cuda" else _of_host()
    _seen[device] = time.monotonic(), free
    return free


def lately_free_on(device: str) -> int:
    """The same, as it was a moment ago: the driver takes 3 ms to tell."""
    at, free = _seen.get(device, (-_FRESH, 0))
    return free if time.monotonic() - at < _FRESH else free_on(device)


def has_free(device: str, needed: int) -> bool:
    """Whether so many bytes are free. The driver takes 3 ms to tell: where there was far more a moment ago, it is not asked."""
    at, free = _seen.get(device, (-_FRESH, 0))
    known = time.monotonic() - at < _FRESH and needed * _FAR_MORE <= free
    return known or needed <= free_on(device)


def has_ample(device: str) -> bool:
    """Whether there is room beside processes that start or end."""
    return device != "cuda" or has_free(device, _AMPLE)


def _of_gpu() -> int:
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    return torch.cuda.mem_get_info()[0] + cached


def _of_host() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 4 << 30
