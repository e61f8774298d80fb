"""How long the clock goes on: audits in every stretch, an early end once medians are known, no samples of late launches."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.jobs import Limits
from kernelwright.proof.worker.clock.audit import AUDITS, Auditor, audited
from kernelwright.proof.worker.clock.load import Load
from kernelwright.proof.worker.clock.samples import Busy
from kernelwright.proof.worker.clock.sampling import _clocks_agree, _rounds
from kernelwright.proof.worker.clock.series import Series, set_batches
from kernelwright.proof.worker.clock.statistics import width_of_median
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.timing.timer import FLUSHES, MORE_FLUSHES, MOST
from proof.worker.clock.test_judge_clock import on_a_cpu


@given(st.integers(1, 400), st.randoms(use_true_random=False))
def test_audits_are_spread_over_all_rounds(rounds: int, generator: random.Random) -> None:
    chosen = audited(rounds, generator)
    assert all(0 <= number < rounds for number in chosen)
    assert len(chosen) >= (AUDITS if rounds >= 5 else 1)  # fewer rounds are never measured
    assert len(chosen) <= 8
    if rounds >= 20:
        assert sum(number < 20 for number in chosen) >= AUDITS


@pytest.mark.parametrize("rounds", [3, 4, 5, 19, 20, 39, 40, 120, 400])
def test_every_round_may_be_audited(rounds: int) -> None:
    generator = random.Random(3)
    assert frozenset().union(*(audited(rounds, generator) for _ in range(4000))) == set(range(rounds))


@pytest.mark.parametrize("count", [8, 12, 40, 120])
def test_the_interval_of_a_median_covers_it(count: int) -> None:
    generator = np.random.default_rng(count)
    covered = 0
    for _ in range(1000):
        samples = np.sort(generator.lognormal(0.0, 0.5, count))
        width, middle = width_of_median(list(samples)), samples[count // 2]
        reach = 0.98 * np.sqrt(count)
        low, high = int(np.floor(count / 2 - reach)) - 1, int(np.ceil(count / 2 + reach))
        assert width == pytest.approx((samples[high] - samples[low]) / middle)
        covered += samples[low] <= 1.0 <= samples[high]
    assert covered >= 950


def test_of_too_few_samples_nothing_is_known() -> None:
    assert width_of_median([1.0] * 7) == np.inf
    assert width_of_median([1.0] * 8) == 0.0


class Made(Series):
    """A contestant whose samples are made up."""

    def sample(self):  # type: ignore[no-untyped-def]
        self.ms.append(self.times(len(self.ms)))
        self.hidden.append(self.late is False or self.flushes > FLUSHES)


def made(times, late: bool = False) -> Made:  # type: ignore[no-untyped-def]
    one = Made(SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
    one.times, one.late = times, late  # type: ignore[attr-defined]
    return one


class Listener(Auditor):
    """An auditor that hears of what it wants instead of comparing it."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def audit(self, contender: object, sampled: object, case: str, *, batch: int = 1, fp64: bool = False) -> None:
        self.heard.append(case)


def run(device: str = "cuda", **contestants: Made) -> tuple[bool, Listener]:
    auditor, told = Listener(), []
    bench = SimpleNamespace(trial=SimpleNamespace(limits=Limits(timing_budget=1.0)), device=device)
    finished = _rounds(bench, contestants, auditor, 1e-3, told.append)  # type: ignore[arg-type]
    assert told[0].startswith("Measuring, round 1 of ")
    return finished, auditor


@pytest.mark.parametrize(("device", "fewest"), [("cuda", 20), ("cpu", 40)])
def test_steady_times_need_few_rounds_and_have_been_audited_as_often(device: str, fewest: int) -> None:
    steady = made(lambda number: 1.0 + 1e-4 * (number % 3))
    finished, auditor = run(device, baseline=steady, candidate=made(lambda number: 0.5))
    assert finished
    assert len(steady.ms) == fewest
    assert len(auditor.heard) >= AUDITS


def test_uneven_times_take_all_rounds() -> None:
    uneven = made(lambda number: 1.0 + 0.1 * (number % 7))
    assert run(baseline=uneven, candidate=made(lambda number: 0.5))[0]
    assert len(uneven.ms) == MOST["cuda"]


@pytest.mark.parametrize(
    ("device", "ms", "calls", "rounds"),
    [
        ("cuda", 0.02, 5, 40),
        ("cuda", 0.05, 2, 60),
        ("cuda", 0.1, 1, 120),
        ("cpu", 0.02, 3, 400),
        ("cpu", 0.001, 32, 400),
    ],
)
def test_a_sample_of_short_calls_has_several_and_on_a_gpu_there_are_fewer(
    device: str, ms: float, calls: int, rounds: int
) -> None:
    uneven, other = made(lambda number: ms * (1 + 0.618 * number % 1)), made(lambda number: ms)
    for one in (uneven, other):
        one.sample()
    set_batches([uneven, other], device)
    assert [uneven.batch, other.batch] == [calls, calls]
    assert run(device, baseline=uneven, candidate=other)[0]
    assert len(uneven.ms) == rounds


def test_samples_of_late_launches_are_thrown_away() -> None:
    late, other = made(lambda number: 1.0, late=True), made(lambda number: 1.0)
    assert not run(baseline=other, candidate=late)[0]
    assert len(late.ms) < 20
    assert {late.flushes, other.flushes} == {MORE_FLUSHES}
    assert run(baseline=other, candidate=late)[0]
    assert len(late.ms) >= 20


@pytest.mark.parametrize(
    ("device", "others", "raised"), [("cpu", 0.9, Rejected), ("cpu", 1.6, Busy), ("cuda", 1.6, Rejected)]
)
def test_a_late_reply_beside_other_work_is_nobodys_fault(device: str, others: float, raised: type[Exception]) -> None:
    series = {"candidate": on_a_cpu(0.4, hidden=0.6), "baseline": on_a_cpu(1.0)}
    watch = SimpleNamespace(load=lambda: Load(others, cores=2, threads=1))
    with pytest.raises(raised):
        _clocks_agree(series, device, np.inf, watch)  # type: ignore[arg-type]
    honest = {**series, "candidate": on_a_cpu(0.4)}
    _clocks_agree(honest, device, np.inf, watch)  # type: ignore[arg-type]
