"""Exported programs of CUDA C++: each is compiled and run, in the emulator."""

from pathlib import Path

import pytest

from kernelwright.export.cuda import program_of
from kernelwright.proof.worker.languages.cuda import modules
from kernelwright.values import Outcome, Refusal, Step
from test_export import HOSTILE, step, told

SAXPY = """#include <cuda_runtime.h>
#include <cstdio>

using real = float;
#define N_THREADS 64
__constant__ real shift[1];

extern "C" __global__ void saxpy(int n, real a, const real* __restrict__ x, real* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// workload: saxpy<<<(n + 63) / 64, 64>>>(n=1000, a=2.0f, x=randn(n), y=inout(randn(n)))
int main() {
  printf("none of this is exported\\n");
}
"""
SOLVE = """#include <cuda_fp16.h>
#define TILE 16
struct Sizes { int rows, columns; };
template <typename T, int EACH> __global__ void turned(const T* x, T* out, int rows, int columns) {
  __shared__ T tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  int other = blockIdx.y * TILE + threadIdx.x, mine = blockIdx.x * TILE + threadIdx.y;
  if (mine < columns && other < rows) out[mine * rows + other] = tile[threadIdx.x][threadIdx.y];
}
extern "C" {
// workload: solve(x=randn(m, n, dtype=float16), out=out(m * n, dtype=float16), picked=randint(0, 9, 8, dtype=int32), m=37, n=9)
cudaError_t solve(const half* x, half* out, const int* picked, int m, int n, cudaStream_t stream = nullptr) {
  Sizes sizes{m, n};
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  turned<half, 4><<<grid, dim3(TILE, TILE), 0, stream>>>(x, out, sizes.rows, sizes.columns);
  return cudaGetLastError();
}
}
"""
TEMPLATE = """template <typename T> __global__ void filled(T* out, double by, const int* order, int n) {
  extern __shared__ double sums[];
  sums[threadIdx.x] = by;
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[order[i]] = T(sums[threadIdx.x] * i);
}
// workload: filled<float><<<1, dim3(8), 64>>>(out=out(n), by=-0.25, order=randperm(n, dtype=int32), n=33)
"""
STRETCHES = """__global__ void summed(const float* x, const int* first, float* y, int rows) {
  int row = threadIdx.x;
  if (row >= rows || first[0] != 0 || first[rows] != 40 || first[row + 1] < first[row]) return;
  float sum = 0.0f;
  for (int i = first[row]; i < first[row + 1]; i++) sum += x[i];
  y[row] = sum;
}
// workload: summed<<<1, 64>>>(x=randn(40), first=offsets(rows + 1, 40, dtype=int32), y=out(rows), rows=9)
"""
STRUCTURE = """struct Rows { int first, last; };
struct Params { Rows rows; float by[2]; const float* x; float4 v; bool doubled = false; };
namespace {
__global__ void scaled(const Params p, double n, float* y) {
  int i = p.rows.first + threadIdx.x;
  if (i < p.rows.last) y[i] = (p.doubled ? 2 : 1) * p.by[0] * p.x[i] + p.by[1] + n + p.v.y;
}
}
// workload: scaled<<<1, 64>>>(p=struct(rows=struct(first=1, last=n), by=(2, -1), x=randn(n), v=(0, 2, inf, 0)), n=9, y=out(n))
"""


def run(script: str | Refusal, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    assert isinstance(script, str), script
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    module = modules.load(str(folder / "reproduce.cu"), script, "exported")
    try:
        return module.main()
    finally:
        modules.unload(module)


@pytest.mark.parametrize(
    ("kernel", "before", "old", "new"),
    [
        ("saxpy", SAXPY, "y[i] = a * x[i] + y[i]", "y[i] = fmaf(a, x[i], y[i])"),
        ("saxpy", SAXPY, "#define N_THREADS 64", "#include <math.h>\n#define N_THREADS 32"),
        ("turned", SOLVE, "#define TILE 16", "#define TILE 8"),
        ("filled", TEMPLATE, "sums[threadIdx.x] * i", "i * sums[threadIdx.x]"),
        ("summed", STRETCHES, "sum += x[i]", "sum = x[i] + sum"),
        ("scaled", STRUCTURE, "p.by[1] + n", "n + p.by[1]"),
    ],
)
def test_it_compares_both_texts(
    kernel: str, before: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in before
    after = before.replace(old, new)
    script = program_of(step(kernel, before, after), before, after)
    status, printed = run(script, tmp_path, monkeypatch)
    assert status == 0, printed
    assert printed.count("agrees with the baseline") == 3
    assert printed.splitlines()[-1] == "This was not built by nvcc: nothing is timed."
    assert "none of this" not in printed
    assert "//   nvcc -std=c++17 -O3" in script


@pytest.mark.parametrize(
    ("kernel", "before", "old", "new"),
    [
        ("saxpy", SAXPY, "y[i] = a * x[i]", "y[i] = 1.01f * a * x[i]"),
        ("turned", SOLVE, "tile[threadIdx.x][threadIdx.y];", "mine ? tile[threadIdx.x][threadIdx.y] : half(0.0f);"),
        ("filled", TEMPLATE, "i < n; i +=", "i < n - 1; i +="),
        ("summed", STRETCHES, "int i = first[row];", "int i = row * 40 / rows;"),
        ("scaled", STRUCTURE, "p.by[1] + n", "p.by[1]"),
    ],
)
def test_a_wrong_candidate_is_told(
    kernel: str, before: str, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in before
    after = before.replace(old, new)
    status, printed = run(program_of(step(kernel, before, after), before, after), tmp_path, monkeypatch)
    assert (status, printed) == (1, "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("#include <cstdio>", '#include "settings.h"', 'includes "settings.h", so that one file would not be enough'),
        ("#include <cstdio>", "#if 1\n#include <cstdio>\n#endif", "under a condition"),
        ("inout(randn(n))", "inout(randn(n, strides=(2,)))", "not contiguous"),
        ("x=randn(n)", "x=randn(n, dtype=complex64)", "a tensor of complex64"),
        ("x=randn(n), ", "", "does not fit the parameters of saxpy"),
        ("using real", "/* \x1b[2J */ using real", "control characters"),
        ("y[i] = a", "y[i] = ::other(a)", "::other, which a namespace hides"),
    ],
)
def test_what_cannot_be_exported_is_said(old: str, new: str, words: str) -> None:
    assert old in SAXPY
    text = SAXPY.replace(old, new)
    if "::other" in new:
        text = text.replace("extern", "__device__ float other(float a) { return a; }\nextern", 1)
    refused = program_of(step("saxpy", text, text), text, text)
    assert isinstance(refused, Refusal)
    assert words in refused.reason


def test_other_parameters_are_refused() -> None:
    after = SAXPY.replace("int n, real a,", "real a, int n,")
    refused = program_of(step("saxpy", SAXPY, after), SAXPY, after)
    assert isinstance(refused, Refusal)
    assert "takes other parameters after the step" in refused.reason


def test_a_program_whose_print_is_compared_is_not_exported() -> None:
    text = SAXPY.replace("// workload: saxpy<<<", "// workload: main()\n// saxpy<<<").replace(
        'printf("none', 'saxpy<<<1, 1>>>(0, 0, nullptr, nullptr); printf("none'
    )
    refused = program_of(step("saxpy", text, text), text, text)
    assert isinstance(refused, Refusal)
    assert "is a program already" in refused.reason


@pytest.mark.parametrize("lost", [None, ""])
def test_a_step_that_is_not_there_is_not_exported(lost: str | None) -> None:
    rejected: Step = step("saxpy", SAXPY, SAXPY, Outcome.REJECTED)
    assert isinstance(program_of(rejected, SAXPY, SAXPY), Refusal)
    assert isinstance(program_of(step("saxpy", SAXPY, SAXPY), SAXPY, lost), Refusal)


def test_words_of_others_stay_comments() -> None:
    usual, hostile = (program_of(_of(words), SAXPY, SAXPY) for words in ("usual", HOSTILE + "\\"))
    assert isinstance(usual, str)
    assert isinstance(hostile, str)
    code = [[line for line in one.splitlines() if not line.startswith("//")] for one in (usual, hostile)]
    assert code[0] == code[1]
    assert "\x1b" not in hostile


def _of(words: str) -> Step:
    import dataclasses

    return dataclasses.replace(told(words), kernel="saxpy")
