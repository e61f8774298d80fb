"""The least work of a CUDA kernel, as its text tells it."""

import pytest

from kernelwright.languages import support_of
from kernelwright.source.roofline import Work, work_of
from kernelwright.values import Workload

CUDA = support_of("cuda-cpp")
HEAD = "__global__ void k(const float* x, const int* ids, float* y, int n, int m) {\n"
PLACE = "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
LAUNCH = """
// workload: run(x=randn(n, m), ids=randint(0, 8, n, dtype=int32), y=inout(randn(n)), n=100, m=10)
void run(const float* x, const int* ids, float* y, int n, int m) { k<<<(n + 255) / 256, 256>>>(x, ids, y, n, m); }
"""


def work(body: str) -> Work | None:
    text = f"{HEAD}{PLACE}{body}\n}}\n{LAUNCH}"
    (kernel,) = CUDA.kernels(text)
    workload = CUDA.workload(text, kernel.entry)
    assert isinstance(workload, Workload)
    return work_of(kernel, workload)


X, IDS, Y = 4000, 400, 400  # bytes


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  if (i < n) y[i] = 2.0f * x[i] + 1.0f;", Work(X + Y, 200)),
        ("  if (i >= n) return;\n  y[i] += x[i * m];", Work(X + 2 * Y, 100)),
        ("  if (i < n) for (int j = 0; j < m; ++j) y[i] += x[i * m + j] * 2.0f;", Work(X + 2 * Y, 2000)),
        ("  if (i < n) y[i] = x[ids[i] * m];", Work(IDS + Y, 0)),
        ("  if (i < n) for (int j = i; j > 0; j >>= 1) y[i] += x[j];", None),
        ("  if (i < n) while (y[i] > 0) y[i] -= x[i];", None),
        ("  for (; i < n; i += blockDim.x) y[i] = x[i] * 2.0f;", None),
    ],
)
def test_bytes_and_operations(body: str, expected: Work | None) -> None:
    assert work(body) == expected
