"""The clock: an A/A pair is not faster, a real difference is seen, caches and call counters are caught afterwards."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.proof.jobs import Limits, Race
from kernelwright.proof.worker.clock.floor import floor_ms, impossible
from kernelwright.proof.worker.clock.race import run_race
from kernelwright.proof.worker.clock.statistics import ratio_of_medians, timing_of
from kernelwright.values import Device, Failure, Timing
from proof.worker.trials import ended_by, trial, workload

ONCE = "import torch\ndef f(x):\n    return torch.sin(x)\n"
CASE = "f(randn(64, 512))"


def test_the_same_text_is_not_faster() -> None:
    for _ in range(4):  # a machine that is busy with something else refuses to time, and says so
        result = trial(ONCE, ONCE, CASE, measure=True)
        if not result.unsteady:
            break
        assert "too busy to time on" in result.unmeasured
    measured = result.measurement
    assert measured is not None
    assert measured.speedup_low <= measured.speedup <= measured.speedup_high
    assert measured.step_speedup_low < 1.05
    assert measured.candidate.samples >= 5
    assert measured.conditions["threads"] == "1"
    assert measured.conditions["workload"] == CASE
    assert measured.previous == measured.baseline


def test_twenty_times_the_work_is_slower() -> None:
    slow = "import torch\ndef f(x):\n    for _ in range(20): y = torch.sin(x)\n    return y\n"
    measured = trial(slow, ONCE, CASE, measure=True, previous=ONCE).measurement
    assert measured is not None
    assert measured.speedup_low > 2
    assert measured.step_speedup < measured.speedup / 2


def test_it_is_timed_in_a_process_that_the_gate_has_not_called() -> None:
    tired = """
import torch

seen = set()


def f(x):
    seen.add(x.shape)
    for _ in range(50 if len(seen) > 1 else 1):
        y = torch.sin(x)
    return y
"""
    measured = trial(ONCE, tired, CASE, measure=True).measurement
    assert measured is not None
    assert measured.speedup > 0.3


@pytest.mark.parametrize(("rows", "end"), [(256, ".contiguous()"), (4096, "  # expanded as well")])
def test_answers_that_take_more_room_than_the_baselines_are_timed(rows: int, end: str) -> None:
    expanded = f"import torch\ndef f(x):\n    return x.mean(0).expand({rows}, 512)"
    result = trial(expanded, expanded + end, CASE, measure=True)
    assert result.verdict.passed, result.verdict.reason


def test_memory_that_runs_out_while_timing_is_no_fault_of_the_candidate() -> None:
    hungry = """
import sys
import torch

def f(x):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "fire":
            raise torch.OutOfMemoryError("CUDA out of memory")
        frame = frame.f_back
    return torch.sin(x)
"""
    result = trial(ONCE, hungry, CASE, measure=True)
    assert result.verdict.passed, result.verdict.reason
    assert result.measurement is None
    assert result.unsteady
    assert "not enough memory to time two processes" in result.unmeasured


def test_inputs_that_the_baseline_changes_are_restored_before_each_sample() -> None:
    text = "import torch\ndef f(x):\n    return x.mul_(3)\n"
    result = trial(text, text, CASE, measure=True)
    assert result.verdict.passed, result.verdict.reason
    assert result.measurement is not None or result.unsteady


def test_what_only_the_gate_saw_right_is_caught_after_timing() -> None:
    candidate = (
        "import torch\ncalls = 0\ndef f(x):\n    global calls\n    calls += 1\n"
        "    return torch.sin(x) if calls < 90 else torch.zeros_like(x)\n"
    )
    assert ended_by(ONCE, candidate, CASE, measure=True) == "recheck-after-timing"


def test_a_replaced_clock_is_caught() -> None:
    cheat = ONCE + "import time\nreal = time.perf_counter_ns\ntime.perf_counter_ns = lambda: real() // 2\n"
    import time

    real = time.perf_counter_ns
    try:
        assert ended_by(ONCE, cheat, CASE) == "clean-process"
    finally:
        time.perf_counter_ns = real


def test_a_race_gives_each_variant_its_timing_or_its_failure() -> None:
    variants = (ONCE, ONCE.replace("sin", "cos"), ONCE.replace("sin(x)", "nothing(x)"), "def f(:", ONCE + "\n")
    job = Race("/nowhere/kernel.py", ONCE, variants, workload(CASE), Limits(timing_budget=0.05, threads=1))
    timings = run_race(job, lambda stage: None).timings
    assert [type(t) for t in timings] == [Timing, Failure, Failure, Failure, Timing]
    assert timings[1].message.startswith("values: ")
    assert "no attribute" in timings[2].message


@pytest.mark.parametrize("how", ["f(randn(64, 512), out(64, 512))", "f(randn(64, 512), inout(randn(64, 512)))"])
def test_a_race_gives_each_variant_the_inputs_as_they_were_before_the_one_ahead_of_it(how: str) -> None:
    into = "import torch\ndef f(x, y):\n    y.copy_(torch.sin(x))\n"
    job = Race(
        "/nowhere/kernel.py", into, (into, into + "\n", into + "\n\n"), workload(how), Limits(timing_budget=0.05)
    )
    timings = run_race(job, lambda stage: None).timings
    assert [type(t) for t in timings] == [Timing] * 3, timings


positive = st.lists(st.floats(0.01, 100.0), min_size=1, max_size=40)


@settings(max_examples=30, deadline=None)
@given(positive, st.floats(0.1, 10.0))
def test_the_interval_holds_the_ratio_and_scales_with_it(values: list[float], factor: float) -> None:
    samples = np.array(values)
    ratio = ratio_of_medians(samples * factor, samples)
    assert ratio.low <= ratio.value <= ratio.high
    assert ratio.value == pytest.approx(factor)
    assert ratio.low == pytest.approx(factor)  # rounds are drawn whole: what slows both cancels
    assert ratio == ratio_of_medians(samples * factor, samples)


@settings(max_examples=30, deadline=None)
@given(positive)
def test_quantiles_are_in_order(values: list[float]) -> None:
    timing = timing_of(np.array(values))
    assert min(values) <= timing.p10_ms <= timing.median_ms <= timing.p90_ms <= max(values)
    assert timing.samples == len(values)


def test_what_slows_rounds_in_a_row_makes_the_interval_wider() -> None:
    """A machine that goes through phases, in which one of the two suffers: 4 of 10 stretches at 1.6 times the time."""
    random = np.random.default_rng(7)
    phases = np.repeat([1, 1, 1.6, 1, 1.6, 1, 1, 1.6, 1, 1.6], 12)
    noise = lambda: random.lognormal(0, 0.02, phases.size)
    ratio = ratio_of_medians(noise() * phases, noise())
    scattered = ratio_of_medians(noise() * random.permutation(phases), noise())
    assert ratio.high - ratio.low > 3 * (scattered.high - scattered.low)
    assert ratio.high > 1.5


def test_noise_around_one_is_not_a_speedup() -> None:
    random = np.random.default_rng(3)
    intervals = [ratio_of_medians(random.lognormal(0, 0.1, 60), random.lognormal(0, 0.1, 60)) for _ in range(40)]
    outside = sum(not interval.low <= 1.0 <= interval.high for interval in intervals)
    assert outside <= 6  # 5 % of 40 are 2


def test_the_floor_is_what_memory_allows() -> None:
    device = Device("cuda", "a GPU", bandwidth=1e12, l2_bytes=50_000_000)
    read, written = (torch.empty(size, dtype=torch.uint8, device="meta") for size in (400_000_000, 450_000_000))
    floor = floor_ms(device, [read], [], [written])
    assert floor == pytest.approx(0.8)
    assert impossible(0.4, 1.0, floor)
    assert not impossible(0.7, 1.0, floor)
    assert not impossible(0.4, 0.5, floor)  # the baseline does not move these bytes either
    assert floor_ms(Device("cpu", "a CPU"), [read], [], [written]) is None
    assert floor_ms(device, [read], [], [written], frozenset({0})) is None  # it returns what it was given
