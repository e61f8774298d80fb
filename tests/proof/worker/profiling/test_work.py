"""What counts as work, and what a trace of a GPU says of it."""

import pytest

from kernelwright.proof.worker.profiling.work import (
    SENTINEL,
    Part,
    Work,
    beyond,
    is_move,
    is_nothing,
    parts_of_trace,
    purpose,
)
from kernelwright.values import Origin, ProfiledOn


@pytest.mark.parametrize(
    "name", ["empty", "empty_like", "new_empty_strided", "view", "_unsafe_view", "as_strided", "expand"]
)
def test_allocations_and_views_are_nothing(name: str) -> None:
    assert is_nothing(f"aten::{name}")


@pytest.mark.parametrize(
    "name",
    [
        "aten::copy_",
        "aten::clone",
        "aten::_to_copy",
        "aten::zero_",
        "Memcpy DtoD (Device -> Device)",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >",
    ],
)
def test_copies_and_fills_move(name: str) -> None:
    assert is_move(name)
    assert not is_nothing(name)


@pytest.mark.parametrize(
    "name", ["mm", "_softmax", "native_layer_norm", "sum", "gelu", "add_", "cudnn_convolution", "cat"]
)
def test_all_else_is_work(name: str) -> None:
    assert not is_move(f"aten::{name}")
    assert not is_nothing(f"aten::{name}")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("aten::addmm", "aten::mm", True),  # a bias that a kernel adds
        ("aten::linear", "aten::baddbmm", True),
        ("aten::conv2d", "aten::cudnn_convolution", True),
        ("aten::softmax", "aten::_softmax", True),
        ("aten::layer_norm", "aten::native_layer_norm", True),
        ("aten::cudnn_batch_norm", "aten::native_batch_norm", True),
        ("aten::relu", "aten::relu_", True),
        ("aten::softmax", "aten::_log_softmax", False),
        ("aten::mm", "aten::mul", False),
        ("aten::sum", "aten::mean", False),
    ],
)
def test_operators_for_the_same_thing(one: str, other: str, same: bool) -> None:
    assert (purpose(one) == purpose(other)) is same


def test_what_one_call_does_beyond_another() -> None:
    before = work(("aten::addmm", 1, 90.0), ("aten::mul", 4, 40.0), ("aten::empty", 9, 0.0))
    after = work(("aten::mm", 1, 80.0), ("aten::mul", 1, 10.0), ("aten::exp", 1, 5.0), ("aten::view", 1, 0.0))
    assert beyond(before, after) == (Part("aten::mul", Origin.LIBRARY, 3, 30.0),)
    assert beyond(after, before) == (Part("aten::exp", Origin.LIBRARY, 1, 5.0),)


def test_a_trace_by_who_launched_what() -> None:
    trace = {
        "traceEvents": [
            operator(SENTINEL, 1),
            ran("elementwise_kernel", 1, at=0.0, lasts=2.0),
            operator("aten::softmax", 2),
            operator("aten::_softmax", 3),
            ran("cunn_SoftMaxForward", 3, at=10.0, lasts=7.0),
            operator("aten::cudnn_convolution", 4),
            ran("nchwToNhwcKernel", 4, at=20.0, lasts=1.0),
            ran("sm90_xmma_fprop", 4, at=21.0, lasts=5.0),
            ran("fused", None, at=30.0, lasts=3.0),
            ran("fused", None, at=33.0, lasts=3.0),
            ran("Memcpy DtoD (Device -> Device)", 9, at=40.0, lasts=1.0, kind="gpu_memcpy"),
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "args": {"External id": 3}},
            {"ph": "M", "name": "process_name"},
        ]
    }
    origin = lambda name: Origin.HAND_WRITTEN if name == "fused" else Origin.LIBRARY
    traced = parts_of_trace(trace, origin, by_operator=False)
    assert traced is not None
    kernels = {part.name: part.count for part in traced[0]}
    assert kernels.keys() >= {"cunn_SoftMaxForward", "nchwToNhwcKernel", "sm90_xmma_fprop", "fused"}
    assert (len(kernels), kernels["fused"], traced[1]) == (5, 2, False)
    traced = parts_of_trace(trace, origin)
    assert traced is not None
    assert traced[1]
    assert {(part.name, part.count, part.amount) for part in traced[0]} == {
        ("aten::_softmax", 1, 7.0),
        ("aten::cudnn_convolution", 1, 6.0),  # one run of the operator, two kernels
        ("fused", 2, 6.0),
        ("Memcpy DtoD (Device -> Device)", 1, 1.0),
    }


def test_all_goes_by_kernels_where_a_graph_is_replayed() -> None:
    """Else what it replays would be told from the same work of eager mode by its names."""
    eager = [
        operator(SENTINEL, 1),
        ran("elementwise_kernel", 1, at=0.0, lasts=2.0),
        operator("aten::cudnn_convolution", 2),
        ran("sm90_xmma_fprop", 2, at=20.0, lasts=5.0),
        operator("aten::relu", 3),
        ran("elementwise_relu", 3, at=30.0, lasts=5.0),
    ]
    replayed = [
        *eager[:2],
        operator("aten::copy_", 4),
        ran("Memcpy DtoD (Device -> Device)", 4, at=10.0, lasts=1.0, kind="gpu_memcpy"),
        ran("sm90_xmma_fprop", None, at=20.0, lasts=5.0),
        ran("fused", None, at=30.0, lasts=3.0),
    ]
    origin = lambda name: Origin.HAND_WRITTEN if name == "fused" else Origin.LIBRARY
    after = parts_of_trace({"traceEvents": replayed}, origin)
    assert after is not None
    assert not after[1]
    before = parts_of_trace({"traceEvents": eager}, origin, by_operator=after[1])
    assert before is not None
    one, other = (Work(ProfiledOn.GPU, parts) for parts, _ in (before, after))
    assert [part.name for part in beyond(one, other)] == ["elementwise_relu"]
    assert [part.name for part in beyond(other, one) if not is_move(part.name)] == []


def test_a_profiler_that_does_not_see_the_sentinel_sees_nothing() -> None:
    seen = {"traceEvents": [operator(SENTINEL, 1), operator("aten::mm", 2)]}
    assert parts_of_trace(seen, lambda name: Origin.LIBRARY) is None


def work(*parts: tuple[str, int, float]) -> Work:
    return Work(ProfiledOn.GPU, tuple(Part(name, Origin.LIBRARY, count, time) for name, count, time in parts))


def operator(name: str, id: int) -> dict[str, object]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "args": {"External id": id}}


def ran(name: str, id: int | None, *, at: float, lasts: float, kind: str = "kernel") -> dict[str, object]:
    arguments = {"correlation": 5} if id is None else {"External id": id, "correlation": 5}
    return {"ph": "X", "cat": kind, "name": name, "ts": at, "dur": lasts, "args": arguments}
