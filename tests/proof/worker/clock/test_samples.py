"""What follows from samples: a speedup no surer than the baseline is steady, and small gains that are measured again."""

import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from kernelwright.proof.worker.clock.load import Load, Watch
from kernelwright.proof.worker.clock.measure import _patiently
from kernelwright.proof.worker.clock.samples import Busy, Drift, Samples, joined, speedup, steadiest, why_again


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
    ("drift", "times", "luck"),
    [
        (1.0, {"baseline": 1.1, "candidate": 1.0}, True),
        (1.0, {"baseline": 2.0, "candidate": 1.0}, False),
        (1.0, {"baseline": 0.9, "candidate": 1.0}, False),
        (1.2, {"baseline": 1.1, "candidate": 1.0}, False),
        (1.0, {"baseline": 4.0, "previous": 1.1, "candidate": 1.0}, True),
    ],
    ids=["small", "large", "none", "within the drift", "small over the previous"],
)
def test_a_small_gain_may_be_luck(drift: float, times: dict[str, float], luck: bool) -> None:
    assert samples(drift, **times).may_be_luck is luck


@pytest.mark.parametrize(("baseline", "luck"), [(2.0, True), (4.0, False)])
def test_beside_other_work_a_larger_gain_may_be_luck(baseline: float, luck: bool) -> None:
    beside = replace(samples(baseline=baseline, candidate=1.0), load=Load(others=1.5, cores=2))
    assert beside.may_be_luck is luck


def unsteady(**milliseconds: float) -> Samples:
    return samples(2.5, **milliseconds)


@pytest.mark.parametrize(
    ("taken", "reason"),
    [
        ([samples(baseline=2.0, candidate=1.0)], ""),
        ([samples(baseline=1.1, candidate=1.0)], "luck"),
        ([samples(baseline=1.1, candidate=1.0)] * 2, ""),
        ([unsteady(baseline=2.0, candidate=1.0)], "unsteady"),
        ([unsteady(baseline=2.0, candidate=1.0)] * 2, "unsteady"),
        ([unsteady(baseline=2.0, candidate=1.0)] * 4, "unsteady"),
        ([unsteady(baseline=2.0, candidate=1.0)] * 5, ""),
        ([unsteady(baseline=2.0, candidate=1.0), *[samples(baseline=1.5, candidate=1.0)] * 2], ""),
        ([samples(baseline=1.5, candidate=1.0), unsteady(baseline=2.0, candidate=1.0)], "unsteady"),
        ([unsteady(baseline=1.0, candidate=1.0)], ""),
        ([replace(unsteady(baseline=2.0, candidate=1.0), unseen=("baseline",))], ""),
    ],
    ids=[
        "certain",
        "small",
        "small twice",
        "hidden",
        "hidden twice",
        "hidden again",
        "five",
        "two that are steady",
        "one of two",
        "none",
        "accused",
    ],
)
def test_a_gain_that_is_not_certain_is_measured_again(taken: list[Samples], reason: str) -> None:
    assert reason in why_again(taken)
    assert bool(why_again(taken)) is bool(reason)


def test_of_several_runs_the_steadiest_two_count_whatever_they_show() -> None:
    slow, worst, fast = (samples(drift, baseline=b, candidate=1.0) for drift, b in ((1.1, 1.5), (3.0, 9.0), (1.2, 2.0)))
    assert steadiest([slow, worst, fast]) == [slow, fast]
    assert speedup(steadiest([slow, worst, fast]), "baseline").low > 1
    accusing = replace(worst, unseen=("baseline",))
    assert accusing in steadiest([slow, fast, accusing])
    assert steadiest([worst]) == [worst]


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


@pytest.mark.parametrize(
    ("load", "factor", "shared"),
    [
        (Load(0.0, 2, 2), 1.0, False),
        (Load(0.1, 2, 2), 1.0, False),
        (Load(1.0, 2, 1), 1.0, False),
        (Load(1.0, 2, 2), 1.25, False),
        (Load(2.0, 2, 1), 1.5, True),
        (Load(3.0, 8, 8), 1.1875, False),
    ],
    ids=["alone", "hardly any", "on the other core", "half", "all", "three of eight"],
)
def test_what_other_work_takes_makes_the_interval_wider(load: Load, factor: float, shared: bool) -> None:
    assert load.factor == pytest.approx(factor)
    assert load.shared is shared
    assert bool(load.described) is (factor > 1)
    quiet = samples(baseline=3.0, candidate=2.0)
    busy = Samples(quiet.ms, quiet.drift, {}, load=load).speedup_over("baseline")
    assert busy.value == quiet.speedup_over("baseline").value
    assert busy.high / busy.low == pytest.approx(max(factor, 1.002) ** 2, rel=0.001)
    assert joined([quiet, Samples(quiet.ms, quiet.drift, {}, load=load)]).load.factor == pytest.approx(factor)


def test_other_work_is_counted_and_own_is_not() -> None:
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        own, strange = Watch([spinner.pid], 1), Watch([], 1)
        time.sleep(1.0)
        assert strange.load().others > own.load().others + 0.2
    finally:
        spinner.kill()
        spinner.wait()


@pytest.mark.parametrize("busy", [0, 2, 3])
def test_a_busy_machine_is_tried_three_times(busy: int) -> None:
    taken, told = samples(baseline=2.0, candidate=1.0), list[str]()
    answers = iter([Busy("other work")] * busy + [taken])

    def timed() -> Samples:
        if isinstance(answer := next(answers), Busy):
            raise answer
        return answer

    if busy < 3:
        assert _patiently(timed, told.append) is taken
    else:
        with pytest.raises(Busy):
            _patiently(timed, told.append)
    assert [line.partition(":")[0] for line in told] == ["Measuring again in new processes"] * min(busy, 2)
