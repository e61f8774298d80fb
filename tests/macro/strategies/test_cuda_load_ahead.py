"""cuda.load-ahead: loops whose loads are made turns ahead, and what has to wait for its turn."""

import pytest

from kernelwright.macro.strategies.cuda_load_ahead import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
{top}__global__ void work({parameters}) {{
    float sum = 0.0f;
    {work}
    y[threadIdx.x] = sum;
}}

extern "C" void solve(float* x, float* y, int* at, int n) {{
    work<<<1, 128>>>(x, {out}, at, n);
}}
"""
LOOP = "for (int i = threadIdx.x; i < n; i += 128) {body}"


def kernel(
    work: str = LOOP.format(body="sum += x[i];"),
    parameters: str = "const float* x, float* y, const int* at, int n",
    out: str = "y",
    top: str = "",
) -> str:
    return KERNEL.format(work=work, parameters=parameters, out=out, top=top)


def body(text: str) -> str:
    return kernel(LOOP.format(body=text))


def new_lines(text: str, variant: int = 0) -> list[str]:
    after = rewritten(STRATEGY, text)[variant]
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


def test_the_whole_of_it() -> None:
    assert new_lines(kernel(), 1) == [
        "int next = threadIdx.x;",
        "for (; next < n - 896; next += 1024) {",
        "float x_next[8];",
        "#pragma unroll",
        "for (int k = 0; k < 8; ++k) {",
        "int i = next + k * 128;",
        "x_next[k] = x[i];",
        "}",
        "#pragma unroll",
        "for (int k = 0; k < 8; ++k) {",
        "sum += x_next[k];",
        "}",
        "}",
        "for (int i = next; i < n; i += 128) sum += x[i];",
    ]


@pytest.mark.parametrize(
    ("loop", "head", "load"),
    [
        ("for (size_t i = 3; i < n; i++) sum += x[i];", "next + 3 < n; next += 4", "x_next[k] = x[i];"),
        ("for (int i = 0; i < n - 1; ++i) sum += x[i];", "next + 3 < n - 1; next += 4", "x_next[k] = x[i];"),
        (
            "for (int i = 0; i < n; i += blockDim.x) sum += x[n * i];",
            "next < n - 3 * stride; next += 4 * stride",
            "x_next[k] = x[n * i];",
        ),
        (
            "for (int i = 0; i < n; ++i) { if (x[i] > 0.0f) sum += x[i]; }",
            "next < n - 3; next += 4",
            "x_next[k] = x[i];",
        ),
        ("for (int i = 0; i < n; ++i) { y[i] = x[i]; }", "next < n - 3; next += 4", "x_next[k] = x[i];"),
        ("const float* r = x + n;\n    for (int i = 0; i < n; ++i) sum += r[i];", "next += 4", "r_next[k] = r[i];"),
    ],
)
def test_other_loops(loop: str, head: str, load: str) -> None:
    lines = new_lines(kernel(loop))
    assert any(head in line for line in lines)
    assert load in lines


def test_a_pragma_goes_with_the_loop_that_it_was_for() -> None:
    after = rewritten(STRATEGY, kernel("#pragma unroll 2\n    " + LOOP.format(body="sum += x[i];")))[0]
    assert "unroll 2" not in after


def test_what_is_left_over_stays() -> None:
    assert "another one has left off" in refusal(STRATEGY, rewritten(STRATEGY, kernel())[0])


def test_each_loop_gets_names_of_its_own() -> None:
    twice = LOOP.format(body="sum += x[i];")
    after = rewritten(STRATEGY, kernel(f"{twice}\n    {twice}"))[0]
    assert after.count("int next = threadIdx.x;") == 1
    assert after.count("int from = threadIdx.x;") == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (kernel("sum = x[0];"), "no loop that counts and loads"),
        (body("sum += y[i] = at[0];"), "the same element in every turn"),
        (body("sum += x[at[i]] + 0 * at[n];").replace("at[i]", "at[0]"), "depends on more than the turn"),
        (body("{ int j = 2 * i; j += n; sum += x[j]; }"), "depends on more than the turn"),
        (kernel("int2 p = {0, 1};\n    " + LOOP.format(body="{ sum += x[i + p.x]; p.x += 1; }")), "more than the turn"),
        (body("{ if (x[i] > 3.0f) break; sum += 1.0f; }"), "may end early"),
        (body("{ __syncthreads(); sum += x[i]; }"), "kept in order by `__syncthreads`"),
        (body("{ sum += x[i]; i += 1; }"), "does not count up to a bound"),
        (body("{ sum += x[i]; n -= 1; }"), "does not count up to a bound"),
        (body("if (i > 3) sum += x[i];"), "under a condition"),
        (body("sum += i > 4 ? x[i] + x[i] : x[i] * y[0];"), "under a condition"),
        (body("{ y[i + 1] = sum; sum += y[i]; }"), "what an earlier turn stores"),
        (kernel(LOOP.format(body="y[i] = x[i];"), out="x"), "both made of x"),
        (kernel(LOOP.format(body="sum += *(x + i) + x[i];")), "may read or write memory"),
        (kernel("if (n > 3) for (int i = 0; i < n; ++i) sum += x[i];"), "no place for statements"),
        (kernel(parameters="const volatile float* x, float* y, const int* at, int n"), "no element of a plain array"),
        (kernel(LOOP.format(body="sum += AT(n);"), top="#define AT(n) x[i]\n"), "no loop that counts and loads"),
        (kernel(LOOP.format(body="sum += x[i] * E;"), top="#define E y[i]\n"), "may read or write memory"),
        (kernel("for (int i = 0; i < 12; ++i) sum += x[i];"), "no loop that counts and loads"),
    ],
)
def test_what_waits_for_its_turn(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
