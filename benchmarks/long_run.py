"""How much longer a planted text takes than the plain one: both in this one process, turn by turn, with a clock of its own.

Nothing of the trial's clock is used, so that what it says can be held against this.
"""

import random
import time
from collections.abc import Callable

import numpy as np
import torch
from benchmarks.subjects import Subject

from kernelwright.proof.worker.statistics import Ratio, ratio_of_medians
from kernelwright.proof.worker.subject import BoundCall, load_module, performance_call, unload
from kernelwright.proof.worker.timing import cpu_threads

_FEWEST, _MOST = 30, 1500  # rounds
_FLUSHED = 256 << 20  # bytes, more than any L2
_WARM = 3


def times_longer(subject: Subject, extra: float, *, seconds: float, threads: int, device: str) -> Ratio:
    """Median of the text with `extra` over that of the text without; 95 % interval over the rounds."""
    torch.set_num_threads(cpu_threads(threads))
    modules = [load_module("/nowhere/kernel.py", subject.text(share), "subject") for share in (extra, 0.0)]
    calls = [performance_call(module, subject.workload, device=device) for module in modules]
    flush = torch.empty(_FLUSHED, dtype=torch.uint8, device=device) if device == "cuda" else None
    taken: tuple[list[float], list[float]] = ([], [])
    try:
        with torch.no_grad():
            for call in calls * _WARM:
                _milliseconds(call, flush)
            start = time.monotonic()
            while len(taken[0]) < _FEWEST or (len(taken[0]) < _MOST and time.monotonic() - start < seconds):
                for which in random.sample((0, 1), 2):
                    taken[which].append(_milliseconds(calls[which], flush))
    finally:
        for module in modules:
            unload(module)
    return ratio_of_medians(np.array(taken[0]), np.array(taken[1]))


def calibrated(plant: float, measure: Callable[[float], Ratio], *, tries: int = 3) -> tuple[float, Ratio]:
    """The share of extra work with which a call takes nearest to 1 + `plant` times as long, and what was measured then.

    A launch has a least time, and a GPU does work in waves: what is a share of the bytes is not the same share of the time.
    """
    extra, found = plant, []
    for _ in range(tries):
        true = measure(extra)
        found.append((abs(true.value - 1 - plant), extra, true))
        if of_size(plant, true.value, 0.1):
            break
        extra *= min(max(plant / max(true.value - 1, 1e-6), 0.25), 4.0)
    _, extra, true = min(found, key=lambda one: one[0])
    return extra, true


def of_size(plant: float, true: float, slack: float) -> bool:
    """Whether the plant's true size is what was aimed at, to a share `slack` of it."""
    return abs(true - 1 - abs(plant)) <= slack * abs(plant)


def _milliseconds(call: BoundCall, flush: torch.Tensor | None) -> float:
    """One call; on a GPU on a cold L2, launched while the GPU is still busy with making it cold."""
    if flush is None:
        start = time.perf_counter()
        call()
        return (time.perf_counter() - start) * 1e3
    begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(4):
        flush.zero_()
    begun.record()
    call()
    ended.record()
    torch.cuda.synchronize()
    return begun.elapsed_time(ended)
