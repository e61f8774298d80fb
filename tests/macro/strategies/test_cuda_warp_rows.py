"""cuda.warp-rows: rows within a block that a warp shares, and work that stays with one thread."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_warp_rows import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
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


def new_lines(text: str, variant: int = 0) -> list[str]:
    after = rewritten(STRATEGY, text)[variant]
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


def test_the_block_does_what_thread_0_does() -> None:
    text = kernel(FIRST, f"s[tid] = x[tid];\n    {BARRIER}")
    assert new_lines(text, 1) == [
        "__shared__ float partial[3];",
        "{",
        "for (int j = 1 + tid; j < n; j += 96) a = fmaxf(a, s[j]);",
        "for (int offset = 16; offset > 0; offset >>= 1) a = fmaxf(a, __shfl_xor_sync(0xffffffff, a, offset));",
        "if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = a;",
        "__syncthreads();",
        "a = partial[0];",
        "for (int w = 1; w < 3; ++w) a = fmaxf(a, partial[w]);",
        "__syncthreads();",
        "if (tid == 0) top = a;",
        "if (tid == 0) y[blockIdx.x] = a;",
    ]


GROWING = kernel(behind=f"{BARRIER}\n    for (int t = tid; t < m; t += blockDim.x) y[t] = s[t];")


PLACES = """\
float best = 0.5f;
        int at = -1;
        for (int j = 0; j < n; ++j)
            if ({of}[{j}] > best) {{
                at = j;
                best = {of}[{j}];
            }}
        {kept} = at + best;"""
PLACES_OF_ROWS = kernel(
    "for (int t = tid; t < m; t += blockDim.x) {{\n        {}\n    }}".format(
        PLACES.format(of="x", j="t * n + j", kept="s[t]")
    ),
    behind=f"{BARRIER}\n    if (tid < m) y[blockIdx.x * m + tid] = s[tid];",
)
PLACE_OF_FIRST = kernel(
    "if (tid == 0) {{\n        {}\n    }}".format(PLACES.format(of="s", j="j", kept="y[blockIdx.x]")),
    f"for (int i = tid; i < n; i += blockDim.x) s[i] = x[blockIdx.x * n + i];\n    {BARRIER}",
    "",
)


@pytest.mark.parametrize("text", [PLACES_OF_ROWS, PLACE_OF_FIRST], ids=["rows", "what thread 0 does"])
def test_places_of_extremes_are_those_of_the_first(text: str) -> None:
    found = rewritten(STRATEGY, text)
    generator = torch.Generator().manual_seed(3)
    m, n = 13, 211
    x = torch.randint(-9, 10, (m * n,), generator=generator) / 8  # many are equal
    x[n : 2 * n] = torch.nan
    answers = []
    for one in (text, *found):
        module, y = LANGUAGE.load("/nowhere/places.cu", one, "test"), torch.zeros(m * m)
        module.solve(x, y, torch.zeros(1), m, n)
        answers.append(y)
        LANGUAGE.unload(module)
    assert len(answers) > 1
    assert len(answers[0].unique()) > 3
    assert all(torch.equal(one, answers[0]) for one in answers[1:])


def test_blocks_grow_where_threads_take_shares_of_loops_alone() -> None:
    assert [one.count("<<<m, 512>>>") for one in rewritten(STRATEGY, GROWING)] == [0, 0, 1, 0]
    assert "t = tid / 32; t < m; t += 16" in rewritten(STRATEGY, GROWING)[2]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("y[t] = s[t];", "y[t] = s[tid];"),
        ("t += blockDim.x) y", "t += 96) y"),
        ("y[t] = s[t];", "{ y[t] = s[t]; z = z + 1; }"),
        ("y[t] = s[t];", "y[t + 96] = y[t] + s[t];"),
        ("<<<m, ", "<<<block, "),
        ("__global__ void", "__global__ __launch_bounds__(96) void"),
        ("y[t] = s[t];", "y[t] = __shfl_sync(0xffffffff, s[t], 0);"),
    ],
)
def test_blocks_that_do_not_grow(was: str, becomes: str) -> None:
    text = GROWING.replace(was, becomes)
    if "<<<block, " in text:
        text = text.replace("    work<<<block, 96", "    int block = 96;\n    work<<<block, block")
    assert len(rewritten(STRATEGY, text)) == 1


COLUMNS = GROWING.replace(
    "y[t] = s[t];",
    "{\n        float a = 0.0f;\n        for (int j = 0; j < n; ++j) a += s[j] * x[j * m + t];\n        y[t] = a;\n    }",
)


def test_warps_share_out_the_rows_of_columns() -> None:
    variants = rewritten(STRATEGY, COLUMNS)
    assert len(variants) == 7
    lines = [line.strip() for line in variants[4].splitlines()]
    assert "__shared__ float a_of_warps[8][32];" in lines
    start = lines.index("for (int column = 0; column < m; column += 32) {")
    assert lines[start + 1 : start + 15] == [
        "const int t = column + threadIdx.x % 32;",
        "float a = 0.0f;",
        "if (t < m) {",
        "for (int j = threadIdx.x / 32; j < n; j += 8) a += s[j] * x[j * m + t];",
        "}",
        "a_of_warps[threadIdx.x / 32][threadIdx.x % 32] = a;",
        "__syncthreads();",
        "if (threadIdx.x < 32 && t < m) {",
        "for (int w = 1; w < 8; ++w) {",
        "a += a_of_warps[w][threadIdx.x];",
        "}",
        "y[t] = a;",
        "}",
        "__syncthreads();",
    ]


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (
            "float a = 0.0f;\n        for (int j = 0; j < n; ++j) a += s[j] * x",
            "float a = z[t];\n        for (int j = 0; j < n; ++j) a += x",
        ),
        ("y[t] = a;", "if (a > 0.0f) y[t] = a;"),
        ("a += s[j] * x[j * m + t]", "a += y[j] * x[j * m + t]"),
        ("a += s[j] * x[j * m + t];", "{ a += x[j * m + t]; y[j] = 1.0f; }"),
        ("a += s[j] * x[j * m + t]", "a = 0.5f * a + x[j * m + t]"),
        ("y[t] = a;\n    }", "y[t] = a;\n    }\n    if (m > n) return;"),
    ],
)
def test_columns_that_stay(was: str, becomes: str) -> None:
    assert was in COLUMNS
    assert len(rewritten(STRATEGY, COLUMNS.replace(was, becomes))) <= 4


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
