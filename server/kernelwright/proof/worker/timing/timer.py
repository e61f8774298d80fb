"""The clock: samples of several calls, interleaved in random order, on a cold L2 and a quiet interpreter."""

import functools
import gc
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from kernelwright.proof.jobs import Limits
from kernelwright.proof.worker.driver import driver
from kernelwright.proof.worker.inputs import Inputs, without_gradients
from kernelwright.proof.worker.observe import put_back

# Taken before any user code runs: a file that replaces them later does not change what is measured.
_now = time.perf_counter_ns
_Event = torch.cuda.Event
_record, _wait, _elapsed, _reached = _Event.record, _Event.synchronize, _Event.elapsed_time, _Event.query
_device_wait = torch.cuda.synchronize

FEWEST = 20
MOST = {"cuda": 120, "cpu": 400}  # rounds; on a GPU a verdict on a short kernel would wait for more
# Seconds; shorter calls come several to a sample. On the CPU one reading of the clock costs 50 ns; on a GPU what surrounds a
# sample, new data most of all, takes several times as long as another call with its flush.
SHORTEST_SAMPLE = {"cuda": 100e-6, "cpu": 50e-6}
_FLUSH_AT_LEAST = 128 << 20
# Writes over L2 before a call, which keep the GPU busy for some 0.2 ms while the call is launched, so that launch latency is
# not what is timed; where launching takes longer, as on a busy machine, for some 0.8 ms.
FLUSHES, MORE_FLUSHES = 4, 16
_LOOKS = 5  # samples that tell whether launches are hidden


@dataclass(frozen=True)
class Contestant:
    """A call to time; `prepare` runs before each sample, outside the measured time (it restores changed inputs)."""

    call: Callable[[], Any]
    prepare: Callable[[], None] | None = None


@dataclass(frozen=True)
class Clock:
    """How one sample is taken on a device: on CUDA after `flush`, a buffer larger than L2, was written `flushes` times."""

    device: str
    flush: torch.Tensor | None = None
    flushes: int = FLUSHES

    @property
    def cuda(self) -> bool:
        return self.device == "cuda"


class Sample(NamedTuple):
    """Milliseconds per call, their mean, and for how long at most the device was busy after the end of one.

    `hidden`: every call was launched whole before the device came to it. Always so on the CPU.
    """

    ms: float
    residual_ms: float
    hidden: bool


def clock_for(device: str) -> Clock:
    """A clock; on CUDA with a buffer twice as large as L2, written before each sample."""
    if device != "cuda":
        return Clock(device)
    l2 = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "L2_cache_size", 0)
    return Clock(device, torch.empty(max(2 * l2, _FLUSH_AT_LEAST), dtype=torch.uint8, device=device))


def interleaved(
    contestants: Mapping[str, Contestant],
    clock: Clock,
    *,
    budget: float,
    fewest: int = FEWEST,
    most: int | None = None,
) -> dict[str, np.ndarray]:
    """Milliseconds per call; sample i of every contestant is from round i, and each round has its own random order.

    There are as many rounds as `rounds_for` says. Flushes are longer for all where they do not hide the launches of one.
    Raises what a contestant raises.
    """
    batches = {name: _warmed(contestant, clock) for name, contestant in contestants.items()}
    if not all(_hidden(contestant, batches[name], clock) for name, contestant in contestants.items()):
        clock = replace(clock, flushes=MORE_FLUSHES)
    cost = sum(_seconds(contestant, batches[name], clock) for name, contestant in contestants.items())
    rounds, floor = rounds_for(budget, cost, fewest, most or MOST[clock.device])
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    order, shuffle = list(contestants), random.Random(0).shuffle
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()  # nothing is collected within samples
    try:
        started = _now()
        for number in range(rounds):
            if number >= floor and _now() - started > 2e9 * budget:
                break  # the machine is busy with other work: the estimate of the cost was too low
            shuffle(order)
            for name in order:
                samples[name].append(one_sample(contestants[name], batches[name], clock).ms)
    finally:
        if collecting:
            gc.enable()
    return {name: np.array(values) for name, values in samples.items()}


def rounds_for(budget: float, cost: float, fewest: int, most: int) -> tuple[int, int]:
    """How many rounds of `cost` seconds fit into `budget` seconds, at most `most`, and how many there are at least: `fewest`
    unless those would take four budgets, and never less than 5."""
    floor = fewest if cost * fewest <= 4 * budget else max(5, int(4 * budget / cost))
    return min(max(int(budget / max(cost, 1e-9)), floor), most), floor


def contestants_of(
    targets: Mapping[str, Callable[..., Any]], inputs: Inputs, changed: set[int]
) -> dict[str, Contestant]:
    """One Contestant per target, all on the same tensors; inputs that the baseline changes are restored each time."""
    tensors = inputs.tensors()
    pristine = {index: tensors[index].detach().clone() for index in changed}

    prepare = functools.partial(put_back, dict(enumerate(tensors)), pristine) if pristine else None
    return {name: Contestant(without_gradients(target, inputs), prepare) for name, target in targets.items()}


def set_threads(limits: Limits) -> None:
    """As many of torch's CPU threads as asked, else one per physical core that this process may use.

    The same for every text, set before anything is loaded; not bound to cores (benchmarks/cpu_pinning.py).
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(min(limits.threads if limits.threads > 0 else _physical_cores() or usable, usable))


def _warmed(contestant: Contestant, clock: Clock) -> int:
    """Calls per sample, after compiling and warming up."""
    begun = _now()
    _once(contestant, clock)
    if (_now() - begun) < 1_000_000_000:
        _once(contestant, clock)
    begun = _now()
    _once(contestant, clock)
    single = (_now() - begun) / 1e9
    batch = 1
    if not clock.cuda and contestant.prepare is None and single < SHORTEST_SAMPLE["cpu"]:
        batch = int(np.ceil(SHORTEST_SAMPLE["cpu"] / max(single, 1e-7)))
    return batch


def _hidden(contestant: Contestant, batch: int, clock: Clock) -> bool:
    """Whether the launches of most samples are hidden by the flush before them."""
    return not clock.cuda or sum(one_sample(contestant, batch, clock).hidden for _ in range(_LOOKS)) > _LOOKS // 2


def _seconds(contestant: Contestant, batch: int, clock: Clock) -> float:
    """What a sample takes with what surrounds it."""
    begun = _now()
    one_sample(contestant, batch, clock)
    return max((_now() - begun) / 1e9, 1e-6)


def _once(contestant: Contestant, clock: Clock) -> None:
    if contestant.prepare is not None:
        contestant.prepare()
    contestant.call()
    if clock.cuda:
        _device_wait()


def one_sample(contestant: Contestant, batch: int, clock: Clock) -> Sample:
    """One sample of `batch` calls; on CUDA each comes after a flush, on an idle device, and is timed by itself.

    The mean, not the median: else one call could do the work of all.
    """
    if contestant.prepare is not None:
        contestant.prepare()
    call = contestant.call
    if not clock.cuda:
        begun = _now()
        for _ in range(batch):
            call()
        return Sample((_now() - begun) / batch / 1e6, 0.0, hidden=True)
    start, end = _Event(enable_timing=True), _Event(enable_timing=True)
    whole, residual, late = 0.0, 0.0, 0
    for _ in range(batch):
        _flushed(clock)
        _record(start)
        call()
        _record(end)
        late += _reached(start)
        _wait(end)
        ended = _now()
        _device_wait()
        residual = max(residual, (_now() - ended) / 1e6)
        whole += _elapsed(start, end)
    return Sample(whole / batch, residual, hidden=not late)


def _flushed(clock: Clock) -> None:
    driver().cuCtxResetPersistingL2Cache()  # lines that a call asked to persist would survive the writes below
    for _ in range(clock.flushes):
        clock.flush.zero_()


def _physical_cores() -> int:
    """Cores without their hyper-threads; 0 where the system does not say."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines: Sequence[str] = file.read().splitlines()
    except OSError:
        return 0
    pairs, package = set(), "0"
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == "physical id":
            package = value.strip()
        if key.strip() == "core id":
            pairs.add((package, value.strip()))
    return len(pairs)
