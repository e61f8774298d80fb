// C = A @ B, row-major: a block loads tiles of A and B into shared memory, and each thread computes one element of C.

#include <cuda_runtime.h>

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

template <int TILE>
__global__ void matmul_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;

    for (int t = 0; t < CEIL_DIV(K, TILE); ++t) {
        int a_col = t * TILE + tx;
        int b_row = t * TILE + ty;
        As[ty][tx] = (row < M && a_col < K) ? A[row * K + a_col] : 0.0f;
        Bs[ty][tx] = (b_row < K && col < N) ? B[b_row * N + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }

    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}

// workload: matmul(a=randn(m, k), b=randn(k, n), c=out(m, n), m=4096, n=4096, k=4096)
// workload: matmul(a=randn(m, k), b=randn(k, n), c=out(m, n), m=83, n=70, k=101)
extern "C" void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    const int tile = 32;
    dim3 block(tile, tile);
    dim3 grid(CEIL_DIV(n, tile), CEIL_DIV(m, tile));
    matmul_tiled<tile><<<grid, block>>>(a, b, c, m, n, k);
}
