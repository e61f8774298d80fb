// y = A @ x for a row-major matrix: one thread for each row.

#include <cuda_runtime.h>

#define BLOCK_SIZE 128

__global__ void matvec_kernel(const float* A, const float* x, float* y, const int M, const int K) {
    const int row = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row < M) {
        float dot = 0.f;
        for (int k = 0; k < K; k++)
            dot += A[row * K + k] * x[k];
        y[row] = dot;
    }
}

// workload: matvec(A=randn(M, K), x=randn(K), y=out(M), M=16384, K=8192)
// workload: matvec(A=randn(M, K), x=randn(K), y=out(M), M=301, K=97)
extern "C" void matvec(const float* A, const float* x, float* y, int M, int K) {
    matvec_kernel<<<(M + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(A, x, y, M, K);
}
