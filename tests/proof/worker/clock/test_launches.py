"""Whether launch latency was hidden is seen, said, and where it was not, longer flushes are asked for."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kernelwright.proof.worker.clock.series import Series, launches, set_flushes
from kernelwright.proof.worker.timing import timer
from kernelwright.proof.worker.timing.timer import (
    FLUSHES,
    MORE_FLUSHES,
    Clock,
    Contestant,
    Sample,
    clock_for,
    interleaved,
    one_sample,
)


def series(*hidden: bool) -> Series:
    nobody = SimpleNamespace()
    return Series(nobody, nobody, hidden=[*hidden])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        ([True] * 20, "hidden behind the flush"),
        ([True] * 19 + [False], "hidden behind the flush"),
        (
            [True] * 15 + [False] * 5,
            "not hidden behind the flush in 25% of the samples (candidate): the times include launching",
        ),
        (
            [False] * 20,
            "not hidden behind the flush in 100% of the samples (candidate): the times include launching",
        ),
    ],
)
def test_what_is_said_of_the_least_hidden(candidate: list[bool], said: str) -> None:
    assert launches({"baseline": series(*[True] * 20), "candidate": series(*candidate)}) == said


def test_flushes_are_longer_for_all_where_one_was_not_hidden_when_warm() -> None:
    warm = [series(False, True, True), series(True, True, True)]
    set_flushes(warm)
    assert {one.flushes for one in warm} == {FLUSHES}
    slow = [series(True, True), series(True, False)]
    set_flushes(slow)
    assert {one.flushes for one in slow} == {MORE_FLUSHES}


@pytest.mark.parametrize(("launching", "flushes"), [([0.1, 0.2], FLUSHES), ([0.1, 0.5], MORE_FLUSHES)])
def test_a_run_flushes_longer_for_all_where_one_takes_longer_to_launch(
    launching: list[float], flushes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[float, list[int]] = {one: [] for one in launching}

    def sampled(contestant: Contestant, batch: int, clock: Clock) -> Sample:
        late = contestant.call()
        taken[late].append(clock.flushes)
        return Sample(1.0, 0.0, hidden=late < 0.07 * clock.flushes)

    monkeypatch.setattr(timer, "one_sample", sampled)
    monkeypatch.setattr(timer, "_device_wait", lambda: None)
    contestants = {str(one): Contestant(lambda one=one: one) for one in launching}
    samples = interleaved(contestants, Clock("cuda"), budget=0.001, fewest=8)
    assert all({*taken[one][-len(samples[str(one)]) :]} == {flushes} for one in launching)
    assert all(len(samples[str(one)]) >= 5 for one in launching)


def test_on_a_cpu_nothing_is_launched() -> None:
    assert one_sample(Contestant(lambda: None), 3, Clock("cpu")).hidden


@pytest.mark.gpu
def test_a_call_of_many_launches_outlasts_the_flush_and_one_of_few_does_not() -> None:
    x = torch.zeros(1, device="cuda")
    clock = clock_for("cuda")
    few, many = Contestant(lambda: x.add_(1)), Contestant(lambda: [x.add_(1) for _ in range(2000)])
    samples = {one: [one_sample(one, 1, clock).hidden for _ in range(9)][4:] for one in (few, many)}
    assert sum(samples[few]) >= 3  # a busy machine may be late once or twice
    assert not any(samples[many])


@pytest.mark.gpu
def test_a_run_hides_launches_that_take_longer_than_the_shorter_flush() -> None:
    x = torch.zeros(1, device="cuda")

    def slow() -> None:
        x.add_(1)
        until = time.perf_counter() + 0.4e-3
        while time.perf_counter() < until:
            pass
        x.add_(1)

    samples = interleaved({"slow": Contestant(slow)}, clock_for("cuda"), budget=0.2)
    assert np.median(samples["slow"]) < 0.2  # milliseconds
