// C = alpha * A @ B + beta * C in half precision, row-major, summed up in float: each thread computes one element of C.

#include <cuda_fp16.h>

__global__ void gemm_kernel(const half* A, const half* B, half* C, int M, int N, int K, float alpha, float beta) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;

    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);
    }
    C[row * N + col] = __float2half(alpha * sum + beta * __half2float(C[row * N + col]));
}

// workload: solve(A=randn(M, K, dtype=float16), B=randn(K, N, dtype=float16), C=inout(randn(M, N, dtype=float16)), M=1024, N=1024, K=1024, alpha=0.5, beta=2.0)
// workload: solve(A=randn(M, K, dtype=float16), B=randn(K, N, dtype=float16), C=inout(randn(M, N, dtype=float16)), M=61, N=45, K=77, alpha=1.5, beta=-1.0)
extern "C" void solve(const half* A, const half* B, half* C, int M, int N, int K, float alpha, float beta) {
    dim3 threadsPerBlock(16, 16);
    dim3 blocksPerGrid((N + threadsPerBlock.x - 1) / threadsPerBlock.x,
                       (M + threadsPerBlock.y - 1) / threadsPerBlock.y);
    gemm_kernel<<<blocksPerGrid, threadsPerBlock>>>(A, B, C, M, N, K, alpha, beta);
}
