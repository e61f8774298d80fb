"""A file of a project: headers that its build finds, templates, and names that are macros in the emulator."""

from pathlib import Path

import pytest
import torch

from kernelwright.languages import support_of
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.cuda import LANGUAGE

HEADER = """\
#pragma once
#include <nccl.h>
#include "deeper/scale.h"
template <int N> __device__ float folded(float v) {
  __shared__ float all[N];
  all[threadIdx.x] = v;
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < N; i++) sum += all[i];
  return sum * SCALE;
}
__global__ void cleared(float* y) { y[threadIdx.x] = 0; }
inline void clear(float* y, int n) { cleared<<<1, n>>>(y); }
"""
TEXT = """\
#include "helpers.cuh"
#include <cub/cub.cuh>
// workload: fold<8, double><<<2, 8>>>(y=out(2, dtype=float64), x=randn(16), add=(1, 2))
template <int N, class T> __global__ void fold(T* y, const float* x, int2 add, const float* more = nullptr) {
  float sum = folded<N>(x[blockIdx.x * N + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = sum + add.x * add.y;
}
void folds(double* y, const float* x) {
  clear((float*)y, 4);
  dim3 gridDim(2), blockDim(8);
  fold<8><<<gridDim, blockDim>>>(y, x, make_int2(0, 0), NULL);
  cudaLaunchConfig_t how = {};
  how.gridDim = gridDim, how.blockDim = blockDim;
  cudaLaunchKernelEx(&how, fold<8, double>, y, x, make_int2(1, 2), (const float*)nullptr);
}
void sorted(float* x) { cub::sort(x); }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name, text in {"common/helpers.cuh": HEADER, "common/deeper/scale.h": "#define SCALE 2\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "kernels").mkdir()
    return tmp_path / "kernels" / "fold.cu"


def run_text(text: str, entry: str) -> str:
    support = support_of("cuda-cpp")
    (kernel,) = (one for one in support.kernels(text) if one.name == "fold")
    return support.unit(text, kernel).run if kernel.entry == entry else ""


def test_a_kernel_of_a_project_runs(file: Path) -> None:
    x = torch.randn(16)
    for entry, text in (("fold", TEXT), ("folds", TEXT.replace("workload: fold<8", "workload of fold<8"))):
        module = LANGUAGE.load(str(file), run_text(text, entry), "test")
        y = torch.zeros(2, dtype=torch.float64)
        if entry == "folds":
            module.folds(y, x)
        else:
            module.fold[(2,), (8,), 0, "8, double"](y, x, (1, 2), None)
            with pytest.raises(TypeError, match=r"add of fold is int2, so 2 numbers are given for it: \(1, 1\)"):
                module.fold[(2,), (8,), 0, "8, double"](y, x, 3, None)
        assert y.tolist() == pytest.approx((x.view(2, 8).sum(1).double() * 2 + 2).tolist(), abs=1e-4)
        LANGUAGE.unload(module)


def test_an_error_in_a_header_is_told_where_it_is_included(file: Path) -> None:
    helpers = file.parents[1] / "common" / "helpers.cuh"
    helpers.write_text(HEADER.replace("float sum = 0;", "float sum = 0"))
    with pytest.raises(JobFailed) as failed:
        LANGUAGE.load(str(file), run_text(TEXT, "fold"), "test")
    assert failed.value.failure.message.startswith(
        "The file does not compile at line 1: in helpers.cuh, line 9: expected"
    )


LATER = """\
#pragma once
__global__ void lanes(float* y) { y[threadIdx.x] = LANES * given(threadIdx.x) + WIDTH; }
"""
ALL = """\
#ifndef ALL
#define ALL
#include "parts/first.cuh"
__device__ inline float given(int i) { return 2.0f * i; }
#include "parts/later.cuh"
int left_out = 1 +
#endif
"""


def test_a_header_comes_behind_what_is_in_front_of_it_where_it_is_included(tmp_path: Path) -> None:
    header = tmp_path / "parts" / "later.cuh"
    header.parent.mkdir()
    for name, text in {"parts/first.cuh": "#include \"../width.h\"\nconst int LANES = 32;\n", "width.h": "#define WIDTH 8\n",
                       "all.cuh": ALL, "parts/later.cuh": LATER}.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    module, y = LANGUAGE.load(str(header), LATER, "test"), torch.zeros(4)
    module.lanes[(1,), (4,), 0](y)
    assert y.tolist() == [8.0, 72.0, 136.0, 200.0]
    LANGUAGE.unload(module)
    (tmp_path / "all.cuh").write_text(ALL.replace("first", "other"))
    with pytest.raises(JobFailed) as failed:
        LANGUAGE.load(str(header), LATER, "test")
    message = failed.value.failure.message
    assert message.startswith("The file does not compile at line 2"), message
    assert "'LANES' was not declared" in message


def test_a_header_that_is_not_here_is_left_out_where_nothing_of_it_is_used(tmp_path: Path) -> None:
    text = '#include <mpi.h>\n#include "of/others.hpp"\n__global__ void one(float* y) { y[threadIdx.x] = 1; }\n'
    module, y = LANGUAGE.load(str(tmp_path / "one.cu"), text, "test"), torch.zeros(4)
    module.one[(1,), (4,), 0](y)
    assert y.tolist() == [1.0] * 4
    assert [one.split(", ")[0] for one in LANGUAGE.caveats(module)] == [
        f"with an empty header in place of {name}" for name in ("mpi.h", "of/others.hpp")
    ]
    LANGUAGE.unload(module)
    with pytest.raises(JobFailed) as failed:
        LANGUAGE.load(str(tmp_path / "one.cu"), text.replace("= 1", "= ONE"), "test")
    message = failed.value.failure.message
    assert message.startswith("The file does not compile at line 1"), message
    assert "mpi.h" in message


def test_a_header_that_is_not_here_is_made_nowhere_else(tmp_path: Path) -> None:
    text = f'#include "{{}}"\n__global__ void one(float* y) {{{{ y[threadIdx.x] = 1; }}}}\n// {tmp_path}\n'
    (tmp_path / "inner").mkdir()
    for name in ("../above.h", "inner/../../above.h", f"{tmp_path}/above.h"):
        with pytest.raises(JobFailed, match=r"above\.h: No such file"):
            LANGUAGE.load(str(tmp_path / "inner" / "one.cu"), text.format(name), "test")
    assert [one.name for one in tmp_path.rglob("*")] == ["inner"]
