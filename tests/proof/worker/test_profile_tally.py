"""From a trace to a table: only what ran on the GPU counts, as a mean over the calls."""

import pytest

from kernelwright.proof.worker.kernels.names import Known, origin_of
from kernelwright.proof.worker.profiling.tally import Activity, gpu_activities, tally
from kernelwright.values import Origin, ProfiledKernel

KNOWN = Known(launched=frozenset({"softmax_kernel"}))
GEMM = "ampere_sgemm_128x64_nn"


def event(category: str, name: str, duration: float, phase: str = "X") -> dict[str, object]:
    return {"ph": phase, "cat": category, "name": name, "ts": 5.0, "dur": duration, "pid": 0, "tid": 7}


def test_only_work_of_the_gpu_is_taken_from_a_trace() -> None:
    trace = {
        "schemaVersion": 1,
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
            event("cpu_op", "aten::mm", 90.0),
            event("cuda_runtime", "cudaLaunchKernel", 8.0),
            event("kernel", GEMM, 41.5),
            event("gpu_user_annotation", "Torch-Compiled Region: 0/0", 60.0),
            event("gpu_memset", "Memset (Device)", 1.25),
            event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 2.5),
            event("ac2g", "ac2g", 0.0, "f"),
            event("Trace", "PyTorch Profiler (0)", 900.0),
        ],
    }
    assert gpu_activities(trace) == [
        Activity(GEMM, 41.5),
        Activity("Memset (Device)", 1.25),
        Activity("Memcpy DtoD (Device -> Device)", 2.5),
    ]


def kernels(*calls: list[Activity]) -> list[ProfiledKernel]:
    return list(tally(calls, lambda name: origin_of(name, KNOWN)))


def test_a_mean_over_calls_the_longest_first() -> None:
    first = [Activity("softmax_kernel", 3.0), Activity(GEMM, 50.0), Activity(GEMM, 40.0)]
    second = [Activity("softmax_kernel", 5.0), Activity(GEMM, 56.0), Activity(GEMM, 46.0)]
    gemm, softmax = kernels(first, second)
    assert gemm == ProfiledKernel(GEMM, Origin.LIBRARY, 2.0, 96.0, pytest.approx(0.96))
    assert softmax == ProfiledKernel("softmax_kernel", Origin.HAND_WRITTEN, 1.0, 4.0, pytest.approx(0.04))


def test_what_only_some_calls_launch_is_no_whole_launch() -> None:
    (kernel,) = kernels([Activity(GEMM, 3.0)], [])
    assert (kernel.launches, kernel.time_us, kernel.share) == (0.5, 1.5, 1.0)


def test_without_times_there_are_no_shares() -> None:
    found = kernels([Activity("aten::mm", None, 1), Activity("softmax_kernel", None, 4)])
    assert [(k.name, k.launches, k.time_us, k.share) for k in found] == [
        ("softmax_kernel", 4.0, None, None),
        ("aten::mm", 1.0, None, None),
    ]


def test_work_that_took_no_time_has_no_share() -> None:
    (kernel,) = kernels([Activity("aten::t", 0.0)])
    assert (kernel.time_us, kernel.share) == (0.0, None)


def test_a_call_that_does_nothing() -> None:
    assert kernels([], []) == []
