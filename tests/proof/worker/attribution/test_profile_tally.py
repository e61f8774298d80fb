"""From calls to a table: launches are a mean over the calls, times a median."""

import pytest

from kernelwright.proof.worker.attribution.profile import spread, tally
from kernelwright.values import Origin, ProfiledKernel, ProfiledOn
from proof.profiles import GEMM, SOFTMAX, work

GPU = ProfiledOn.GPU


def test_a_median_over_calls_the_longest_first() -> None:
    calls = [work(GPU, (SOFTMAX, softmax), (GEMM, gemm)) for softmax, gemm in ((3.0, 90.0), (4.0, 96.0), (81.0, 99.0))]
    gemm, softmax = tally(calls)
    assert gemm == ProfiledKernel(GEMM, Origin.LIBRARY, 1.0, 96.0, pytest.approx(0.96))
    assert softmax == ProfiledKernel(SOFTMAX, Origin.HAND_WRITTEN, 1.0, 4.0, pytest.approx(0.04))
    assert spread(calls) == "0.093 to 0.18 ms a call"


def test_what_only_some_calls_launch_is_no_whole_launch() -> None:
    (kernel,) = tally([work(GPU, (GEMM, 3.0)), work(GPU)])
    assert (kernel.launches, kernel.time_us, kernel.share) == (0.5, 1.5, 1.0)


def test_without_times_there_are_no_shares_and_no_allocations() -> None:
    parts = (("aten::mm", 640.0), (SOFTMAX, 64.0), ("aten::empty", 8.0))
    calls = [work(ProfiledOn.INTERPRETER, *parts, launches=2)]
    assert [(k.name, k.launches, k.time_us, k.share) for k in tally(calls)] == [
        ("aten::mm", 2.0, None, None),
        (SOFTMAX, 2.0, None, None),
    ]
    assert spread(calls) == ""


def test_work_that_took_no_time_has_no_share() -> None:
    (kernel,) = tally([work(ProfiledOn.CPU, ("aten::t", 0.0))])
    assert (kernel.time_us, kernel.share) == (0.0, None)


def test_a_call_that_does_nothing() -> None:
    assert tally([work(GPU), work(GPU)]) == ()
