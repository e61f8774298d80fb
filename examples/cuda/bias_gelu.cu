// y = gelu(x + bias) in half precision, with the tanh form of GELU; one element a thread.

#include <cuda_fp16.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float gelu(float x) {
    const float k = 0.7978845608f;  // sqrt(2 / pi)
    return 0.5f * x * (1.0f + tanhf(k * (x + 0.044715f * x * x * x)));
}

__global__ void bias_gelu_kernel(const __half* x, const __half* bias, __half* y, int total, int hidden) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < total) {
        int column = idx % hidden;
        float value = __half2float(x[idx]) + __half2float(bias[column]);
        y[idx] = __float2half(gelu(value));
    }
}

// workload: bias_gelu(x=randn(tokens, hidden, dtype=float16), bias=randn(hidden, dtype=float16), y=out(tokens, hidden, dtype=float16), tokens=8192, hidden=11008)
// workload: bias_gelu(x=randn(tokens, hidden, dtype=float16), bias=randn(hidden, dtype=float16), y=out(tokens, hidden, dtype=float16), tokens=13, hidden=77)
extern "C" void bias_gelu(const __half* x, const __half* bias, __half* y, int tokens, int hidden) {
    const int total = tokens * hidden;
    const int block = 256;
    bias_gelu_kernel<<<(total + block - 1) / block, block>>>(x, bias, y, total, hidden);
}
