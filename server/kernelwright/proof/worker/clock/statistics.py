"""Medians, quantiles and the interval of a ratio of medians, from interleaved samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.values import Timing

RESAMPLES = 2000


@dataclass(frozen=True)
class Ratio:
    """A ratio of medians with its 95 % interval."""

    value: float
    low: float
    high: float

    def widened(self, factor: float) -> "Ratio":
        """The same value in an interval that is wider by `factor` >= 1 on both sides."""
        return Ratio(self.value, self.low / factor, self.high * factor)

    def with_interval_of(self, *others: "Ratio") -> "Ratio":
        """The same value in the interval that covers its own and all others'."""
        ratios = (self, *others)
        return Ratio(self.value, min(r.low for r in ratios), max(r.high for r in ratios))


def timing_of(samples: np.ndarray) -> Timing:
    """Median and the 10 % and 90 % quantiles of samples in milliseconds."""
    low, median, high = np.quantile(samples, (0.1, 0.5, 0.9))
    return Timing(float(median), float(low), float(high), len(samples))


def width_of_median(samples: Sequence[float]) -> float:
    """The width of a 95 % interval of the median, as a share of the median; infinite for fewer than 8 samples.

    From the order of the samples alone, whatever their distribution (David and Nagaraja, Order Statistics, 2003, chapter 7).
    """
    ordered, count = np.sort(samples), len(samples)
    reach = 0.98 * math.sqrt(count)
    low, high = math.floor(count / 2 - reach) - 1, math.ceil(count / 2 + reach)
    if low < 0 or high >= count:
        return math.inf
    return float((ordered[high] - ordered[low]) / ordered[count // 2])


def ratio_of_medians(numerator: np.ndarray, denominator: np.ndarray, *, seed: int = 0) -> Ratio:
    """median(numerator) / median(denominator) with a 95 % percentile bootstrap interval.

    Sample i of both comes from the same round. Stretches of rounds are drawn, as long as the square root of their number,
    around the end to the beginning: what slows a round as a whole cancels, and what slows some in a row counts as the one
    event that it is (Politis and Romano, A circular block-resampling procedure for stationary data, 1992). Deterministic for
    a seed. Both arrays must have the same length, at least 1, and be positive.
    """
    if len(numerator) != len(denominator) or not len(numerator):
        raise ValueError("a ratio needs as many samples of both, and at least one")
    rounds = len(numerator)
    length = math.isqrt(rounds)
    starts = np.random.default_rng(seed).integers(0, rounds, size=(RESAMPLES, -(-rounds // length)))
    drawn = (starts[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, :rounds] % rounds
    ratios = np.median(numerator[drawn], axis=1) / np.median(denominator[drawn], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    value = float(np.median(numerator) / np.median(denominator))
    return Ratio(value, min(float(low), value), max(float(high), value))
