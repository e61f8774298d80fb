"""Bytes, operations and the side of the roofline, against sums done by hand."""

import pytest

from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.roofline import Bound, Work, bound, roof_of, work_of, work_of_graph
from kernelwright.source.workload import find_workload
from kernelwright.values import CPU, Device, Graph, Node, Roof, TensorRef, TensorType, Value, Workload
from kernelwright.values.targets import TARGET_NAMES, target

HEAD = "import torch, triton\nimport triton.language as tl\n"

COPY = """\
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    y = x * 2 + 1
    tl.store(y_ptr + offs, y, mask=offs < n)
"""

MATMUL = """\
@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a_ptrs = a_ptr + offs[:, None] * K + offs[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK)):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptr + offs[:, None] * N + offs[None, :])
        acc += tl.dot(a, b)
        a_ptrs += BLOCK
    tl.store(c_ptr + offs[:, None] * N + offs[None, :], acc)
# workload: run(randn(64, 32, dtype=float16), randn(32, 16, dtype=float16))
def run(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), dtype=a.dtype)
    kernel[(1,)](a, b, c, M, N, K, BLOCK=16)
    return c
"""


def check(text: str, expected: Work | None) -> None:
    text = HEAD + text
    (kernel,) = (k for k in find_kernels(parse(text)) if k.name == "kernel")
    workload = find_workload(text, kernel.entry)
    assert isinstance(workload, Workload)
    assert work_of(kernel, workload) == expected


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("    y = torch.empty_like(x)\n    kernel[(1,)](x, y, x.numel(), BLOCK=8)\n", Work(2 * 64 * 2, 128, "float16")),
        (
            "    n, m = x.shape\n    y = torch.empty((n, m), dtype=x.dtype)\n    kernel[(1,)](x, y, n, 8)\n",
            Work(256, 128, "float16"),
        ),
        (
            "    x = x.contiguous()\n    y = x.new_empty(x.shape)\n    kernel[(1,)](x, y, 3, 8)\n",
            Work(256, 128, "float16"),
        ),
        (
            "    x = x.view(-1, 4)\n    y = torch.zeros_like(x)\n    kernel[(1,)](x, y, 3, 8)\n",
            Work(256, 128, "float16"),
        ),
        ("    kernel[(1,)](x, x, 3, 8)\n", Work(256, 128, "float16")),
        ("    y = make(x)\n    kernel[(1,)](x, y, 3, 8)\n", Work(128, 128, "float16")),
    ],
)
def test_a_pointwise_kernel(launcher: str, expected: Work) -> None:
    check(COPY + "# workload: run(randn(16, 4, dtype=float16))\ndef run(x):\n" + launcher, expected)


def test_a_matrix_product() -> None:
    check(MATMUL, Work(2 * (64 * 32 + 32 * 16 + 64 * 16), 2 * 64 * 32 * 16, "float16"))


def test_matrix_products_that_cannot_be_counted_are_not_called_none() -> None:
    check(MATMUL.replace("range(0, tl.cdiv(K, BLOCK))", "range(0, 2)"), None)


def test_pytorch_has_no_work_without_a_graph() -> None:
    check("# workload: kernel(randn(8))\ndef kernel(x):\n    return torch.sum(x)\n", None)


DEVICE = Device("cuda", "a GPU", bandwidth=1e12, peak_flops={"float32": 1e13, "tf32": 1e14})


@pytest.mark.parametrize(
    ("work", "device", "expected"),
    [
        (Work(10**9, 10**9), DEVICE, Bound("memory", 1.0, 1.0, 10.0, 1.0)),
        (Work(10**6, 10**10), DEVICE, Bound("compute", 1.0, 1e4, 10.0, 1e-3)),
        (Work(10**6, 10**11, "tf32"), DEVICE, Bound("compute", 1.0, 1e5, 100.0, 1e-3)),
        (Work(10**9, 10**9, "float16"), DEVICE, Bound("memory", 1.0, 1.0, 0.0, 1.0)),
        (Work(10**9, 10**9), CPU, Bound("memory", 0.0, 1.0, 0.0, 0.0)),
        (Work(0, 0), DEVICE, Bound("memory", 0.0, 0.0, 10.0, 0.0)),
    ],
)
def test_bound(work: Work, device: Device, expected: Bound) -> None:
    assert bound(work, device) == expected


@pytest.mark.parametrize(
    ("work", "device", "roof", "least_ms"),
    [
        (Work(10**9, 10**9), DEVICE, Roof(10**9, 10**9, "float32", 1e12, 1e13), 1.0),
        (Work(10**6, 10**11, "tf32"), DEVICE, Roof(10**6, 10**11, "tf32", 1e12, 1e14), 1.0),
        (Work(10**9, 0, "int32"), DEVICE, Roof(10**9, 0, "int32", 1e12, 0.0), 1.0),
        (Work(10**9, 10**9, "float16"), DEVICE, Roof(10**9, 10**9, "float16", 1e12, 0.0), None),
        (Work(10**9, 10**9), CPU, Roof(10**9, 10**9, "float32", 0.0, 0.0), None),
    ],
)
def test_a_roof_and_the_least_time_under_it(work: Work, device: Device, roof: Roof, least_ms: float | None) -> None:
    assert roof_of(work, device) == roof
    assert roof.least_ms == least_ms


def tensor(id: int, shape: tuple[int, ...], origin: str, stride: tuple[int, ...] | None = None) -> Value:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return Value(id, TensorType(shape, stride or tuple(strides), "float32"), origin)


def graph(values: tuple[Value, ...], nodes: tuple[Node, ...], outputs: tuple[int, ...]) -> Graph:
    return Graph("f", "", "cpu", False, values, nodes, outputs)


def test_a_graph_moves_its_inputs_and_outputs_once() -> None:
    values = (
        tensor(0, (8, 4), "input"),
        tensor(1, (4,), "parameter"),
        tensor(2, (8, 4), "node"),
        tensor(3, (8, 4), "node"),
    )
    nodes = (
        Node(0, "mul", (TensorRef(0), TensorRef(1)), outputs=(2,), estimated_flops=32),
        Node(1, "add", (TensorRef(2), TensorRef(0)), outputs=(3,), estimated_flops=32),
    )
    assert work_of_graph(graph(values, nodes, (3,))) == Work(4 * (32 + 4 + 32), 64)


def test_a_graph_does_not_read_what_it_does_not_use() -> None:
    values = (tensor(0, (8,), "input"), tensor(1, (1000,), "input"), tensor(2, (8,), "node"))
    nodes = (Node(0, "relu", (TensorRef(0),), outputs=(2,), estimated_flops=8),)
    assert work_of_graph(graph(values, nodes, (2,))) == Work(64, 8)


def test_a_lookup_reads_a_part_of_its_table() -> None:
    values = (tensor(0, (1000, 8), "parameter"), tensor(1, (2, 8), "node"))
    nodes = (Node(0, "embedding", (TensorRef(0),), outputs=(1,)),)
    assert work_of_graph(graph(values, nodes, (1,))) == Work(2 * 64, 0)


def test_an_expanded_tensor_is_read_once() -> None:
    values = (tensor(0, (8, 1000), "input", (1, 0)), tensor(1, (8,), "node"))
    nodes = (Node(0, "sum", (TensorRef(0),), outputs=(1,), estimated_flops=8000),)
    assert work_of_graph(graph(values, nodes, (1,))) == Work(64, 8000)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("H200", "NVIDIA H200"),
        ("NVIDIA H200 141GB HBM3e", "NVIDIA H200"),
        ("rtx 4090", "NVIDIA GeForce RTX 4090"),
        ("NVIDIA L40S", "NVIDIA L40S"),
        ("NVIDIA A100-SXM4-80GB", "NVIDIA A100 SXM4 80GB"),
    ],
)
def test_targets(name: str, expected: str) -> None:
    found = target(name)
    assert found is not None
    assert found.name == expected


def test_every_target_has_its_ceilings() -> None:
    for name in TARGET_NAMES:
        device = target(name)
        assert device is not None
        assert device.bandwidth >= 3e11
        assert device.peak_flops["float16"] > device.peak_flops["float64"] > 0
        assert device.compute_capability
        assert device.multiprocessors
        assert device.memory_bytes > device.l2_bytes > 0


def test_an_unknown_target() -> None:
    assert target("Voodoo 2") is None
