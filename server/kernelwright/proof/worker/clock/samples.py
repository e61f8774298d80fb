"""What one run of the clock has shown of all contestants, and what follows from it for the candidate."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.proof.worker.clock.load import Load
from kernelwright.proof.worker.clock.statistics import Ratio, ratio_of_medians

TWIN = "baseline again"
_ALONE = Load()
_ALWAYS_APART = 1.002  # two such processes, of the many that there could be, even where this run's two agree better
_SMALL_GAIN = 1.25  # two processes with the same text have been seen 10 % apart on a busy machine
_COUNTED, _MOST_RUNS = 2, 5  # of the runs that were taken


class Unsteady(Exception):
    """Nothing can be timed here and now; the message is the reason, in one sentence."""


class Busy(Unsteady):
    """Nothing can be timed beside what else the machine does now; a moment later, in new processes, it may be different."""


class Unconfirmed(Exception):
    """The candidate reports a gain that the judge's own clock does not show; the message says so, in one sentence."""


@dataclass(frozen=True)
class Drift:
    """How far two processes with the very same text are apart: `factor` >= 1, and the medians in milliseconds."""

    factor: float
    first_ms: float
    second_ms: float


@dataclass(frozen=True)
class Samples:
    """Milliseconds per call of each contestant; sample i of all is from round i.

    `unseen`: those over which the candidate reports a gain that the judge's own clock does not show.
    """

    ms: Mapping[str, np.ndarray]
    drift: Drift
    conditions: Mapping[str, str]
    unseen: tuple[str, ...] = ()
    load: Load = _ALONE

    def speedup_over(self, name: str) -> Ratio:
        """The candidate's speedup over a contestant; what two processes with the same text differ by is uncertain,
        and so is what other work on the processors took."""
        if name not in self._ratios:
            ratio = ratio_of_medians(self.ms[name], self.ms["candidate"])
            self._ratios[name] = ratio.widened(max(self.drift.factor, self.load.factor, _ALWAYS_APART))
        return self._ratios[name]

    @functools.cached_property
    def _ratios(self) -> dict[str, Ratio]:
        """Those that were asked for: each is 2000 resamples."""
        return {}

    @property
    def may_be_luck(self) -> bool:
        """Whether it says that the candidate is faster, but for certain by so little, beside as much other work as there was,
        that it may be the luck of one process."""
        return any(1 < ratio.low < _SMALL_GAIN * self.load.factor**2 for ratio in self._shown)

    @property
    def spread(self) -> float:
        """By which factor the ends of its widest interval are apart."""
        return max(ratio.high / ratio.low for ratio in self._shown)

    @property
    def _shown(self) -> list[Ratio]:
        return [self.speedup_over(name) for name in ("baseline", "previous") if name in self.ms]


def speedup(taken: Sequence[Samples], name: str) -> Ratio:
    """The candidate's over a contestant, from all samples, in the interval that covers that of each run."""
    return joined(taken).speedup_over(name).with_interval_of(*(one.speedup_over(name) for one in taken))


def why_again(taken: Sequence[Samples]) -> str:
    """Why the gain is to be measured once more, in new processes; empty where the runs are enough."""
    if len(taken) == 1 and taken[0].may_be_luck:
        return "Measuring again: the gain may be the luck of one process"
    if len(taken) < _MOST_RUNS and _hide_a_gain(steadiest(taken)):
        return "Measuring again: the times are too unsteady for the gain to be certain"
    return ""


def _hide_a_gain(taken: Sequence[Samples]) -> bool:
    both = joined(taken)
    ratios = [speedup(taken, name) for name in ("baseline", "previous") if name in both.ms]
    return not both.unseen and any(ratio.low <= 1 and ratio.value >= _SMALL_GAIN for ratio in ratios)


def steadiest(taken: Sequence[Samples]) -> list[Samples]:
    """Those that count, chosen by how steady they are and not by what they show; one that accuses the candidate counts."""
    return sorted(taken, key=lambda one: (not one.unseen, one.spread))[:_COUNTED]


def joined(taken: Sequence[Samples]) -> Samples:
    """All samples of the contestants that were in every one, with the drift and the conditions of the least steady."""
    if len(taken) == 1:
        return taken[0]
    worst = max(taken, key=lambda samples: samples.drift.factor)
    load = max((samples.load for samples in taken), key=lambda load: load.factor)
    names = [name for name in taken[0].ms if all(name in samples.ms for samples in taken)]
    ms = {name: np.concatenate([samples.ms[name] for samples in taken]) for name in names}
    repeated = {"measured": f"{len(taken)} times, each in new processes"}
    unseen = tuple(dict.fromkeys(name for one in taken for name in one.unseen))
    return Samples(ms, worst.drift, {**worst.conditions, **load.described, **repeated}, unseen, load)
