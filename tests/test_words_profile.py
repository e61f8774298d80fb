"""The sentence about a profile: what the share is of, and no share where no time was measured."""

import pytest

from kernelwright import words
from kernelwright.values import Origin, ProfiledKernel, ProfileResult
from proof.profiles import GEMM, INDUCTOR, SOFTMAX, on_cpu, on_gpu, uncounted


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (
            on_gpu({SOFTMAX: 407.4, GEMM: 12.6}),
            "Hand-written kernel share 97 %, rest library (2 launches, 0.42 ms of kernels in one warm call, NVIDIA H200)",
        ),
        (
            on_gpu({SOFTMAX: 420.0}),
            "Hand-written kernel share 100 % (1 launch, 0.42 ms of kernels in one warm call, NVIDIA H200)",
        ),
        (
            on_gpu({SOFTMAX: 60.0, INDUCTOR: 30.0, GEMM: 10.0}),
            "Hand-written kernel share 60 %, torch.compile's 30 %, rest library "
            "(3 launches, 0.1 ms of kernels in one warm call, NVIDIA H200)",
        ),
        (
            on_gpu({GEMM: 8.7}),
            "Hand-written kernel share 0 %, rest library (1 launch, 0.0087 ms of kernels in one warm call, NVIDIA H200)",
        ),
        (on_gpu({}), "The call launches nothing on NVIDIA H200"),
        (
            on_cpu("aten::addmm", "aten::sum"),
            "Hand-written kernel share 0 %, rest library (2 operator calls, 0.003 ms of CPU time in one warm call, A CPU; "
            "no GPU here, so no GPU kernel was measured)",
        ),
        (
            uncounted(SOFTMAX, "aten::addmm"),
            "Hand-written kernels: 1 of 2 launches and operator calls in one call; share of the time "
            "not measured: no GPU runs it on A CPU",
        ),
    ],
)
def test_a_profile(profile: ProfileResult, expected: str) -> None:
    assert words.of_profile(profile) == expected


def test_no_share_is_said_without_times() -> None:
    assert "%" not in words.of_profile(uncounted(SOFTMAX))


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "0 %"),
        (0.0001, "<1 %"),
        (0.005, "<1 %"),
        (0.006, "1 %"),
        (0.97, "97 %"),
        (0.994, "99 %"),
        (0.9999, ">99 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share(share: float, expected: str) -> None:
    assert words.percent(share) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("softmax_kernel", "softmax_kernel"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD (Device -> Device)"),
        ("void (anonymous namespace)::f<g(int)>(float*)", "f<g(int)>"),
        ("row_sum(float const*, float*)", "row_sum"),
        ("void at::native::" + "x" * 200, "at::native::" + "x" * 67 + "…"),
    ],
)
def test_a_short_name(name: str, expected: str) -> None:
    assert ProfiledKernel(name, Origin.LIBRARY, 1.0).short_name == expected
