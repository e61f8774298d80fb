"""CUDA C++ compiled with load_inline."""
# workload: f(randn(1000, 1000))
# expected: passed
# marks: gpu, promises-kernel
# timeout: 300

# %% baseline
import torch


def f(x):
    return torch.relu(x) * 2

# %% candidate
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void kernel(const float* x, float* out, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = isnan(x[i]) ? x[i] : fmaxf(x[i], 0.f) * 2;
}
torch::Tensor run(torch::Tensor x) {
    x = x.contiguous();
    auto out = torch::empty_like(x);
    long n = x.numel();
    if (n)
        kernel<<<(n + 255) / 256, 256, 0, c10::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
"""
module = load_inline("relu_twice", "torch::Tensor run(torch::Tensor x);", source, functions=["run"])


def f(x):
    return module.run(x)
