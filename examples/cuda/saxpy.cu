// y = a * x + y: one thread for each element.

#include <cuda_runtime.h>

__global__ void saxpy_kernel(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

// workload: saxpy(n=1 << 26, a=2.5, x=randn(n), y=inout(randn(n)))
// workload: saxpy(n=1003, a=-0.75, x=randn(n), y=inout(randn(n)))
extern "C" void saxpy(int n, float a, const float *x, float *y) {
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    saxpy_kernel<<<blocks, threads>>>(n, a, x, y);
}
