"""What of a CUDA text belongs to PyTorch's C++ interface, and what is left without it."""

import pytest

from kernelwright.languages import support_of
from kernelwright.source.cuda import read
from kernelwright.source.cuda.extension import uses_pytorch, without_pytorch
from kernelwright.source.cuda.kernels import find_kernels
from kernelwright.values import Refusal, Workload

KERNEL = (
    "__global__ void k(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }\n"
)
LAUNCH = "k<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());"
FUNCTION = f"torch::Tensor f(torch::Tensor x) {{ auto y = torch::empty_like(x); {LAUNCH} return y; }}\n"


@pytest.mark.parametrize(
    "code",
    [
        "#include <torch/extension.h>\n",
        "#include <ATen/cuda/CUDAContext.h>\n",
        '#include "c10/cuda/CUDAStream.h"\n',
        FUNCTION,
        "std::vector<at::Tensor> f(at::Tensor x) { return {x}; }\n",
        "void f(float* x) { auto stream = at::cuda::getCurrentCUDAStream(); }\n",
        "void f(int n) { TORCH_CHECK(n > 0); }\n",
        "template <typename T>\nvoid f(const Tensor& x) { T* p = x.data_ptr<T>(); }\n",
        "torch::Tensor f(torch::Tensor x);\n",
        "using torch::Tensor;\n",
        "namespace py = pybind11;\n",
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def("f", &f);\n}\n',
        'TORCH_LIBRARY(mine, m) { m.def("f", f); }\n',
    ],
)
def test_what_goes(code: str) -> None:
    text = f"#include <torch/types.h>\n{KERNEL}{code}"
    left = without_pytorch(text)
    assert left.strip() == KERNEL.strip()
    assert [len(line) for line in left.split("\n")] == [len(line) for line in text.split("\n")]


@pytest.mark.parametrize(
    "code",
    [
        "#include <cuda_runtime.h>\n#include <vector>\n",
        "void f(float* x, int n) { k<<<1, 256>>>(x, x, n); }\n",
        "__device__ float f(float at) { return at; }\n",
        "__global__ void other(at::Half* x) { x[0] = at::Half(1); }\n",
        "#define CHECK(x) TORCH_CHECK(x)\n",
        "// torch::Tensor f(torch::Tensor x) { return x; }\n",
        "struct Tensors { float* x; };\n",
    ],
)
def test_what_stays(code: str) -> None:
    assert without_pytorch(KERNEL + code) == KERNEL + code


def test_what_calls_it_goes_with_it() -> None:
    text = f"{KERNEL}{FUNCTION}void g(void* x) {{ f(wrapped(x)); }}\nvoid h(void* x) {{ g(x); }}\nint one() {{ return 1; }}\n"
    file = read(text)
    assert [one.name for one in file.functions if uses_pytorch(text, one)] == ["f", "g", "h"]


def test_a_workload_line_calls_the_kernel_and_no_function_of_pytorch() -> None:
    cuda = support_of("cuda-cpp")
    text = f"// workload: f(randn(8))\n{KERNEL}{FUNCTION}"
    (kernel,) = find_kernels(text, ["f"])
    (problem,) = cuda.workload_problems(text)
    assert (kernel.entry, len(kernel.launches), problem.line) == ("k", 1, 0)
    assert "PyTorch's C++ interface" in problem.message
    assert isinstance(cuda.workload(text, "k"), Refusal)
    with_line = text.replace("f(randn(8))", "k<<<1, 256>>>(x=randn(n), y=out(n), n=8)")
    assert isinstance(cuda.workload(with_line, "k"), Workload)
    unit = cuda.unit(with_line, kernel)
    assert (unit.text, "torch" in unit.run) == (with_line, False)
