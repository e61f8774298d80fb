"""cuda.clip-window: tests that become limits of loops, and those that stay in them."""

import pytest

from kernelwright.macro.strategies.cuda_clip_window import STRATEGY
from macro.cuda_files import refusal, rewritten

KERNEL = """\
#define PAD 2
__global__ void window(const float* x, const float* w, float* y, int n, int m, unsigned u) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0.0f;
    {loops}
    if (i < n) y[i] = s;
}}
"""
ONE = "for (int k = {head}) {{ int j = i + k; if ({test}) s += x[j] * w[k]; }}"
HEAD, INSIDE = "0; k < m; ++k", "j >= 0 && j < n"
TWO = """\
for (int a = 0; a < 5; a++) {{
        int p = i + a - PAD;
        {test}
        for (int b = -PAD; b <= PAD; b++) {{
            {inner}
            s += x[p * n + i - b];
        }}
    }}"""


def one(head: str = HEAD, test: str = INSIDE) -> str:
    return KERNEL.format(loops=ONE.format(head=head, test=test))


def two(test: str, inner: str) -> str:
    return KERNEL.format(loops=TWO.format(test=test, inner=inner))


def new_lines(text: str) -> list[str]:
    (after,) = rewritten(STRATEGY, text)
    return [line.strip() for line in after.splitlines() if line not in text.splitlines()]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (one(), ["for (int k = max(0, -i); k < min(m, n - i); ++k) { int j = i + k; s += x[j] * w[k]; }"]),
        (one("1; k <= m; k += 1"),
         ["for (int k = max(1, -i); k <= min(m, n - 1 - i); k += 1) { int j = i + k; s += x[j] * w[k]; }"]),
        (one(test="n > k + i && w[k] > 0.5f"),
         ["for (int k = 0; k < min(m, n - i); ++k) { int j = i + k; if (w[k] > 0.5f) s += x[j] * w[k]; }"]),
        (one(test="i - k > 3 && k < 7"),
         ["for (int k = 0; k < min(min(m, i - 3), 7); ++k) { int j = i + k; s += x[j] * w[k]; }"]),
        (two("if (p < 0 || p >= n) continue;", "if (i < b) continue;"),
         ["for (int a = max(0, 2 - i); a < min(5, 2 + n - i); a++) {", "for (int b = -PAD; b <= min(PAD, i); b++) {"]),
        (two("", "if (p < 0 || s > 1.0f) continue;"),
         ["for (int a = max(0, 2 - i); a < 5; a++) {", "if (s > 1.0f) continue;"]),
    ],
    ids=["below", "at most", "a mask", "the other way round", "early turns", "an outer loop"],
)  # fmt: skip
def test_a_test_becomes_limits(text: str, lines: list[str]) -> None:
    assert new_lines(text) == lines


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (one("0; k < m; k += 2"), "No loop does its work"),
        (one("0; k < u; ++k"), "No loop does its work"),
        (one(test="w[k] > 0.0f"), "says nowhere where a loop begins"),
        (one(test="2 * k < n"), "says nowhere where a loop begins"),
        (one(test="(unsigned)j < u"), "says nowhere where a loop begins"),
        (one(test="k < s"), "says nowhere where a loop begins"),
        (one().replace("* w[k];", "* w[k]; else s += 1.0f;"), "done outside of the window"),
        (one().replace("int j", "s *= 0.5f; int j"), "No loop does its work"),
        (one().replace("+= x", "= x[k++] + x"), "No loop does its work"),
        (KERNEL.format(loops="s = x[i];"), "no loop that counts"),
    ],
)
def test_what_stays(text: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, text)
