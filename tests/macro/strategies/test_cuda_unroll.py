"""Unrolling: which loops get a `#pragma`, and with which factors."""

import pytest

from kernelwright.macro.strategies.cuda_unroll import STRATEGY
from macro.cuda_files import refusal, rewritten


def text(body: str, top: str = "") -> str:
    return f"{top}__global__ void run(const float* x, float* y, int n) {{\n{body}}}\n"


OPEN = "    for (int k = 0; k < n; ++k) y[k] = x[k];\n"


def test_a_loop_of_unknown_length_is_unrolled_by_several_factors() -> None:
    assert rewritten(STRATEGY, text(OPEN)) == tuple(
        text(f"    #pragma unroll {factor}\n{OPEN}") for factor in (4, 8, 2, 16)
    )


@pytest.mark.parametrize(
    ("loop", "top"),
    [
        ("    for (int k = 0; k < 16; ++k) y[k] = x[k];\n", ""),
        ("    for (int k = 0; k <= TILE; k += 2) y[k] = x[k];\n", "#define TILE 32\n"),
        ("    for (int k = 0; k < T; k++) y[k] = x[k];\n", "template <int T>\n"),
    ],
)
def test_a_short_loop_is_unrolled_completely(loop, top) -> None:
    assert rewritten(STRATEGY, text(loop, top)) == tuple(
        text(f"    {pragma}\n{loop}", top) for pragma in ("#pragma unroll", "#pragma unroll 4", "#pragma unroll 1")
    )


@pytest.mark.parametrize(
    "loop",
    [
        "    for (int k = 0; k < 4096; ++k) y[k] = x[k];\n",
        "    for (int s = 1; s < 64; s *= 2) y[s] = x[s];\n",
        "    for (int s = blockDim.x / 2; s > 0; s >>= 1) y[s] = x[s];\n",
        "    int k = 0;\n    for (; k < n;) ++k;\n",
    ],
)
def test_other_loops_count_as_long(loop) -> None:
    before, head, after = loop.rpartition("    for")
    assert rewritten(STRATEGY, text(loop))[0] == text(f"{before}    #pragma unroll 4\n{head}{after}")


def test_the_innermost_loops_alone() -> None:
    loops = (
        "    for (int t = 0; t < n; t += 32) {\n"
        "        {0}for (int k = 0; k < 32; ++k) y[t] += x[k];\n"
        "        {1}for (int k = 0; k < n; ++k) y[t] += x[k];\n"
        "    }\n"
    )
    short, long = "#pragma unroll\n        ", "#pragma unroll 4\n        "
    expected = text(loops.replace("{0}", short).replace("{1}", long))
    assert rewritten(STRATEGY, text(loops.replace("{0}", "").replace("{1}", "")))[0] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    y[0] = x[0];\n", "no loop that counts"),
        ("    while (n--) y[n] = x[n];\n", "no loop that counts"),
        (f"    #pragma unroll\n{OPEN}", "says already how it is unrolled"),
        (f"    #pragma unroll 2\n    // so often\n{OPEN}", "says already how it is unrolled"),
        ("    if (n > 3)\n        for (int k = 0; k < n; ++k) y[k] = x[k];\n", "no line for a #pragma"),
        ("    int m = 2; for (int k = 0; k < n; ++k) y[k] = x[k];\n", "no line for a #pragma"),
    ],
)
def test_what_stays(body, expected) -> None:
    assert expected in refusal(STRATEGY, text(body))
