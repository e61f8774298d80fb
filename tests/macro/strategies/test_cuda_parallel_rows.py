"""cuda.parallel-rows: rows that a warp or a block shares, and work that stays with one thread."""

import pytest
import torch

from kernelwright.macro.strategies.cuda_parallel_rows import STRATEGY
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from macro.cuda_files import refusal, rewritten

KERNEL = """\
__global__ void work(const float* x, const float* w, float* y, int m, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {{
        {body}
    }}
}}

// workload: solve(x=randn(m*n), w=randn(n), y=out(m*n), m={m}, n={n})
extern "C" void solve(const float* x, const float* w, float* y, int m, int n) {{
    work<<<{grid}, 128>>>(x, w, y, m, n);
}}
"""
SUM = "float s = 0.0f;\n        for (int j = 0; j < n; ++j) s += x[i * n + j] * w[j];\n        y[i] = s;"


def kernel(body: str = SUM, grid: str = "(m + 127) / 128", m: int = 4096, n: int = 256) -> str:
    return KERNEL.format(body=body, grid=grid, m=m, n=n)


def new_lines(text: str) -> list[str]:
    return [line.strip() for line in rewritten(STRATEGY, text)[0].splitlines() if line not in text.splitlines()]


def test_a_warp_has_a_row() -> None:
    assert new_lines(kernel()) == [
        "int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;",
        "int lane = threadIdx.x % 32;",
        "for (int j = lane; j < n; j += 32) s += x[i * n + j] * w[j];",
        "for (int offset = 16; offset > 0; offset >>= 1) s += __shfl_xor_sync(0xffffffff, s, offset);",
        "if (lane == 0) y[i] = s;",
        "work<<<(m + 3) / 4, 128>>>(x, w, y, m, n);",
    ]


def test_a_block_has_a_long_row() -> None:
    assert new_lines(kernel(m=64, n=100000)) == [
        "__shared__ float partial[4];",
        "int i = blockIdx.x;",
        "for (int j = threadIdx.x; j < n; j += blockDim.x) s += x[i * n + j] * w[j];",
        "for (int offset = 16; offset > 0; offset >>= 1) s += __shfl_xor_sync(0xffffffff, s, offset);",
        "if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = s;",
        "__syncthreads();",
        "s = partial[0];",
        "for (int warp = 1; warp < 4; ++warp) s += partial[warp];",
        "__syncthreads();",
        "if (threadIdx.x == 0) y[i] = s;",
        "work<<<m, 128>>>(x, w, y, m, n);",
    ]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("const float* r = x + i * n;\n        float t = r[0];\n        for (int j = 1; j < n; j++) t = fmaxf(r[j], t);\n"
         "        y[i] = t;",
         ["for (int j = 1 + lane; j < n; j += 32) t = fmaxf(r[j], t);"]),
        ("float s = 0;\n        for (int j = 0; j < n; ++j) { y[i * n + j] = x[i * n + j]; s = s + x[i * n + j]; }\n"
         "        for (int j = 0; j < n; ++j) y[i * n + j] /= s;",
         ["__syncwarp();", "for (int j = lane; j < n; j += 32) y[i * n + j] /= s;"]),
        ("float s = 0;\n        for (int j = 0; j < n; ++j) if (x[i * n + j] > 0) s += x[i * n + j];\n        y[i] = s;\n"
         "        s = 0.0f;\n        for (int j = 0; j < n; ++j) s -= x[i * n + j];\n        y[i + m] = s;",
         ["if (lane == 0) y[i] = s;", "if (lane == 0) y[i + m] = s;", "__syncwarp();"]),
        (SUM.replace("j = 0", "j = n >> 3") + "\n        s = 0;\n"
         + SUM.replace("float s", "s").replace("j = 0", "j = n > 9 ? 3 : 0"),
         ["for (int j = (n >> 3) + lane; j < n; j += 32) s += x[i * n + j] * w[j];",
          "for (int j = (n > 9 ? 3 : 0) + lane; j < n; j += 32) s += x[i * n + j] * w[j];"]),
    ],
    ids=["a pointer to the row", "stores that are read again", "conditions and a second sum", "starts that bind less"],
)  # fmt: skip
def test_other_rows(body: str, lines: list[str]) -> None:
    found = new_lines(kernel(body))
    assert [line for line in lines if line not in found] == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (SUM.replace("s = 0.0f", "s = w[0]"), "does not begin at 0"),
        (SUM.replace("i * n + j", "j * m + i"), "neighbouring elements already"),
        (SUM.replace("++j", "j += 2"), "steps of 1"),
        (SUM.replace("s +=", "if (s > 9) break; s +="), "may end early"),
        (SUM.replace("s +=", "s = 0.5f * s +"), "follow each other in `s`"),
        (SUM.replace("y[i] = s", "y[threadIdx.x] = s"), "used for more than the row"),
        ("for (int j = 1; j < n; ++j) y[i * n + j] = y[i * n + j - 1] + x[i * n + j];", "what another turn stores"),
        ("for (int j = 0; j < n; ++j) y[i * n + j] = x[i * n + n - 1 - j] + x[i * n + j];", "what another turn stores"),
        ("for (int j = 0; j < n; ++j) y[i * n] = x[i * n + j];", "one element in two turns"),
        ("int at = 0;\n        for (int j = 0; j < n; ++j) if (x[i * n + j] > x[i * n + at]) at = j;\n        y[i] = at;",
         "follow each other in `at`"),
        (SUM.replace("y[i] = s", "*(y + i) += s"), "may read and write memory"),
        (SUM.replace("y[i] = s", "put(y, i, s)"), "may read and write memory"),
        ("float a[4];\n        " + SUM, "array of its own"),
        ("if (n > 3) y[i] = 1;\n        " + SUM, "Something other than"),
    ],
)  # fmt: skip
def test_what_follows_from_turn_to_turn_is_refused(body: str, reason: str) -> None:
    assert reason in refusal(STRATEGY, kernel(body))


SPARSE = """\
#include <cuda_runtime.h>

__global__ void sparse(const int* first, const int* at, const float* values, const float* x, float* y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    float sum = 0.0f;
    for (int j = first[row]; j < first[row + 1]; ++j) sum += values[j] * x[at[j]];
    y[row] = sum;
}

// workload: spmv(first=arange(0, (n + 1)*16, 16), at=randint(0, 16, 16*n), values=randn(16*n), x=randn(16), y=out(n), n=999)
extern "C" void spmv(const int* first, const int* at, const float* values, const float* x, float* y, int n) {
    sparse<<<(n + 127) / 128, 128>>>(first, at, values, x, y, n);
}
"""


PLACES = """\
float most = {begin};
        int at = -1;
        float least = INFINITY, where = 0.0f;
        unsigned int low = 7;
        for (int j = 0; j < n; ++j) {{
            float v = x[i * n + j];
            {kept}
            if (w[j] * v < least) {{
                low = j;
                least = w[j] * v;
            }}
            where = fmaxf(where, v);
        }}
        y[i] = at + 1000.0f * low;
        y[i + m] = most + where;"""
KEPT = "if (v > most) { most = v; at = j; }"


@pytest.mark.parametrize("begin", ["-INFINITY", "0.5f", "100.0f"])
@pytest.mark.parametrize("turned", [False, True])
def test_places_of_extremes_are_those_of_the_first(begin: str, turned: bool) -> None:
    kept = KEPT.replace("v > most", "most < v") if turned else KEPT
    text = "#include <cmath>\n" + kernel(PLACES.format(begin=begin, kept=kept)).replace("y=out(m*n)", "y=out(2*m)")
    found = rewritten(STRATEGY, text)
    generator = torch.Generator().manual_seed(3)
    m, n = 13, 211
    x = torch.randint(-9, 10, (m * n,), generator=generator) / 8  # many are equal
    x[5], x[n : 2 * n] = torch.nan, torch.nan
    w = torch.randint(-2, 3, (n,), generator=generator).float()
    answers = []
    for one in (text, *found):
        module, y = LANGUAGE.load("/nowhere/places.cu", one, "test"), torch.full((2 * m,), 9.0)
        module.solve(x, w, y, m, n)
        answers.append(y)
        LANGUAGE.unload(module)
    assert len(answers) == 3
    assert len(answers[0].unique()) > 3
    for one in answers[1:]:
        torch.testing.assert_close(one, answers[0], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "kept",
    [
        KEPT.replace(">", ">="),  # the last of equal ones
        KEPT.replace("at = j", "at = j + 1"),
        KEPT.replace("most = v", "most = v + 1.0f"),
        KEPT.replace("}", "v += most; }"),
        KEPT.replace("}", "} else at = 0;"),
        KEPT + " where += at;",
        KEPT.replace("v", "w[low++]"),
    ],
)
def test_other_ways_of_keeping_an_extreme_are_refused(kept: str) -> None:
    reason = refusal(STRATEGY, kernel(PLACES.format(begin="0.0f", kept=kept)))
    assert "follow each other in" in reason


def test_a_warp_has_a_stretch_that_an_array_says_the_beginning_of() -> None:
    found = rewritten(STRATEGY, SPARSE)
    assert "for (int j = first[row] + lane; j < first[row + 1]; j += 32) sum += values[j] * x[at[j]];" in found[0]
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, 90, (77,), generator=generator, dtype=torch.int32)
    first = torch.cat((torch.zeros(1, dtype=torch.int32), lengths.cumsum(0, dtype=torch.int32)))
    at = torch.randint(0, 50, (int(first[-1]),), generator=generator, dtype=torch.int32)
    values, x = (torch.randn(size, generator=generator) for size in (int(first[-1]), 50))
    answers = []
    for text in (SPARSE, *found):
        module, y = LANGUAGE.load("/nowhere/sparse.cu", text, "test"), torch.full((77,), 9.0)
        module.spmv(first, at, values, x, y, 77)
        answers.append(y)
        LANGUAGE.unload(module)
    assert len(answers) == 3
    for one in answers[1:]:
        torch.testing.assert_close(one, answers[0], rtol=1e-5, atol=1e-5)


def test_stretches_that_do_not_begin_by_the_row_are_left() -> None:
    text = SPARSE.replace("first[row]; j < first[row + 1]", "first[0]; j < first[1]")
    assert "neighbouring elements already" in refusal(STRATEGY, text)


def test_a_grid_of_another_size_is_refused() -> None:
    assert "does not say that it goes as far" in refusal(STRATEGY, kernel(grid="64"))
