"""cuda.keep-row: loops along a row that read it from registers, and rows that may change between two loops."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_keep_row import STRATEGY
from kernelwright.macro.strategies.cuda_load_ahead import STRATEGY as LOAD_AHEAD
from kernelwright.macro.strategies.cuda_unroll import STRATEGY as UNROLL
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from kernelwright.values import Refusal
from macro.cuda_files import observe, refusal, rewritten

KERNEL = """\
#include <cmath>

__global__ void work(const float*{restrict} x, const float* w, float*{restrict} y, int m, int n) {{
    {shared}int row = {row};
    int lane = {lane};
    if (row < m) {{
        {body}
    }}
}}

// workload: solve(x=randn(m*n), w=randn(n), y=out(m*n), m={m}, n={n})
extern "C" void solve(const float* x, const float* w, float* y, int m, int n) {{
    work<<<{grid}, 128>>>(x, w, y, m, n);
}}
"""
FOLD = "for (int offset = 16; offset > 0; offset >>= 1) s += __shfl_xor_sync(0xffffffff, s, offset);"
HEAD = "for (int j = lane; j < n; j += 32)"
SUM = f"float s = 0.0f;\n        {HEAD} s += x[row * n + j];\n        {FOLD}\n        "
LAST = "y[row * n + j] = x[row * n + j] / s;"
NORM = f"{SUM}{HEAD} {LAST}"


def kernel(body: str = NORM, m: int = 4096, n: int = 128, restrict: str = "", block: bool = False) -> str:
    if block:
        fold = "partial[lane] = s;\n        __syncthreads();\n        s = 0;\n        "
        fold += "for (int t = 0; t < 128; ++t) s += partial[t];"
        return KERNEL.format(
            body=body.replace("j += 32", "j += blockDim.x").replace(FOLD, fold), m=m, n=n, grid="m", row="blockIdx.x",
            lane="threadIdx.x", restrict=restrict, shared="__shared__ float partial[128];\n    ",
        )  # fmt: skip
    row, lane = "blockIdx.x * 4 + threadIdx.x / 32", "threadIdx.x & 31"
    return KERNEL.format(body=body, m=m, n=n, grid="(m + 3) / 4", row=row, lane=lane, restrict=restrict, shared="")


def new_lines(text: str, variant: int = 0) -> list[str]:
    after = rewritten(STRATEGY, text)[variant]
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


def test_rows_of_any_length_that_fit() -> None:
    assert new_lines(kernel(), 1)[:16] == [
        "if (n <= 128) {",
        "float x_row[4];",
        "#pragma unroll",
        "for (int k = 0; k < 4; ++k) {",
        "int j = lane + k * 32;",
        "if (j < n) x_row[k] = x[row * n + j];",
        "}",
        "#pragma unroll",
        "for (int k = 0; k < 4; ++k) {",
        "int j = lane + k * 32;",
        "if (j < n) {",
        "s += x_row[k];",
        "}",
        "}",
        FOLD,
        "#pragma unroll",
    ]


def test_rows_of_a_block() -> None:
    assert [line for line in new_lines(kernel(n=1000, block=True)) if "n <=" in line or "int j" in line] == [
        "if (n <= 8 * blockDim.x) {",
        *["int j = lane + k * blockDim.x;"] * 3,
        "for (int j = lane; j < n; j += blockDim.x) s += x[row * n + j];",
        "for (int j = lane; j < n; j += blockDim.x) y[row * n + j] = x[row * n + j] / s;",
    ]


def test_blocks_of_another_size_take_the_loops_as_they_were() -> None:
    assert "if (n == 8 * blockDim.x) {" in new_lines(kernel(n=1024, block=True))


STORE = "{ float a = w[j]; if (x[row * n + j] > 0) a *= x[row * n + j]; y[row * n + j] = a / s; }"
DEVIATION = (
    "const float* r = x + row * n;\n        " + SUM.replace("x[row * n + j]", "r[j] * w[j]")
    + "float d = 0;\n        #pragma unroll 4\n        " + HEAD
    + " d = fmaxf(d, r[j] - w[j] * s / n);\n        "
    + FOLD.replace("s +=", "d +=").replace(" s,", " d,") + f"\n        {HEAD} y[row * n + j] = r[j] * w[j] * d;"
)  # fmt: skip
BODIES = {"a sum": NORM, "conditions": f"{SUM}{HEAD} {STORE}", "three loops and two arrays": DEVIATION}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("block", [False, True])
def test_values_are_the_same(body: str, block: bool) -> None:
    length = 384 if block else 96
    text = kernel(body if not block or body is not DEVIATION else NORM, m=13, n=length, block=block)
    found = rewritten(STRATEGY, text)
    assert len(found) == 2
    modules = [LANGUAGE.load("/nowhere/row.cu", one, "test") for one in (text, *found)]
    for n in (1, 31, length - 1, length, length + 1, 3 * length):
        x, w = torch.randn(13 * n), torch.randn(n)
        out = [torch.full((13 * n,), torch.nan) for _ in modules]
        for module, y in zip(modules, out, strict=True):
            module.solve(x, w, y, 13, n)
        assert not out[0].isnan().all()
        assert all(torch.equal(out[0], one) for one in out[1:])
        places = [x.clone() for _ in modules]
        for module, y in zip(modules, places, strict=True):
            module.solve(y, w, y, 13, n)
        assert all(torch.equal(places[0], one) for one in places[1:])
    for module in modules:
        LANGUAGE.unload(module)


def test_a_result_of_the_row_may_be_stored_between_the_loops() -> None:
    body = SUM + "if (lane == 0) w[row] = s;\n        " + f"{HEAD} {LAST}"
    text = kernel(body).replace("const float* w", "float* w")
    assert "x_row[k] = x[row * n + j];" in new_lines(text)
    assert "w[row]` may be what is read again as x" in refusal(
        STRATEGY, text.replace("(x, w, y, m, n);", "(x, (float*)x, y, m, n);")
    )


def test_stores_of_memory_apart_do_not_matter() -> None:
    body = NORM.replace("s += x[row * n + j];", "{ s += x[row * n + j]; y[row * n + j] = s; }")
    assert "y[row * n + j]` may be what is read again as x" in refusal(STRATEGY, kernel(body))
    assert new_lines(kernel(body, restrict=" __restrict__"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"{SUM}y[row * n] = s;", "No loops that follow each other"),
        (NORM.replace("j = lane; j < n; j += 32) s", "j = 0; j < n; ++j) s"), "No loops that follow each other"),
        (NORM.replace("= x[row * n + j] /", "= w[j] /"), "read nothing that a loop before them has read"),
        (NORM.replace("s += x", "if (w[j] > 0) s += x"), "read under a condition"),
        (NORM.replace("s += x[row * n + j];", "{ s += x[row * n + j]; if (s > 9) break; }"), "may end early"),
        (NORM.replace("s += x[row", "s += __shfl_xor_sync(0xffffffff, s, 1) + x[row"), "kept in order by"),
        (NORM.replace(LAST, f"{{ {LAST} y[row * n] += x[row * n + j]; }}"), "may be what is read again"),
        (NORM.replace(LAST, f"{{ {LAST} s += x[row * n + j]; }}"), "may be what is read again"),
        (NORM.replace("y[row * n + j]", "y[row * n + n - j]"), "may be what is read again"),
        (SUM + "y[row * n + lane] = s;\n        " + f"{HEAD} {LAST}", "may be what is read again"),
        (SUM + "put(y, row);\n        " + f"{HEAD} {LAST}", "may read and write memory"),
        (NORM.replace("x[row * n + j] /", "x[row * n + (int)w[j]] /"), "read nothing that a loop before them has read"),
    ],
)  # fmt: skip
def test_what_may_have_changed_is_refused(body: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, kernel(body))


def test_the_loops_for_other_rows_stay() -> None:
    for after in rewritten(STRATEGY, kernel()):
        assert "for rows of other lengths" in refusal(STRATEGY, after)
        assert "no loop that counts and loads" in refusal(LOAD_AHEAD, after)
        unrolled = rewritten(UNROLL, after)[0]
        assert unrolled.partition("} else {")[2] == after.partition("} else {")[2]


@pytest.mark.parametrize(
    ("condition", "reached"),
    [
        ("n == 320", "xz"),
        ("n > 320", "yz"),
        ("n <= 64 * 5", "xz"),
        ("n != 320", "yz"),
        ("n == 320 && lane < 9", "xyz"),  # not read
        ("row == 0", "xyz"),  # hangs on the thread
        ("(n += 1) == 321", "xyz"),  # no size of the workload any more
    ],
)
def test_conditions_on_sizes_keep_code_out_of_the_performance_case(condition: str, reached: str) -> None:
    branches = f"if ({condition}) {{ {HEAD} y[j] = x[j]; }} else {{ {HEAD} y[j] = y[j]; }}"
    text = kernel(f"{branches}\n        {HEAD} y[j] = z[j];", n=320)
    sight = observe(text).cuda
    assert not isinstance(sight, Refusal)
    loops = [one.node for one in sight.names.loops if sight.is_reached(one.node)]
    assert "".join(sight.content(one).split("= ")[-1][0] for one in loops) == reached


def test_long_rows_and_rows_of_different_lengths_are_refused() -> None:
    assert "too many for its registers" in refusal(STRATEGY, kernel(n=3000))
    other = kernel(NORM.replace("float s", "int many = n - row;\n        float s").replace("j < n", "j < many"))
    assert "rows of different lengths" in refusal(STRATEGY, other)
