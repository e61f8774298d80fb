import cupy
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}
"""
module = load_inline("scale", cuda_sources=[cuda_source], cpp_sources="")
kernel = cupy.RawKernel(
    r"""
extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }
""",
    "add",
)
after = "not CUDA"
