"""How much longer a planted text takes than the plain one: both in this one process, turn by turn, with a clock of its own.

Nothing of the trial's clock is used, so that what it says can be held against this.
"""

import functools
import random
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from benchmarks.subjects import Subject

from kernelwright.proof.jobs import Limits
from kernelwright.proof.worker.clock.statistics import Ratio, ratio_of_medians
from kernelwright.proof.worker.inputs import clone_tensor, map_tensors
from kernelwright.proof.worker.languages.python.modules import load_module, unload
from kernelwright.proof.worker.subject import performance_call
from kernelwright.proof.worker.timing.timer import set_threads

_FEWEST, _MOST = 30, 1500  # rounds
_FLUSHED = 256 << 20  # bytes, more than any L2
_WARM = 3  # calls of each that are not counted, on new tensors
_TOGETHER = 10  # rounds on the same tensors


def times_longer(subject: Subject, extra: float, *, seconds: float, threads: int, device: str) -> Ratio:
    """Median of the text with `extra` over that of the text without; 95 % interval over the rounds."""
    set_threads(Limits(threads=threads))
    modules = [load_module("/nowhere/kernel.py", subject.text(share), "subject") for share in (extra, 0.0)]
    given = performance_call(modules[0], subject.workload, device=device)
    flush = torch.empty(_FLUSHED, dtype=torch.uint8, device=device) if device == "cuda" else None
    taken: tuple[list[float], list[float]] = ([], [])
    try:
        with torch.no_grad():
            start = time.monotonic()
            while len(taken[0]) < _FEWEST or (len(taken[0]) < _MOST and time.monotonic() - start < seconds):
                # Where the tensors lie matters on a CPU: both texts get the same ones, and every few rounds others.
                args = map_tensors(clone_tensor, given.args)
                calls = [functools.partial(module.f, *args, **given.keywords) for module in modules]
                for call in calls * _WARM:
                    _milliseconds(call, flush)
                for which in [which for _ in range(_TOGETHER) for which in random.sample((0, 1), 2)]:
                    taken[which].append(_milliseconds(calls[which], flush))
    finally:
        for module in modules:
            unload(module)
    return ratio_of_medians(np.array(taken[0]), np.array(taken[1]))


def calibrated(plant: float, measure: Callable[[float], Ratio], *, tries: int = 4) -> tuple[float, Ratio]:
    """The share of extra work with which a call takes nearest to 1 + `plant` times as long, and what was measured then.

    A launch has a least time, and a GPU does work in waves: what is a share of the bytes is not the same share of the time.
    """
    found = [(plant, measure(plant))]
    while len(found) < tries and not of_size(plant, found[-1][1].value, 0.1):
        extra = _next_guess(plant, [(extra, true.value - 1) for extra, true in found])
        found.append((extra, measure(extra)))
    return min(found, key=lambda one: abs(one[1].value - 1 - plant))


def _next_guess(plant: float, found: Sequence[tuple[float, float]]) -> float:
    """On the line through the last two measurements; through zero and the last one where that leads nowhere."""
    last, longer = found[-1]
    if len(found) > 1:
        before, shorter = found[-2]
        if (longer - shorter) * (last - before) > 0:
            guess = last + (plant - longer) * (last - before) / (longer - shorter)
            if guess > 0:
                return guess
    return last * min(max(plant / max(longer, 1e-6), 0.25), 4.0)


def of_size(plant: float, true: float, slack: float) -> bool:
    """Whether the plant's true size is what was aimed at, to a share `slack` of it."""
    return abs(true - 1 - abs(plant)) <= slack * abs(plant)


def _milliseconds(call: Callable[[], object], flush: torch.Tensor | None) -> float:
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
