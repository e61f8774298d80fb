"""What follows from samples: a speedup no surer than the baseline is steady, and small gains that are measured again."""

import numpy as np
import pytest

from kernelwright.proof.worker.clock.samples import Drift, Samples, joined


def samples(drift: float = 1.0, rounds: int = 40, **milliseconds: float) -> Samples:
    """Samples that vary by 1 %, alike in every contestant."""
    noise = 1 + 0.01 * np.sin(np.arange(rounds))
    apart = f"{drift - 1:.0%} apart"
    return Samples(
        {name: ms * noise for name, ms in milliseconds.items()}, Drift(drift, drift, 1.0), {"processes": apart}
    )


def test_an_interval_is_as_wide_as_the_baseline_differs_from_itself() -> None:
    ratio = samples(drift=1.1, baseline=3.0, candidate=2.0).speedup_over("baseline")
    assert ratio.value == pytest.approx(1.5)
    assert (ratio.low, ratio.high) == (pytest.approx(1.5 / 1.1, rel=0.02), pytest.approx(1.5 * 1.1, rel=0.02))


@pytest.mark.parametrize(
    ("drift", "times", "small"),
    [
        (1.0, {"baseline": 1.1, "candidate": 1.0}, True),
        (1.0, {"baseline": 2.0, "candidate": 1.0}, False),
        (1.0, {"baseline": 0.9, "candidate": 1.0}, False),
        (1.2, {"baseline": 1.1, "candidate": 1.0}, False),
        (1.0, {"baseline": 4.0, "previous": 1.1, "candidate": 1.0}, True),
    ],
    ids=["small", "large", "none", "within the drift", "small over the previous"],
)
def test_a_small_gain(drift: float, times: dict[str, float], small: bool) -> None:
    assert samples(drift, **times).small_gain is small


def test_two_runs_count_as_one_and_are_as_uncertain_as_the_worse() -> None:
    lucky, other = samples(baseline=1.1, candidate=1.0), samples(1.05, 20, baseline=1.0, candidate=1.0)
    both = joined([lucky, other])
    assert len(both.ms["candidate"]) == 60
    assert both.drift == other.drift
    assert both.conditions == {"processes": "5% apart", "measured": "2 times, each in new processes"}
    ratio = both.speedup_over("baseline").with_interval_of(
        lucky.speedup_over("baseline"), other.speedup_over("baseline")
    )
    assert ratio.low < 1 < ratio.high


def test_one_run_stays_as_it_is() -> None:
    alone = samples(baseline=1.1, candidate=1.0)
    assert joined([alone]).conditions == alone.conditions
    assert joined([alone, samples(baseline=1.0, previous=1.0, candidate=1.0)]).ms.keys() == {"baseline", "candidate"}
