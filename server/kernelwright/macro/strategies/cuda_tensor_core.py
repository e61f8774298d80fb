"""Compute a matrix product of 16-bit operands on tensor cores, fed from double-buffered tiles."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_tensor_core import on_tensor_cores
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = on_tensor_cores(sight)
    if isinstance(found, Refusal):
        return found
    product, variants = found
    names = f"{product.rows.access.base} and {product.columns.access.base}"
    reason = (
        "Tensor cores multiply 16-bit operands some fifteen times as fast as other units, and sum them up in float."
    )
    edits = tuple(difference(sight.source, text, str(shape)) for shape, text in variants)
    return Rewritten(f"product of {names}", edits, 0.9, reason)


_BEFORE = """\
#include <cuda_fp16.h>

__global__ void matmul_kernel(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);
        }
        C[row * N + col] = __float2half(sum);
    }
}

// workload: solve(A=randn(M*K, dtype=float16), B=randn(K*N, dtype=float16), C=out(M*N, dtype=float16), M=4096, N=4096, K=4096)
// workload: solve(A=randn(M*K, dtype=float16), B=randn(K*N, dtype=float16), C=out(M*N, dtype=float16), M=37, N=65, K=77)
extern "C" void solve(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((N + 15) / 16, (M + 15) / 16);
    matmul_kernel<<<grid, block>>>(A, B, C, M, N, K);
}
"""

_AFTER = """\
#include <cuda_fp16.h>
#include <mma.h>

__global__ void __launch_bounds__(128) matmul_kernel(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    using namespace nvcuda;
    constexpr int BM = 128, BN = 128, BK = 32, WM = 64, WN = 64;  // WM x WN results a warp
    constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
    constexpr int LOADS_A = BM * BK / 8 / THREADS, LOADS_B = BK * BN / 8 / THREADS;
    __shared__ __align__(32) __half As[2][BM][BK + 8];
    __shared__ __align__(32) __half Bs[2][BK][BN + 8];
    __shared__ __align__(32) float results[THREADS / 32][16][16];
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int row0 = blockIdx.y * BM;
    const int col0 = blockIdx.x * BN;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;
    const bool a_aligned = reinterpret_cast<size_t>(A) % 16 == 0 && K % 8 == 0;
    const bool b_aligned = reinterpret_cast<size_t>(B) % 16 == 0 && N % 8 == 0;
    __align__(16) __half a_next[LOADS_A][8], b_next[LOADS_B][8];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[WM / 16][WN / 16];
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) wmma::fill_fragment(acc[i][j], 0.0f);
    }

    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < LOADS_A; ++i) {
            const int row = row0 + (tid + i * THREADS) / (BK / 8);
            const int k = k0 + (tid + i * THREADS) % (BK / 8) * 8;
            if (a_aligned) {
                const bool inside = row < M && k < K;
                *reinterpret_cast<uint4*>(a_next[i]) = inside ? *reinterpret_cast<const uint4*>(&A[row * K + k]) : uint4{};
            } else {
#pragma unroll
                for (int j = 0; j < 8; ++j) a_next[i][j] = row < M && k + j < K ? A[row * K + k + j] : __float2half(0.0f);
            }
        }
#pragma unroll
        for (int i = 0; i < LOADS_B; ++i) {
            const int k = k0 + (tid + i * THREADS) / (BN / 8);
            const int col = col0 + (tid + i * THREADS) % (BN / 8) * 8;
            if (b_aligned) {
                const bool inside = col < N && k < K;
                *reinterpret_cast<uint4*>(b_next[i]) = inside ? *reinterpret_cast<const uint4*>(&B[k * N + col]) : uint4{};
            } else {
#pragma unroll
                for (int j = 0; j < 8; ++j) b_next[i][j] = col + j < N && k < K ? B[k * N + col + j] : __float2half(0.0f);
            }
        }
    };
    auto stage = [&](int at) {
#pragma unroll
        for (int i = 0; i < LOADS_A; ++i) {
            const int m = (tid + i * THREADS) / (BK / 8), k = (tid + i * THREADS) % (BK / 8) * 8;
            *reinterpret_cast<uint4*>(&As[at][m][k]) = *reinterpret_cast<uint4*>(a_next[i]);
        }
#pragma unroll
        for (int i = 0; i < LOADS_B; ++i) {
            const int k = (tid + i * THREADS) / (BN / 8), n = (tid + i * THREADS) % (BN / 8) * 8;
            *reinterpret_cast<uint4*>(&Bs[at][k][n]) = *reinterpret_cast<uint4*>(b_next[i]);
        }
    };

    fetch(0);
    stage(0);
    __syncthreads();
    int at = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        if (k0 + BK < K) fetch(k0 + BK);
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[WM / 16];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[WN / 16];
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) wmma::load_matrix_sync(a[i], &As[at][warp_row + i * 16][k], BK + 8);
#pragma unroll
            for (int j = 0; j < WN / 16; ++j) wmma::load_matrix_sync(b[j], &Bs[at][k][warp_col + j * 16], BN + 8);
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
                for (int j = 0; j < WN / 16; ++j) wmma::mma_sync(acc[i][j], a[i], b[j], acc[i][j]);
            }
        }
        at ^= 1;
        if (k0 + BK < K) stage(at);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
            wmma::store_matrix_sync(&results[warp][0][0], acc[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            for (int e = lane; e < 256; e += 32) {
                const int row = row0 + warp_row + i * 16 + e / 16;
                const int col = col0 + warp_col + j * 16 + e % 16;
                if (row < M && col < N) C[row * N + col] = __float2half(results[warp][e / 16][e % 16]);
            }
            __syncwarp();
        }
    }
}

// workload: solve(A=randn(M*K, dtype=float16), B=randn(K*N, dtype=float16), C=out(M*N, dtype=float16), M=4096, N=4096, K=4096)
// workload: solve(A=randn(M*K, dtype=float16), B=randn(K*N, dtype=float16), C=out(M*N, dtype=float16), M=37, N=65, K=77)
extern "C" void solve(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    dim3 block(128);
    dim3 grid((N + 127) / 128, (M + 127) / 128);
    matmul_kernel<<<grid, block>>>(A, B, C, M, N, K);
}
"""

STRATEGY = cuda(
    "tensor-core",
    "Compute a matrix product on tensor cores",
    rewrite,
    family=Family.TENSOR_CORE,
    why="Tensor cores multiply 16-bit operands many times as fast as other units do, and sum up in float.",
    doc="""\
Writes a matrix product of one result a thread anew for tensor cores: a block computes a tile of 64 x 64 to 128 x 128 results,
each warp a part of it in fragments of `nvcuda::wmma` (`<mma.h>`), summed up in float. Tiles of the operands go through two
buffers in shared memory as they lie in memory, so that the next one is loaded while this one is used. Memory is read eight
numbers at a time where the operand is aligned and its rows are multiples of eight long, which is looked at when the kernel
runs, and one at a time otherwise. What lies beyond the edges is zero, so every size works; a guard says which results there
are.

The product may be a plain loop or one through tiles in shared memory, of `half` or `__nv_bfloat16`, with either operand
transposed, with rows along either axis of the grid. The sum may be kept in float or in the type of the operands; it is kept
in float from then on. What is done with it (scaling, bias, activation, `beta * C`, conversion) stays as it is written. The
launch gets the new block, and a grid for as many rows and columns as before.

Tensor cores cut off what they add instead of rounding it. Where results are stored as float, the sums of each tile are
therefore added up outside of them: at 4096 x 4096 x 4096 that leaves a quarter of the plain loop's error or less, where they
alone have up to 28 times as much. Where results are stored in 16 bits it would make no difference.

Three to five shapes are measured, the one first that the workload's sizes speak for. On an H200 the best one reaches 275
TFLOP/s at that size with results of half and 190 with results of float, where the plain loop reaches 4.4; with sides that are
no multiples of eight 121 and 89.

It does not apply to operands of float: tensor cores would round them to TF32, which keeps 10 bits; `cuda.register-block` is
for those. Nor where the GPU has no tensor cores for the type (compute capability 7.0, for bfloat16 8.0), where a side of the
product is shorter than 16, or where the kernel is not one of those that `cuda.register-block` reads.
""",
    instruction="""\
Compute the product on tensor cores with `nvcuda::wmma`: tiles of both operands in shared memory, double buffered, loaded as
uint4 where aligned and filled up with zeros beyond the edges; fragments of 16 x 16 x 16, summed up in float; results through
shared memory, so that each is stored under the kernel's own guard. Keep what is done with each sum, and adapt block and grid
at the launch.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
