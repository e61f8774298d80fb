"""cuda.stencil-tile: neighbours that come from a tile, and kernels that keep reading them from memory."""

import pytest

from kernelwright.macro.strategies.cuda_stencil_tile import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
#define AT(r, q) ((r) * w + (q))
__global__ void stencil(const float* a, {type}* b, int h, int w, int radius) {{
    int q = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * {high} + threadIdx.y;
    if (q < w && r < h) {{
        {body}
    }}
}}

// workload: solve(a=randn(h * w{more}), b=out(h * w), h=512, w=256, radius=2)
extern "C" void solve(const float* a, {type}* b, int h, int w, int radius) {{
    dim3 block({block});
    stencil<<<dim3((w + 15) / 16, (h + 3) / 4), block>>>(a, b, h, w, radius);
    stencil<<<dim3((w + 15) / 16, (h + 3) / 4), block>>>(a, b, h, w, radius);
}}
"""
POINTS = "b[AT(r, q)] = r > 1 && r < h - 1 ? a[AT(r - 2, q)] + a[AT(r + 1, q)] + a[AT(r, q)] : 0.0f;"
LOOPS = """\
float s = 0.0f;
        for (int i = -1; i <= 1; i++)
            for (int j = 0; j < 4; j++)
                if (r + i >= 0 && r + i < h && q >= j) s += a[(r + i) * w + q - j];
        b[r * w + q] = s;"""


def kernel(
    body: str = POINTS, type: str = "float", more: str = "", block: str = "16, 4", high: str = "blockDim.y"
) -> str:
    return KERNEL.format(body=body, type=type, more=more, block=block, high=high)


def new_lines(text: str) -> list[str]:
    (after,) = rewritten(STRATEGY, text)
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (kernel(), [
            "__shared__ float a_tile[7][16];",
            "const int at = ((int)blockIdx.y * 4 + tile_row - 2) * w + (int)blockIdx.x * 16 + c;",
            "if (at >= 0 && at < h * w) a_tile[tile_row][c] = a[at];",
            "b[AT(r, q)] = r > 1 && r < h - 1 ? a_tile[threadIdx.y][threadIdx.x] + a_tile[threadIdx.y + 3][threadIdx.x]"
            " + a_tile[threadIdx.y + 2][threadIdx.x] : 0.0f;",
        ]),
        (kernel(LOOPS, high="4"), [
            "__shared__ float a_tile[6][19];",
            "if (r + i >= 0 && r + i < h && q >= j) s += a_tile[threadIdx.y + 1 + i][threadIdx.x + 3 - j];",
        ]),
    ],
    ids=["points", "a window"],
)  # fmt: skip
def test_neighbours_come_from_a_tile(text: str, lines: list[str]) -> None:
    found = new_lines(text)
    assert [line for line in lines if line not in found] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("b[AT(r, q)] = a[AT(r, q)] + a[AT(r, q + 1)];"), "fewer than three neighbours"),
        (kernel(LOOPS.replace("= -1; i <= 1", "= -radius; i <= radius")), "distances are no numbers"),
        (kernel(LOOPS.replace("j < 4", "j < 40")), "distances are no numbers"),
        (
            kernel(POINTS.replace("b[AT", "const_cast<float*>(a)[AT").replace("a[AT(r, q)]", "a[AT(q, r)]")),
            "three neighbours",
        ),
        (kernel(more=" + 1"), "no more"),
        (kernel(block="64"), "one dimension, or three"),
        (kernel(block="radius, 4"), "no size that is a number"),
        (kernel(f"__shared__ float s[3];\n        {POINTS}"), "work together already"),
        (kernel(high="8"), "three neighbours"),
        (kernel().replace("r < h)", "r + 1 < h + 1)").replace("r < h - 1", "h > r + 1"), "No guard says"),
    ],
)
def test_what_stays(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
