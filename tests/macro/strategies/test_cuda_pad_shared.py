"""cuda.pad-shared: which arrays get a column more."""

import pytest

from kernelwright.macro.strategies.cuda_pad_shared import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void turn(const float* in, float* out) {{
    __shared__ {array};
    int tx = threadIdx.x, ty = threadIdx.y;
    {store}
    __syncthreads();
    {load}
}}

void solve(const float* in, float* out) {{
    turn<<<64, dim3({block})>>>(in, out);
}}
"""


def kernel(
    array: str = "float tile[32][32]",
    store: str = "tile[ty][tx] = in[ty * 32 + tx];",
    load: str = "out[ty * 32 + tx] = tile[tx][ty];",
    block: str = "32, 32",
) -> str:
    return KERNEL.format(array=array, store=store, load=load, block=block)


@pytest.mark.parametrize(
    ("text", "array"),
    [
        (kernel(), "float tile[32][32 + 1];"),
        (kernel("float a[2][16][16], tile[16][16]", block="16, 16"), "float a[2][16][16], tile[16][16 + 1];"),
        (kernel("double tile[32][32]"), "double tile[32][32 + 1];"),
        (kernel("float tile[64][64]", store="tile[2 * tx][ty] = 1;", load="out[0] = tile[ty][tx];"), "float tile[64][64 + 1];"),
    ],
)  # fmt: skip
def test_columns_come_into_different_banks(text: str, array: str) -> None:
    assert array in rewritten(STRATEGY, text)[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("float tile[32][33]"), "No warp waits"),
        (kernel(load="out[ty * 32 + tx] = tile[ty][tx];"), "No warp waits"),
        (kernel("float tile[32 * 32]", "tile[ty * 32 + tx] = 1.0f;", "out[0] = tile[tx * 32 + ty];"), "No warp waits"),
        (kernel(load="out[ty * 32 + tx] = tile[tx][ty] + tile[0][0] + (&tile[0][0])[tx];"), "reached by a pointer"),
        (kernel(load="float* t = tile[0];\n    out[ty * 32 + tx] = tile[tx][ty];"), "reached by a pointer"),
        (kernel("float tile[96][128]"), "may not fit"),
        (kernel("float other[n], tile[32][32]"), "may not fit"),
    ],
)
def test_other_arrays_stay(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
