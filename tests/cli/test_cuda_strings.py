"""CUDA C++ in a string of a Python file, on the command line: a line inferred, a step verified, and what needs a GPU said."""

from pathlib import Path

import pytest
import torch

from cli.terminal import file, kernelwright
from lsp.test_cuda import NAIVE
from lsp.test_cuda_strings import LINE, TEXT

PROGRAM = """#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scale(float* out, const float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = by * x[i];
}

// workload: main(4000)
int main(int count, char** given) {
  int n = atoi(given[1]);
  std::vector<float> x(n, 2.0f);
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<(n + 127) / 128, 128>>>(out, in, 1.5f, n);
  cudaMemcpy(x.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (float one : x) sum += one;
  printf("the sum is %.3f\\n", sum);
}
"""
CALLED = TEXT.replace("def multiply", "# workload: multiply(randn(48, 20), randn(20, 33))\ndef multiply")


def test_from_no_line_to_a_verified_step(tmp_path: Path) -> None:
    path = file(tmp_path, TEXT.replace(f"{LINE}\n", ""), "matmul.py")
    ended = kernelwright("infer", path, "--write")
    assert ended.exit_code == 0, ended.output
    assert "# workload: matmul_kernel<<<" in path.read_text().split("source = ")[0]
    path.write_text(path.read_text().replace("=1024", "=48"))
    ended = kernelwright("optimize", path, "--kernel", "matmul_kernel", "--strategy", "cuda.unroll", "--write")
    assert ended.exit_code == 0, ended.output
    assert "    #pragma unroll 4\n    for (int i = 0; i < k; ++i) {\n" in path.read_text()
    assert "matmul_kernel is CUDA C++" in kernelwright("export", path).stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("] * b[", "] + b[", "failed"),
        ("int row =", "int row = missing +", "does not compile at line 7, column 15"),
    ],
)
def test_another_text_is_held_against_the_baseline(tmp_path: Path, old: str, new: str, words: str) -> None:
    baseline, path = file(tmp_path, TEXT, "before.py"), file(tmp_path, TEXT.replace(old, new), "after.py")
    ended = kernelwright("verify", path, "--kernel", "matmul_kernel", "--against", baseline)
    assert ended.exit_code != 0
    assert words in " ".join(ended.output.split())


@pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU the function runs, and nothing is refused")
def test_a_function_that_compiles_cuda_is_not_checkable_without_a_gpu(tmp_path: Path) -> None:
    ended = kernelwright("optimize", file(tmp_path, CALLED), "--kernel", "multiply")
    assert ended.exit_code == 3
    assert "compiles CUDA C++ by load_inline, which needs nvcc and an NVIDIA GPU" in " ".join(ended.stderr.split())


def test_a_step_of_a_cu_file_becomes_a_program(tmp_path: Path) -> None:
    path = file(tmp_path, NAIVE, "matmul.cu")
    ended = kernelwright("optimize", path, "--strategy", "cuda.unroll", "--write")
    assert ended.exit_code == 0, ended.output
    out = tmp_path / "reproduce.cu"
    ended = kernelwright("export", path, "--out", out)
    assert ended.exit_code == 0, ended.output
    assert "its first lines say how nvcc builds it" in ended.stdout
    program = out.read_text(encoding="utf-8")
    assert program.startswith("// matmul_kernel: cuda.unroll\n")
    baseline, candidate = program.split("namespace candidate {")
    assert "#pragma unroll" in candidate
    assert "#pragma unroll" not in baseline


def test_a_program_alone_speaks_for_a_step(tmp_path: Path) -> None:
    path = file(tmp_path, PROGRAM, "program.cu")
    assert kernelwright("list", path).stdout.count("main(4000)") == 1
    ended = kernelwright("optimize", path, "--strategy", "cuda.grid-stride", "--write")
    assert ended.exit_code == 0, ended.output
    said = " ".join(ended.stdout.split())
    assert "compared by what main prints on data of its own" in said
    assert "speed not measured: what a program prints is compared" in said
    assert "max_blocks), 128>>>(out, in, 1.5f, n);" in path.read_text()
    refused = kernelwright("profile", path)
    assert "A program is not profiled" in refused.stderr
