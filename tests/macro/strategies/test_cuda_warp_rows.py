"""cuda.warp-rows: rows within a block that a warp shares, and work that stays with one thread."""

import pytest

from kernelwright.macro.strategies.cuda_warp_rows import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void work(const float* x, float* y, float* z, int m, int n) {{
    __shared__ float s[4096], top;
    const int tid = threadIdx.x;
    {ahead}
    {work}
    {behind}
}}

extern "C" void solve(const float* x, float* y, float* z, int m, int n) {{
    work<<<m, {block}>>>(x, y, z, m, n);
}}
"""
ROWS = """\
for (int t = tid; t < m; t += blockDim.x) {
        float a = 0.0f;
        for (int j = 0; j < n; ++j) a += x[t * n + j];
        s[t] = a;
    }"""
FIRST = """\
if (tid == 0) {
        float a = 0.0f;
        for (int j = 1; j < n; ++j) a = fmaxf(a, s[j]);
        top = a;
        y[blockIdx.x] = a;
    }"""
BARRIER = "__syncthreads();"


def kernel(
    work: str = ROWS, ahead: str = "", behind: str = f"{BARRIER}\n    y[tid] = s[tid] + top;", block: str = "96"
) -> str:
    return KERNEL.format(work=work, ahead=ahead, behind=behind, block=block)


def new_lines(text: str) -> list[str]:
    (after,) = rewritten(STRATEGY, text)
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (kernel(), [
            "for (int t = tid / 32; t < m; t += 3) {",
            "for (int j = tid % 32; j < n; j += 32) a += x[t * n + j];",
            "for (int offset = 16; offset > 0; offset >>= 1) a += __shfl_xor_sync(0xffffffff, a, offset);",
            "if (tid % 32 == 0) s[t] = a;",
        ]),
        (kernel(FIRST, f"s[tid] = x[tid];\n    {BARRIER}"), [
            "if (tid < 32) {",
            "for (int j = 1 + tid; j < n; j += 32) a = fmaxf(a, s[j]);",
            "for (int offset = 16; offset > 0; offset >>= 1) a = fmaxf(a, __shfl_xor_sync(0xffffffff, a, offset));",
            "if (tid == 0) top = a;",
            "if (tid == 0) y[blockIdx.x] = a;",
        ]),
    ],
    ids=["rows", "what thread 0 does"],
)  # fmt: skip
def test_a_warp_does_it(text: str, lines: list[str]) -> None:
    assert new_lines(text) == lines


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel(block="48"), "not of several whole warps"),
        (kernel(block="32"), "not of several whole warps"),
        (kernel(ROWS.replace("t += blockDim.x", "t += 1")), "No thread of a block does"),
        (kernel(ROWS.replace("t * n + j", "j * m + t")), "read neighbouring elements already"),
        (kernel(ROWS.replace("t < m", "t < m + tid")), "different numbers of rows"),
        (kernel(ROWS, "float best = 0.0f;").replace("s[t] = a;", "s[t] = a; best = a;"), "`best` outlives"),
        (kernel(ROWS, "float a = 0.0f;").replace("        float a = 0.0f;\n", ""), "`a` outlives"),
        (kernel(ROWS, "if (tid > m) return;"), "may return ahead"),
        (kernel(behind="y[tid] = s[tid];"), "No barrier stands behind"),
        (kernel(ROWS.replace("x[t", "s[j] * x[t"), "s[tid] = 1.0f;"), "No barrier stands ahead"),
        (kernel(FIRST.replace("s[j]", "x[j] * top"), "if (tid == 0) top = 1.0f;"), "No barrier stands ahead"),
        (kernel(FIRST, "s[tid] = x[tid];"), "No barrier stands ahead"),
        (kernel(FIRST.replace("s[j]", "s[j + tid]")), "`tid` is the number of the thread"),
        (kernel(FIRST.replace("top = a;", "if (a > 0.0f) top = a;")), "Something other than loops"),
        (kernel(FIRST.replace("= fmaxf(a, s[j])", "= 0.5f * a + s[j]")), "follow each other"),
        (
            kernel(FIRST.replace("float a", "float h[2]; float a").replace("top = a;", "h[0] = a; top = h[0];")),
            "array of its own",
        ),
    ],
)
def test_what_stays(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
