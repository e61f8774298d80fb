"""What one contestant has shown so far: its times by its own process's clock, and by the judge's around it."""

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from kernelwright.proof.worker.clock.audit import Auditor
from kernelwright.proof.worker.hosts.messages import Sampled
from kernelwright.proof.worker.hosts.timed import TimedContender
from kernelwright.proof.worker.timing.timer import FLUSHES, MORE_FLUSHES, SHORTEST_SAMPLE

_MOST_BATCH = {"cuda": 5, "cpu": 32}
# Of a sample in which what surrounds the calls is a small share of each: on a GPU there is a flush with every call as well.
_LONG_MS, _MOST_CALLS = {"cuda": 2.0, "cpu": 5.0}, 1000
_COPIES, _COPIED_BYTES = 32, 32 << 20  # of the inputs of such a sample, at most
_LONG_FIRST_MS = 1000.0  # a first sample that says enough about how long one takes
MOSTLY = 0.9  # of the samples: their median and quantiles are then those of hidden launches
_LONGEST_BATCH = 5.0  # milliseconds that a batch for the sake of a faster contestant may take


@dataclass
class Series:
    """Samples of `batch` calls each. `outside_ms` is what the judge's clock saw beyond what the host reported."""

    contender: TimedContender
    auditor: Auditor
    batch: int = 1
    flushes: int = FLUSHES
    ms: list[float] = field(default_factory=list)
    outside_ms: list[float] = field(default_factory=list)
    residual_ms: list[float] = field(default_factory=list)
    hidden: list[bool] = field(default_factory=list)  # whether the launches were, by sample

    @property
    def typical_ms(self) -> float:
        return float(np.median(self.ms))

    def begin(self) -> None:
        """Have the first sample taken, in which a text compiles, without waiting for it."""
        self._arm(self.batch)
        self.contender.begin_fire()

    def warm_up(self) -> None:
        """Wait for the first sample, and learn about how long one call takes."""
        first = self.contender.end_fire()
        if first.ms * self.batch < _LONG_FIRST_MS:
            self.sample()
            self.sample()
        self.sample()

    def sample(self) -> Sampled:
        """One more sample, on data that no call has seen."""
        taken, outside = self.timed(self.batch)
        self.ms.append(taken.ms)
        self.outside_ms.append(outside - taken.ms * self.batch)
        self.residual_ms.append(taken.residual_ms)
        self.hidden.append(taken.hidden)
        return taken

    def timed(self, batch: int, copies: int = 0) -> tuple[Sampled, float]:
        """A sample that is not kept, and the milliseconds from the judge's request to the reply."""
        self._arm(batch, copies)
        begun = time.perf_counter_ns()
        taken = self.contender.fire()
        return taken, (time.perf_counter_ns() - begun) / 1e6

    def _arm(self, batch: int, copies: int = 0) -> None:
        auditor = self.auditor
        inputs = auditor.next_inputs(copies or batch)
        how = {
            "seed": auditor.seed,
            "late": auditor.fresh.late,
            "batch": batch,
            "copies": copies,
            "flushes": self.flushes,
        }
        self.contender.arm(auditor.case.targets, inputs, auditor.case.seen, **how)

    def many(self, device: str) -> tuple[int, int]:
        """(calls, copies of the inputs) of a sample that takes some milliseconds."""
        calls = min(max(math.ceil(_LONG_MS[device] / max(self.typical_ms, 1e-6)), self.batch), _MOST_CALLS)
        size = sum(tensor.numel() * tensor.element_size() for tensor in self.auditor.fresh.inputs.tensors())
        return calls, max(1, min(calls, _COPIES, _COPIED_BYTES // max(size, 1)))

    @property
    def least_ms(self) -> float:
        """The fastest call so far."""
        return max(min(self.ms), 1e-4)

    def forget(self) -> None:
        """Begin anew, with what has been warmed up."""
        for kept in (self.ms, self.outside_ms, self.residual_ms, self.hidden):
            kept.clear()


def set_flushes(series: Collection[Series], *, least: float = 0.6) -> bool:
    """Longer ones for all where one contestant's launches were hidden in a smaller share of its samples than `least`.

    Returns whether they have become longer.
    """
    longer = any(np.mean(one.hidden) < least and one.flushes < MORE_FLUSHES for one in series)
    for one in series if longer else ():
        one.flushes = MORE_FLUSHES
    return longer


def launches(series: Mapping[str, Series]) -> str:
    """Whether launch latency was hidden behind the flush; where it mostly was not for a contestant, for which."""
    shown = {name: float(np.mean(one.hidden)) for name, one in series.items()}
    worst = min(shown, key=lambda name: shown[name])
    if shown[worst] >= MOSTLY:
        return "hidden behind the flush"
    return (
        f"not hidden behind the flush in {1 - shown[worst]:.0%} of the samples ({worst}): the times include launching"
    )


def set_batches(series: Collection[Series], device: str) -> None:
    """As many calls per sample for all, since the first of a sample is the slowest: more than one of short calls.

    A contestant that is far slower than another takes fewer.
    """
    fastest = min(one.least_ms for one in series)
    wanted = min(math.ceil(SHORTEST_SAMPLE[device] * 1e3 / fastest), _MOST_BATCH[device])
    for one in series:
        one.batch = max(1, min(wanted, int(_LONGEST_BATCH / one.least_ms)))
