"""One small file for each language, and what the contract asks about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """`text` has one kernel and, above it, one workload line that begins with `comment`.

    `typed`: it says the dtypes of its tensors, and the entry writes to its second argument instead of answering.
    """

    text: str
    kernel: str
    entry: str
    comment: str
    broken: str  # `text` with an error on the line `broken_line`, from 0
    broken_line: int
    cast: str  # `text` with a cast to float32
    other: str  # `text` with another result
    call: str = "scale(randn(8))"
    typed: bool = False


PYTHON = """\
import torch


# workload: scale(randn(8))
def scale(x):
    return x * 2.0
"""
TOY = """\
say "; workload: scale(zeros(1))"
; workload: scale(randn(8))
kernel scale(x)
  x * 2
end
"""
CUDA = """\
#include <cuda_runtime.h>

__global__ void scale_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.0f;
}

// workload: scale(randn(8), out(8), 8)
extern "C" int scale(const float* x, float* y, int n) {
  scale_kernel<<<(n + 127) / 128, 128>>>(x, y, n);
  return cudaGetLastError();
}
"""

SAMPLES = {
    "python": Sample(
        PYTHON,
        "scale",
        "scale",
        "#",
        PYTHON.replace("(x):", "(x:"),
        4,
        PYTHON.replace("x *", "x.float() *"),
        PYTHON.replace("2.0", "3.0"),
    ),
    "cuda-cpp": Sample(
        CUDA,
        "scale_kernel",
        "scale",
        "//",
        CUDA.replace("x[i] * 2", "x[i * 2"),
        4,
        CUDA.replace("x[i] *", "(float)x[i] *"),
        CUDA.replace("2.0", "3.0"),
        call="scale(randn(8), out(8), 8)",
        typed=True,
    ),
    "toy": Sample(
        TOY,
        "scale",
        "scale",
        ";",
        TOY.replace("(x)\n", "(x\n"),
        2,
        TOY.replace("x *", "single(x) *"),
        TOY.replace("2", "3"),
    ),
}
