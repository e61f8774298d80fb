"""Give a loop over tiles a second buffer, so that the next tile is loaded while this one is used."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_double_buffer import double_buffered
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = double_buffered(sight)
    if isinstance(found, Refusal):
        return found
    tiles, variants = found
    names = " and ".join(dict.fromkeys(one.array for one in tiles.loads))
    reason = f"In every turn all threads wait for {names} to come from memory before any of them computes."
    return Rewritten(f"tiles {names}", tuple(patch.edits(how) for how, patch in variants), 0.02, reason)


_BEFORE = """\
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = col < N && k0 + ty < K ? B[(k0 + ty) * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) {
            sum += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = sum;
    }
}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=1024, N=512, K=768)
// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=37, N=65, K=19)
extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_kernel<<<grid, block>>>(A, B, C, M, N, K);
}
"""

_AFTER = """\
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[2][TILE][TILE];
    __shared__ float Bs[2][TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (0 < K) {
        As[0][ty][tx] = row < M && tx < K ? A[row * K + tx] : 0.0f;
        Bs[0][ty][tx] = col < N && ty < K ? B[(ty) * N + col] : 0.0f;
    }
    __syncthreads();
    int at = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        float next_As;
        float next_Bs;
        if (k0 + TILE < K) {
            next_As = row < M && k0 + TILE + tx < K ? A[row * K + k0 + TILE + tx] : 0.0f;
            next_Bs = col < N && k0 + TILE + ty < K ? B[(k0 + TILE + ty) * N + col] : 0.0f;
        }
        #pragma unroll
        for (int k = 0; k < TILE; ++k) {
            sum += As[at][ty][k] * Bs[at][k][tx];
        }
        at ^= 1;
        if (k0 + TILE < K) {
            As[at][ty][tx] = next_As;
            Bs[at][ty][tx] = next_Bs;
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = sum;
    }
}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=1024, N=512, K=768)
// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=37, N=65, K=19)
extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_kernel<<<grid, block>>>(A, B, C, M, N, K);
}
"""

STRATEGY = cuda(
    "double-buffer",
    "Double-buffer tiles",
    rewrite,
    family=Family.PIPELINING,
    why="With two buffers the next tile is on its way from memory while the block computes with this one.",
    doc="""\
Gives the tiles of a loop a second buffer in shared memory. The first tile is loaded ahead of the loop; every turn starts the
loads of the next tile, computes with this one, and puts the next one into the other buffer. Each turn has one barrier instead
of two, and the time that memory takes passes while the block computes.

Two variants are measured. One keeps the next tile in registers meanwhile, and works on every GPU. The other copies
asynchronously (`__pipeline_memcpy_async` of `<cuda_pipeline.h>`), without registers, on GPUs of compute capability 8.0 and
above, where each load is an element under a condition or zero. The emulator of CUDA knows no asynchronous copies, so this
variant is tried on a GPU alone.

It pays where few blocks fit a multiprocessor: with many, others compute while one waits. On an H200, products with one result
a thread gained 2 % at most.

The loop must begin with its loads, one statement each, with a barrier behind them and one at its end. It does not apply
where a load uses what the same turn has worked out, where the loop stores to memory or may end early, where a tile is used
outside of it, or where two buffers need more than 48 KB.
""",
    instruction="""\
Double-buffer the tiles: load the first one ahead of the loop, and start the loads of the next one before this one is used, in
registers or by asynchronous copies. One barrier a turn is enough.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
