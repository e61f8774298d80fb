// LayerNorm over the last dimension: a block for each row, mean and variance by reductions in shared memory.

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA_CHECK(call)                                                                     \
    do {                                                                                     \
        cudaError_t status = (call);                                                         \
        if (status != cudaSuccess) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));  \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

__global__ void layer_norm_kernel(const float* x, const float* gamma, const float* beta, float* y, int dim, float eps) {
    extern __shared__ float scratch[];
    const int row = blockIdx.x;
    const int tid = threadIdx.x;

    float sum = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) sum += x[row * dim + i];
    scratch[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) scratch[tid] += scratch[tid + s];
        __syncthreads();
    }
    const float mean = scratch[0] / dim;
    __syncthreads();

    float squares = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) {
        float centred = x[row * dim + i] - mean;
        squares += centred * centred;
    }
    scratch[tid] = squares;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) scratch[tid] += scratch[tid + s];
        __syncthreads();
    }
    const float scale = rsqrtf(scratch[0] / dim + eps);

    for (int i = tid; i < dim; i += blockDim.x) {
        y[row * dim + i] = (x[row * dim + i] - mean) * scale * gamma[i] + beta[i];
    }
}

// workload: layer_norm(x=randn(rows, dim), gamma=randn(dim), beta=randn(dim), y=out(rows, dim), rows=16384, dim=4096, eps=1e-5)
// workload: layer_norm(x=randn(rows, dim), gamma=randn(dim), beta=randn(dim), y=out(rows, dim), rows=7, dim=501, eps=1e-5)
extern "C" void layer_norm(const float* x, const float* gamma, const float* beta, float* y, int rows, int dim, float eps) {
    int threads = 256;
    size_t shared_bytes = threads * sizeof(float);
    layer_norm_kernel<<<rows, threads, shared_bytes>>>(x, gamma, beta, y, dim, eps);
    CUDA_CHECK(cudaGetLastError());
}
