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


ADD = """\
@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(z_ptr + offs, x + y, mask=mask)
# workload: run(randn(64), randn(64))
def run(x, y):
    z = torch.empty_like(x)
    kernel[(1,)](x, y, z, x.numel(), BLOCK=64)
    return z
"""

NORM = """\
@triton.jit
def kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / N
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / N + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    b = tl.load(b_ptr + cols, mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(y_ptr + row * stride + cols, d * rstd * w + b, mask=mask)
# workload: run(randn(8, 4, 32), randn(32), randn(32))
def run(x, normalized_weight, normalized_bias):
    flat = x.reshape(-1, x.shape[-1])
    M, N = flat.shape
    y = torch.empty_like(x)
    mean = torch.empty((M,), dtype=x.dtype, device=x.device)
    kernel[(M,)](flat, y, normalized_weight, normalized_bias, mean, flat.stride(0), N, 1e-5, BLOCK=32)
    return y
"""

VECTOR = """\
@triton.jit
def kernel(a_ptr, v_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * N + cols, mask=cols < N, other=0.0)
        v = tl.load(v_ptr + cols, mask=cols < N, other=0.0)
        acc += a * v
    tl.store(out_ptr + row, tl.sum(acc, axis=0))
# workload: run(randn(100, 64), randn(64))
def run(a, vector_operand):
    M, N = a.shape
    out = a.new_empty(M)
    kernel[(M,)](a, vector_operand, out, N, BLOCK=32)
    return out
"""

ATTENTION = """\
@triton.jit
def inner(acc, l_i, m_i, q, k_ptrs, v_ptrs, stride, N_CTX, START, CAUSAL: tl.constexpr, BLOCK: tl.constexpr):
    hi = END
    for start in range(0, hi, BLOCK):
        k = tl.load(k_ptrs + start * stride)
        qk = tl.dot(q, k)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_new[:, None])
        l_i = l_i + tl.sum(p, 1)
        v = tl.load(v_ptrs + start * stride)
        acc += tl.dot(p, v)
        m_i = m_new
    return acc, l_i

@triton.jit
def kernel(Q, K, V, L, Out, N_CTX, stride, D: tl.constexpr, BLOCK: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    m = start_m * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * stride + d[None, :])
    k_ptrs = K + m[None, :] * stride + d[:, None]
    v_ptrs = V + m[:, None] * stride + d[None, :]
    acc = tl.zeros((BLOCK, D), dtype=tl.float32)
    acc, l_i = inner(acc, 0.0, 0.0, q, k_ptrs, v_ptrs, stride, N_CTX, start_m, CAUSAL, BLOCK)
    tl.store(L + m, l_i)
    tl.store(Out + m[:, None] * stride + d[None, :], acc)
# workload: run(randn(2, 4, 64, 16, dtype=float16), randn(2, 4, 64, 16, dtype=float16), randn(2, 4, 64, 16, dtype=float16))
def run(q, k, v):
    o = torch.empty_like(q)
    lse = torch.empty((q.shape[0] * q.shape[1], q.shape[2]), device=q.device, dtype=torch.float32)
    kernel[(1,)](q, k, v, lse, o, k.shape[2], q.stride(2), D=16, BLOCK=16, CAUSAL=False)
    return o
"""


def estimated(text: str) -> Work:
    text = HEAD + text
    (kernel,) = (k for k in find_kernels(parse(text)) if k.name == "kernel")
    workload = find_workload(text, kernel.entry)
    assert isinstance(workload, Workload)
    work = work_of(kernel, workload)
    assert work is not None
    return work


STORE = "    tl.store(z_ptr + offs, x + y, mask=mask)"
HELPERS = """\
@triton.jit
def swizzled(pid, n, GROUP: tl.constexpr):
    return pid // GROUP * GROUP + pid % GROUP
@triton.jit
def square(x):
    return x * x
@triton.jit
def scaled(x, y, SCALE: tl.constexpr):
    s = square(x) * SCALE
    return s + y
"""


@pytest.mark.parametrize(
    ("stored", "flops"),
    [
        (STORE, 1),
        ("    tl.atomic_add(z_ptr + offs, x * y, mask=mask)", 1),
        ("    tl.store(z_ptr + offs, tl.fma(x, y, x), mask=mask)", 2),
        ("    tl.store(z_ptr + offs, scaled(x, y, 2), mask=mask)", 3),
        ("    tl.store(z_ptr + swizzled(tl.program_id(0), n, 8) + offs, x + y, mask=mask)", 1),
    ],
)
def test_arithmetic_inside_a_store_and_in_helpers_counts(stored: str, flops: int) -> None:
    check(HELPERS + ADD.replace(STORE, stored), Work(3 * 64 * 4, flops * 64))


def test_a_norm_counts_each_element_and_not_each_weight() -> None:
    # sum, x - mean, where, d * d, sum, and three to scale; what is done once a row is nothing beside it
    moved = 4 * (2 * 1024 + 2 * 32 + 32)
    check(NORM, Work(moved, 8 * 1024))


@pytest.mark.parametrize("adds", ["acc += a * v", "acc = acc + a * v", "acc = tl.fma(a, v, acc)"])
def test_a_matrix_vector_product_makes_two_operations_on_each_element_of_the_matrix(adds: str) -> None:
    check(VECTOR.replace("acc += a * v", adds), Work(4 * (6400 + 64 + 100), 2 * 6400))


def test_a_name_that_no_longer_holds_what_a_loop_has_added_is_folded_as_any_other() -> None:
    again = "    acc = tl.load(a_ptr + row * N + tl.arange(0, BLOCK))\n    tl.store(out_ptr"
    check(VECTOR.replace("    tl.store(out_ptr", again), Work(4 * (6400 + 64 + 100), 3 * 6400))


@pytest.mark.parametrize(("end", "share"), [("N_CTX", 4), ("(start_m + 1) * BLOCK if CAUSAL else N_CTX", 2)])
def test_attention_makes_two_products(end: str, share: int) -> None:
    work = estimated(ATTENTION.replace("END", end))
    assert work.flops == share * (2 * 4 * 64 * 16) * 64
    assert work.dtype == "float16"


def test_a_bound_that_is_named_first() -> None:
    counted = MATMUL.replace(
        "    for k in range(0, tl.cdiv(K, BLOCK)):", "    steps = tl.cdiv(K, BLOCK)\n    for k in range(steps):"
    )
    check(counted, Work(2 * (64 * 32 + 32 * 16 + 64 * 16), 2 * 64 * 32 * 16, "float16"))


LOSS = """\
@triton.jit
def kernel(logits_ptr, labels_ptr, loss_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    label = tl.load(labels_ptr + row)
    x = tl.load(logits_ptr + row * stride + cols, mask=cols < N, other=-float("inf"))
    largest = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - largest), axis=0)
    tl.store(loss_ptr + row, largest + tl.log(total) - tl.load(logits_ptr + row * stride + label))
# workload: run(randn(64, 100), randint(0, 100, 64))
def run(logits, labels):
    rows, n = logits.shape
    losses = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    kernel[(rows,)](logits, labels, losses, logits.stride(0), n, BLOCK=128)
    return losses.mean()
"""


def test_a_loss_reads_its_rows_once_and_computes_in_their_dtype() -> None:
    # largest, difference, exp, sum; the labels that it reads first are no arithmetic
    check(LOSS, Work(4 * 6400 + 8 * 64 + 4 * 64, 4 * 6400, "float32"))
    check(
        LOSS.replace("randn(64, 100)", "randn(64, 100, dtype=bfloat16)"),
        Work(2 * 6400 + 8 * 64 + 2 * 64, 4 * 6400, "bfloat16"),
    )
