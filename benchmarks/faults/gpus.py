"""The GPUs that the faults are injected on: which share has which, and how much of a GPU's memory is taken."""

import contextlib
import os
import time

import pynvml

MOST_LEFT_MIB = 16.0  # what the driver may keep for itself
_SETTLED_S = 10.0  # within which the driver has freed what ended processes held


def share_of(number: int, gpus: int) -> str:
    """CUDA_VISIBLE_DEVICES of a share: one GPU for each of the first `gpus`, none for the others.

    Two servers would wait for each other's jobs on one GPU, which is no fault.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(index) for index in range(gpus)] if visible is None else visible.split(",")
    return names[number] if number < min(gpus, len(names)) else ""


def memory_used() -> float | None:
    """MiB taken on the first visible GPU, by whatever process; None where there is no GPU."""
    name = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        by_index = name.isdigit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(int(name)) if by_index else pynvml.nvmlDeviceGetHandleByUUID(name)
        return pynvml.nvmlDeviceGetMemoryInfo(handle).used / 2**20
    return None


def memory_left(before: float | None) -> float | None:
    """MiB that are still taken and were not `before`, once all is settled; None where there is no GPU."""
    deadline = time.monotonic() + _SETTLED_S
    while before is not None and (now := memory_used()) is not None:
        if now <= before or time.monotonic() > deadline:
            return round(max(now - before, 0.0), 1)
        time.sleep(0.2)
    return None
