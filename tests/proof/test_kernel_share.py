"""A promise of a kernel is kept by a hand-written launch that does a part of the work."""

import pytest

from kernelwright.proof.kernel_share import missing_kernel
from proof.profiles import GEMM, INDUCTOR, SOFTMAX, on_cpu, on_gpu, uncounted


@pytest.mark.parametrize(
    "profile",
    [
        on_gpu({SOFTMAX: 9.7, GEMM: 0.3}),
        on_gpu({SOFTMAX: 1.0, GEMM: 99.0}),
        on_gpu({SOFTMAX: 1.0, INDUCTOR: 20.0}),
        uncounted(SOFTMAX, "aten::addmm"),
    ],
)
def test_a_kept_promise(profile) -> None:
    assert missing_kernel(profile, promises_kernel=True) is None


@pytest.mark.parametrize("profile", [on_gpu({GEMM: 1.0}), on_gpu({}), uncounted("aten::addmm"), on_cpu("aten::mm")])
def test_without_a_promise_nothing_is_missing(profile) -> None:
    assert missing_kernel(profile, promises_kernel=False) is None


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (
            on_gpu({GEMM: 8.0, INDUCTOR: 2.0, "Memset (Device)": 1.0}),
            "It promised a kernel, but 0 of 3 launches are hand-written: torch.compile's triton_poi_fused_add_0 and "
            "a library's ampere_sgemm_128x64_nn, Memset (Device).",
        ),
        (
            on_gpu({f"void at::native::k{i}<int>(int)": 9.0 - i for i in range(5)}),
            "It promised a kernel, but 0 of 5 launches are hand-written: a library's at::native::k0<int>, "
            "at::native::k1<int>, at::native::k2<int> and 2 more.",
        ),
        (
            on_gpu({GEMM: 99.9, SOFTMAX: 0.1}),
            "It promised a kernel, but hand-written ones take <1 % of the time: a library's ampere_sgemm_128x64_nn "
            "take the rest.",
        ),
        (on_gpu({}), "It promised a kernel, but the call launches nothing on NVIDIA H200."),
        (
            uncounted("aten::addmm"),
            "It promised a kernel, but 0 of 1 launches and operator calls are hand-written: a library's aten::addmm.",
        ),
        (
            on_cpu("aten::addmm", "aten::sum"),
            "It promised a kernel, but 0 of 2 operator calls are hand-written: a library's aten::addmm, aten::sum.",
        ),
    ],
)
def test_a_broken_promise_in_one_sentence(profile, expected: str) -> None:
    assert missing_kernel(profile, promises_kernel=True) == expected


def test_how_small_a_part_is_too_small_can_be_said() -> None:
    profile = on_gpu({GEMM: 90.0, SOFTMAX: 10.0})
    assert missing_kernel(profile, True, least_share=0.1) is None
    assert "take 10 % of the time" in str(missing_kernel(profile, True, least_share=0.2))
