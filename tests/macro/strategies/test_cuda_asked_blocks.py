"""Kernels whose caller says how many threads a block has, and kernels that read through local pointers."""

import pytest
import torch

from kernelwright.macro.strategies import (
    cuda_grid_stride,
    cuda_launch_geometry,
    cuda_parallel_rows,
    cuda_register_block,
    cuda_shared_tile,
    cuda_vectorise_access,
)
from kernelwright.macro.strategy import Strategy
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

SCALED = """\
#include <cuda_runtime.h>

template <class T> __host__ __device__ T ceil_div(T dividend, T divisor) {
    return (dividend + divisor - 1) / divisor;
}

__global__ void scaled(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
}

// workload: solve(x=randn(m * n), y=out(m * n), m=64, n=64, block_size=128)
extern "C" void solve(const float* x, float* y, int m, int n, const int block_size) {
    const int grid_size = ceil_div(m * n, block_size);
    scaled<<<grid_size, block_size>>>(x, y, m * n);
}
"""
SOFTMAX = (
    SCALED.replace(
        """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
""",
        """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        const float* x_row = x + i * n;
        float* y_row = y + i * n;
        float top = -INFINITY;
        for (int j = 0; j < n; j++) {
            if (x_row[j] > top) {
                top = x_row[j];
            }
        }
        double sum = 0.0;
        for (int j = 0; j < n; j++) {
            y_row[j] = expf(x_row[j] - top);
            sum += y_row[j];
        }
        for (int j = 0; j < n; j++) {
            y_row[j] /= (float)sum;
        }
    }
""",
    )
    .replace("float* y, int n)", "float* y, int rows, int n)")
    .replace("ceil_div(m * n,", "ceil_div(m,")
    .replace("(x, y, m * n)", "(x, y, m, n)")
    .replace("scaled", "softmax")
)
PRODUCT = """\
#include <cuda_runtime.h>

__global__ void product(const float* x, const float* w, const float* b, float* y, int m, int n, int length) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && column < n) {
        float sum = b != NULL ? b[column] : 0.0f;
        const float* x_row = x + row * length;
        const float* w_row = w + column * length;
        for (int i = 0; i < length; i++) {
            sum += x_row[i] * w_row[i];
        }
        y[row * n + column] = sum;
    }
}

// workload: solve(x=randn(m*k), w=randn(n*k), b=randn(n), y=out(m*n), m=64, n=64, k=64, side=16)
extern "C" void solve(const float* x, const float* w, const float* b, float* y, int m, int n, int k, const int side) {
    dim3 grid((m + side - 1) / side, (n + side - 1) / side);
    dim3 block(side, side);
    product<<<grid, block>>>(x, w, b, y, m, n, k);
}
"""


def _solved(text: str, *given: object) -> torch.Tensor:
    tensors = [one.clone() if isinstance(one, torch.Tensor) else one for one in given]
    module = LANGUAGE.load("/nowhere/solve.cu", text, "solve")
    try:
        module.solve(*tensors)
    finally:
        LANGUAGE.unload(module)
    outputs = [one for one in tensors if isinstance(one, torch.Tensor)]
    return outputs[-1]


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.double(), 1).float()


KEPT = [
    pytest.param(cuda_grid_stride.STRATEGY, id="grid-stride"),
    pytest.param(cuda_vectorise_access.STRATEGY, id="vectorise-access"),
]


@pytest.mark.parametrize("strategy", KEPT)
def test_what_is_right_for_any_block_leaves_it_to_the_caller(monkeypatch, strategy: Strategy) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    variants = rewritten(strategy, SCALED)
    assert variants
    for after in variants:
        assert "block_size>>>" in after
        for m, n, block in ((37, 83, 128), (5, 7, 96), (16, 64, 32)):
            x = torch.randn(m, n)
            torch.testing.assert_close(_solved(after, x, torch.empty(m, n), m, n, block), 2 * x)


def test_another_block_is_written_where_the_caller_said_which(monkeypatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    after = rewritten(cuda_launch_geometry.STRATEGY, SCALED)[0]
    assert "ceil_div(m * n, 256);" in after
    assert "<<<grid_size, 256>>>" in after
    x = torch.randn(37, 83)
    torch.testing.assert_close(_solved(after, x, torch.empty(37, 83), 37, 83, 64), 2 * x)


def test_rows_are_shared_in_blocks_as_the_workload_line_has_them(monkeypatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    variants = rewritten(cuda_parallel_rows.STRATEGY, SOFTMAX)
    assert len(variants) == 2
    for after in variants:
        assert "128>>>" in after
        assert "fmaxf(top, __shfl_xor_sync(0xffffffff, top, offset))" in after
        for m, n, block in ((37, 83, 128), (3, 5, 64)):
            x = torch.randn(m, n) - 5.0
            torch.testing.assert_close(_solved(after, x, torch.empty(m, n), m, n, block), _softmax(x))


PLAIN = PRODUCT.replace("b != NULL ? b[column] : 0.0f", "0.0f")
PRODUCTS = [
    pytest.param(cuda_register_block.STRATEGY, PRODUCT, id="register-block"),
    pytest.param(cuda_shared_tile.STRATEGY, PLAIN, id="shared-tile"),
]


@pytest.mark.parametrize(("strategy", "text"), PRODUCTS)
def test_products_read_through_local_pointers_and_ask_for_their_blocks(
    monkeypatch, strategy: Strategy, text: str
) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    after = rewritten(strategy, text)[0]
    assert "block(side, side)" not in after
    for m, n, k, side in ((37, 41, 29, 16), (5, 3, 8, 8)):
        x, w, b = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        expected = (x.double() @ w.double().T + (b if text is PRODUCT else 0.0)).float()
        torch.testing.assert_close(_solved(after, x, w, b, torch.empty(m, n), m, n, k, side), expected)


OUTER = """
// workload: solve(x=randn(9), y=out(9), m=3, n=3, block_size=64)
extern "C" void solve(const float* x, float* y, int m, int n, const int block_size) { inner(x, y, m, n, 2 * block_size); }
"""


def test_the_number_of_threads_is_not_known_where_the_launcher_changes_it_or_another_calls_it() -> None:
    changed = SCALED.replace("    const int grid_size", "    block_size = 64;\n    const int grid_size")
    assert "no number that this file says" in refusal(
        cuda_launch_geometry.STRATEGY, changed.replace("const int b", "int b")
    )
    inner = SCALED.replace('extern "C" void solve(', "static void inner(").replace("// workload", "//")
    outer = inner + OUTER
    assert "no number that this file says" in refusal(cuda_launch_geometry.STRATEGY, outer)


@pytest.mark.parametrize("strategy", [*KEPT, pytest.param(cuda_launch_geometry.STRATEGY, id="launch-geometry")])
def test_a_size_that_the_kernel_is_given_is_no_number_of_threads(strategy: Strategy) -> None:
    rows = SCALED.replace("<<<grid_size, block_size>>>", "<<<(64 * m + n - 1) / n, n>>>")  # right where n is 64 alone
    assert "no number that this file says" in refusal(strategy, rows)


def test_a_pointer_that_moves_on_is_kept() -> None:
    moved = PRODUCT.replace("sum += x_row[i]", "sum += *x_row++")
    assert refusal(cuda_register_block.STRATEGY, moved) == "`*x_row++` may be any element."


def test_a_header_s_division_that_rounds_up_is_known_by_its_name() -> None:
    start, end = SCALED.index("template"), SCALED.index("__global__")
    included = SCALED[:start] + '#include "common.h"\n' + SCALED[end:]
    assert "ceil_div(m * n, 256);" in rewritten(cuda_launch_geometry.STRATEGY, included)[0]
    assert "rounded up" in refusal(cuda_launch_geometry.STRATEGY, included.replace("ceil_div", "shared_out"))
    own = included.replace("__global__", "static int ceil_div(int n, int d) { return n / d; }\n__global__", 1)
    assert "rounded up" in refusal(cuda_launch_geometry.STRATEGY, own)
