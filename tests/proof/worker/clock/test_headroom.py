"""What timing does without where memory is short."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Limits, Probe, Trial, TrialResult
from kernelwright.proof.worker.clock.headroom import LEAST, Headroom, headroom, strict_enough
from kernelwright.values import Case, Device, Workload, WorkloadSource

GIB = 1 << 30
NORM = """
import torch


def f(x):
    return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)
"""
SIZES = st.integers(0, 16 * GIB)


def test_small_calls_have_all_of_it() -> None:
    assert headroom(1 << 20, 1 << 20, 8 * GIB, 2) == Headroom(twin=True, pools=True)


def test_a_reduction_of_eight_gib_keeps_both_on_a_card_of_140() -> None:
    assert headroom(8 * GIB, GIB // 8, 128 * GIB, 2) == Headroom(twin=True, pools=True)


def test_a_normalisation_of_seven_gib_does_without() -> None:
    assert headroom(7 * GIB, 7 * GIB, 122 * GIB, 2) == LEAST


def test_small_calls_are_never_timed_on_nearly_the_same_data() -> None:
    assert not strict_enough(LEAST, 64 << 20)
    assert strict_enough(LEAST, 7 * GIB)
    assert strict_enough(Headroom(twin=False, pools=True), 64 << 20)


@given(given=SIZES, answered=SIZES, free=st.integers(0, 200 * GIB), processes=st.integers(2, 3))
def test_more_memory_and_fewer_processes_never_take_anything_away(
    given: int, answered: int, free: int, processes: int
) -> None:
    some = headroom(given, answered, free, processes)
    more = headroom(given, answered, free + GIB, processes - 1)
    assert more.twin >= some.twin
    assert more.pools >= some.pools or more.twin > some.twin  # the second baseline comes first


@pytest.mark.gpu
@pytest.mark.parametrize("share", [40, 20])
async def test_a_call_that_takes_a_large_share_of_the_gpu_is_timed(share: int, tmp_path: Path) -> None:
    workers = Workers()
    device = await workers.run(Probe(), timeout=120)
    assert isinstance(device, Device)
    rows = device.memory_bytes // share // (4 << 20)
    lines = Workload(WorkloadSource.LINES, "f", (Case(0, 0, f"f(randn({rows}, 1 << 20))"),))
    path, limits = str(tmp_path / "kernel.py"), Limits(timing_budget=0.5, seeds=2)
    text = NORM.replace("x**2", "x * x")
    answer = await workers.run(Trial(path, NORM, NORM, text, lines, limits=limits), timeout=300)
    await workers.close()
    assert isinstance(answer, TrialResult), answer
    assert answer.verdict.passed, answer.verdict.reason
    assert answer.measurement is not None, answer.unmeasured
