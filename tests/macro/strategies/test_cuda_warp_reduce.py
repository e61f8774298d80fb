"""cuda.warp-reduce: trees and atomics that become shuffles, and those that stay."""

import pytest

from kernelwright.macro.strategies.cuda_warp_reduce import STRATEGY
from macro.cuda_files import refusal, rewritten

TREE = """\
for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }"""
KERNEL = """\
__global__ void reduce(const float* x, float* out, int n) {{
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + tid;
    {load}
    {tree}
    {end}
}}

extern "C" void solve(const float* x, float* out, int n) {{
    reduce<<<(n + {block} - 1) / {block}, {block}>>>(x, out, n);
}}
"""
LOAD = "sdata[tid] = i < n ? x[i] : 0.0f;\n    __syncthreads();"
END = "if (tid == 0) out[blockIdx.x] = sdata[0];"


def kernel(load: str = LOAD, tree: str = TREE, end: str = END, block: str = "256") -> str:
    return KERNEL.format(load=load, tree=tree, end=end, block=block)


def new_lines(text: str) -> list[str]:
    (after,) = rewritten(STRATEGY, text)
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


FOLDED = [
    "float sum = i < n ? x[i] : 0.0f;",
    "for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);",
    "if (tid % 32 == 0) sdata[tid / 32] = sum;",
    "if (tid < 8) {",
    "sum = sdata[tid];",
    "for (int offset = 4; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xff, sum, offset);",
    "if (tid == 0) out[blockIdx.x] = sum;",
]


@pytest.mark.parametrize(
    "tree",
    [
        TREE,
        TREE.replace("blockDim.x / 2", "128").replace("s >>= 1", "s /= 2"),
        TREE.replace("+= sdata[tid + s]", "= sdata[tid + s] + sdata[tid]"),
        TREE.replace("s = blockDim.x / 2; s > 0; s >>= 1", "s = 1; s < blockDim.x; s *= 2").replace(
            "tid < s", "tid % (2 * s) == 0"
        ),
        "for (unsigned s = 1; s < blockDim.x; s <<= 1) {\n        int at = 2 * s * tid;\n"
        "        if (at < blockDim.x) sdata[at] += sdata[at + s];\n        __syncthreads();\n    }",
    ],
    ids=["halving", "by division", "as a sum", "doubling", "doubling without gaps"],
)
def test_the_usual_trees(tree: str) -> None:
    assert [line for line in new_lines(kernel(tree=tree)) if line not in ("}", "__syncthreads();")] == FOLDED


def test_all_threads_read_the_result() -> None:
    (after,) = rewritten(STRATEGY, kernel(end="out[i] = sdata[0];"))
    assert "        if (tid == 0) sdata[0] = sum;\n    }\n    __syncthreads();\n    out[i] = sdata[0];" in after


def test_maxima_and_values_from_both_branches() -> None:
    load = "if (i < n) {\n        sdata[tid] = x[i];\n    } else {\n        sdata[tid] = -1e30f;\n    }\n    __syncthreads();"
    tree = TREE.replace("+= sdata[tid + s]", "= fmaxf(sdata[tid], sdata[tid + s])")
    lines = new_lines(kernel(load, tree))
    assert lines[:3] == ["float most;", "most = x[i];", "most = -1e30f;"]
    assert "if (tid == 0) out[blockIdx.x] = most;" in lines
    assert any("most = fmaxf(most, __shfl_down_sync(0xff, most, offset));" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel(block="96"), "96 threads; whole warps in a power of two"),
        (kernel(block="n"), "no size that is a number"),
        (kernel(tree=TREE.replace("blockDim.x / 2", "64")), "does not take in all threads"),
        (kernel("if (i >= n) return;\n    " + LOAD), "may return ahead of the tree"),
        (kernel(end="out[i] = sdata[tid];"), "neither the thread's own value nor what the tree comes to"),
        (kernel(end="out[i] = sdata[1];"), "neither the thread's own value nor what the tree comes to"),
        (kernel("if (i < n) sdata[tid] = x[i];\n    __syncthreads();"), "Not every thread stores its value"),
        (kernel("float* s = sdata;\n    " + LOAD), "used as a whole"),
        (kernel("__syncthreads();\n    sdata[tid] = x[i];"), "No barrier stands right ahead"),
        (kernel(tree=""), "adds to nothing by an atomic"),
    ],
)
def test_other_trees_are_refused(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)


ATOMIC = """\
__global__ void dot(const float* x, const float* y, float* out, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
{body}
}}

extern "C" void solve(const float* x, const float* y, float* out, int n) {{
    dot<<<(n + 127) / 128, 128>>>(x, y, out, n);
}}
"""


@pytest.mark.parametrize(
    ("body", "start"),
    [
        ("    if (i < n) atomicAdd(out, x[i] * y[i]);", "    float sum = 0.0f;\n    if (i < n) sum = x[i] * y[i];\n"),
        ("    if (i >= n) return;\n    float v = x[i];\n    atomicAdd(&out[0], v);",
         "    float sum = 0.0f;\n    if (i < n) {\n        float v = x[i];\n        sum = v;\n    }\n"),
        ("    float s = 0;\n    for (; i < n; i += 4096) s += x[i];\n    atomicAdd(out, s);", " s += x[i];\n    for (int"),
    ],
)  # fmt: skip
def test_one_addition_a_block(body: str, start: str) -> None:
    (after,) = rewritten(STRATEGY, ATOMIC.format(body=body))
    assert start in after
    assert "__shared__ float warp_sums[4];" in after
    assert after.count("atomicAdd(") == 1
    assert "        if (threadIdx.x == 0) atomicAdd(" in after


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    atomicAdd(&out[i % 8], x[i]);", "different elements"),
        ("    if (threadIdx.x == 0) atomicAdd(out, x[0]);", "adds for the block already"),
        ("    y[i] = atomicAdd(out, x[i]);", "uses what one returns"),
        ("    for (int j = 0; j < n; ++j) atomicAdd(out, x[j]);", "more than one condition"),
        ("    if (i < n) atomicAdd(out, x[i]);\n    out[i] = 0;", "follows the addition"),
    ],
)
def test_other_atomics_are_refused(body: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, ATOMIC.format(body=body))
