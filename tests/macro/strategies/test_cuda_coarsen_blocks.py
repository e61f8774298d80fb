"""cuda.coarsen-blocks: blocks that do the work of several, and kernels whose blocks stay as they are."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_coarsen_blocks import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

KERNEL = """\
#include <cuda_runtime.h>

const int BLOCK = 64;
#define OFFSET (at + 1)
#define INDEX blockIdx.x

__global__ void places(const float* x, const int* starts, float* y, int n) {{
    {body}
}}

extern "C" void solve(const float* x, const int* starts, float* y, int n) {{
    int blocks = (n + BLOCK - 1) / BLOCK;
    {launch}
}}
"""
BODY = """\
__shared__ int flags[BLOCK], totals[2][1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at = blockIdx.x * BLOCK + threadIdx.x, last;
    // whether it is kept
    const bool keep = at < n && x[at] > 0.0f;
    flags[threadIdx.x] = keep;
    __syncthreads();
    int upto = flags[threadIdx.x];
    #pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(0xffffffff, upto, step);
        if (lane >= step) upto += other;
    }
    if (lane == 31) totals[warp][0] = upto;
    __syncthreads();
    if (warp > 0) upto += totals[0][0];
    if (keep && x[at] < 2.0f) {
        last = starts[blockIdx.x] + upto - 1;
        y[last] = x[at];
    } else if (blockIdx.x == gridDim.x - 1 && threadIdx.x == BLOCK - 1) {
        y[n] = gridDim.x;
    }"""
LAUNCH = "places<<<blocks, BLOCK>>>(x, starts, y, n);"


def kernel(body: str = BODY, launch: str = LAUNCH) -> str:
    return KERNEL.format(body=body, launch=launch)


def test_the_whole_of_it() -> None:
    after = rewritten(STRATEGY, kernel())[0]
    assert (
        """\
    const unsigned int first_block = blockIdx.x * 4;
    __shared__ int flags[4][BLOCK], totals[4][2][1];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at[4], last[4];
    bool keep[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (first_block + r >= block_count) break;
        at[r] = (first_block + r) * BLOCK + threadIdx.x;
        // whether it is kept
        keep[r] = at[r] < n && x[at[r]] > 0.0f;
    }
"""
        in after
    )
    assert (
        """\
        asked[r] = keep[r] && x[at[r]] < 2.0f;
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (first_block + r >= block_count) break;
        if (asked[r]) {
            last[r] = starts[(first_block + r)] + upto[r] - 1;
            y[last[r]] = x[at[r]];
        } else if ((first_block + r) == block_count - 1 && threadIdx.x == BLOCK - 1) {
            y[n] = block_count;
        }
    }
"""
        in after
    )
    assert "places(const float* x, const int* starts, float* y, int n, unsigned int block_count)" in after
    assert "places<<<(blocks + 3) / 4, BLOCK>>>(x, starts, y, n, blocks);" in after


@pytest.mark.parametrize(
    ("grid", "becomes"),
    [
        ("(n + BLOCK - 1) / BLOCK", "((n + BLOCK - 1) / BLOCK + 3) / 4"),
        ("n > 0 ? blocks : 1", "((n > 0 ? blocks : 1) + 3) / 4"),
    ],
)
def test_other_numbers_of_blocks(grid: str, becomes: str) -> None:
    after = rewritten(STRATEGY, kernel(launch=LAUNCH.replace("<<<blocks", f"<<<{grid}")))[0]
    assert f"places<<<{becomes}, BLOCK>>>(x, starts, y, n, {grid});" in after


def test_values_are_the_same() -> None:
    found = rewritten(STRATEGY, kernel())
    assert [text.count("[8]") > 0 for text in found] == [False, True, False]
    modules = [LANGUAGE.load("/nowhere/places.cu", one, "test") for one in (kernel(), *found)]
    for n in (1, 64, 65, 500, 512, 513, 1200):
        x = torch.randn(n)
        kept = torch.nn.functional.pad(x > 0, (0, -n % 64)).view(-1, 64).sum(1)
        starts = (kept.cumsum(0) - kept).int()
        results = [torch.full((n + 1,), -7.0) for _ in modules]
        for module, y in zip(modules, results, strict=True):
            module.solve(x, starts, y, n)
        assert (results[0][:n] > 0).sum() == ((x > 0) & (x < 2)).sum()
        assert all(torch.equal(results[0], one) for one in results[1:])
    for module in modules:
        LANGUAGE.unload(module)


@pytest.mark.parametrize(
    ("body", "launch", "reason"),
    [
        (BODY, LAUNCH.replace("<<<blocks", "<<<dim3(blocks)"), "in one number how many blocks"),
        (BODY, "dim3 grid(blocks); " + LAUNCH.replace("<<<blocks", "<<<grid"), "in one number how many blocks"),
        (BODY, LAUNCH.replace("<<<blocks", "<<<132"), "as many blocks for every size"),
        (BODY, LAUNCH + LAUNCH, "launched in 2 places"),
        (BODY, LAUNCH + " use(places);", "keeps the work of a block from being followed"),
        ("if (n == 3) return;\n    " + BODY, LAUNCH, "`return;` keeps the work"),
        (BODY + " __threadfence();", LAUNCH, "`__threadfence` keeps the work"),
        (BODY.replace("+ upto - 1", "+ upto - OFFSET"), LAUNCH, "`OFFSET` keeps the work"),
        (BODY.replace("blockIdx.x *", "blockIdx.y *"), LAUNCH, "more than one dimension"),
        (BODY.replace("starts[blockIdx.x]", "starts[INDEX]"), LAUNCH, "`INDEX` keeps the work"),
        (BODY.replace("__syncthreads();", ""), LAUNCH, "do not wait for each other"),
        (BODY.replace("if (lane ==", "if (n > 3) __syncthreads();\n    if (lane =="), LAUNCH, "a loop or a condition"),
        (BODY.replace("upto += other", "upto += other + starts[0]"), LAUNCH, "many of them in a loop"),
        (BODY.replace("int step", "int at"), LAUNCH, "declared more than once"),
        (BODY.replace("int at =", "int mine[2], at ="), LAUNCH, "an array or a pointer of its own"),
        (BODY.replace("int at =", "float4 v; int at ="), LAUNCH, "no plain numbers"),
        (BODY.replace("totals[2][1]", "totals[2][n]"), LAUNCH, "no size that is a number"),
        (BODY.replace("totals[2][1]", "totals[2][1000]"), LAUNCH, "bytes of shared memory"),
    ],
)  # fmt: skip
def test_other_kernels_are_refused(body: str, launch: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, kernel(body, launch))
