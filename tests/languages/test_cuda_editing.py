"""What an edit from outside may change of a CUDA file."""

import pytest

from kernelwright.languages import support_of
from kernelwright.values import Refusal

BEFORE = """\
#include <cuda_runtime.h>
#include <cstdio>

constexpr int WIDTH = 256;

__device__ float twice(float v) { return 2 * v; }

__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = twice(x[i]);
}

// workload: run(x=randn(n), y=out(n), n=1000)
extern "C" void run(const float* x, float* y, int n) {
  scale<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(x, y, n);
}

int main() { printf("%d", WIDTH); }
"""
CUDA = support_of("cuda-cpp")
KERNEL = CUDA.kernels(BEFORE)[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("twice(x[i])", "2.0f * x[i]"),
        ("WIDTH - 1) / WIDTH, WIDTH>>>", "511) / 512, 512>>>"),
        ("__global__ void scale", "__device__ float thrice(float v) { return 3 * v; }\n\n__global__ void scale"),
        ("#include <cstdio>", "#include <cstdio>\n#include <cuda_fp16.h>"),
        ("constexpr int WIDTH", "#define UNROLL 4\nconstexpr int WIDTH"),
    ],
)
def test_allowed(old: str, new: str) -> None:
    assert old in BEFORE
    assert CUDA.edit_problem(BEFORE, BEFORE.replace(old, new, 1), KERNEL) is None


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("return 2 * v", "return 3 * v", "Line 6 (`__device__ float twice(float v) { return 2 * v; }`) is outside of"),
        ("= 256;", "= 128;", "Line 4 (`constexpr int WIDTH = 256;`) is outside of what may be changed: `run`, `scale`"),
        ("y=out(n)", "y=randn(n)", "Line 13 (`// workload"),
        ("__global__ void scale(", "__global__ void other(", "`scale` must stay defined once"),
        ("#include <cstdio>", "#include <cstdio>\n#include <fstream>", "The header <fstream> is not allowed"),
        ("if (i < n)", 'system("ls"); if (i < n)', "`system` starts processes"),
        ("if (i < n)", "long long t = clock64(); if (i < n)", "`clock64` touches timers"),
        ("  scale<<<", "  cudaDeviceReset();\n  scale<<<", "`cudaDeviceReset` changes the caller's device"),
        ("constexpr int", '#define GO fopen("x", "w")\nconstexpr int', "`fopen` uses files"),
    ],
)
def test_refused(old: str, new: str, reason: str) -> None:
    assert old in BEFORE
    problem = CUDA.edit_problem(BEFORE, BEFORE.replace(old, new, 1), KERNEL)
    assert isinstance(problem, Refusal)
    assert problem.reason.startswith(reason)


def test_pieces_cover_the_text() -> None:
    pieces = CUDA.pieces(BEFORE, KERNEL)
    assert [one.name for one in pieces if one.editable] == ["scale", "run"]
    lines = BEFORE.splitlines(keepends=True)
    covered = {line for one in pieces for line in range(one.start_line, one.end_line)}
    assert all(line in covered for line, code in enumerate(lines) if code.strip())
    assert all(one.code == "".join(lines[one.start_line : one.end_line]) for one in pieces)


BARE = BEFORE.replace("workload: run(x", "workload: scale<<<4, 256>>>(x")
"""The workload line launches the kernel itself: nobody looks at what else does."""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("twice(x[i])", "2.0f * x[i]", ""),
        ("(const float* x", "(const float* __restrict__ x", ""),
        ("WIDTH>>>", "512>>>", "{`) is outside of what may be changed: `scale`, and"),
        (
            "* x, float* y, int n) {\n  int i",
            "* y, float* x, int n) {\n  int i",
            "The parameters of `scale` must stay as",
        ),
    ],
)
def test_a_kernel_that_its_workload_line_launches(old: str, new: str, reason: str) -> None:
    assert old in BARE
    found = CUDA.edit_problem(BARE, BARE.replace(old, new, 1), CUDA.kernels(BARE)[0])
    assert (found is None) == (reason == "")
    assert reason in (found.reason if found is not None else "")


PROGRAM = (
    BEFORE.partition("// workload")[0]
    + """// workload: main(100)
int main(int count, char** given) {
  float *x, *y;
  cudaMallocManaged(&x, 400);
  cudaMallocManaged(&y, 400);
  scale<<<1, WIDTH>>>(x, y, 100);
  cudaDeviceSynchronize();
  printf("%f", y[0]);
}
"""
)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("scale<<<1, WIDTH>>>", "scale<<<2, WIDTH / 2>>>", None),
        ('printf("%f", y[0]);', 'printf("%f", 0.5f);', "The statements that print must stay as they are"),
        ("  scale<<<", '  printf("0.5"); scale<<<', "The statements that print must stay as they are"),
    ],
)
def test_what_a_program_prints_is_not_changed(old: str, new: str, reason: str | None) -> None:
    kernel = CUDA.kernels(PROGRAM)[0]
    assert kernel.entry == "main"
    assert old in PROGRAM
    found = CUDA.edit_problem(PROGRAM, PROGRAM.replace(old, new), kernel)
    assert found is None if reason is None else isinstance(found, Refusal) and reason in found.reason
