"""Stage what the threads of a block read together in shared memory, a tile at a time."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_line_block import for_line_block
from kernelwright.micro.rewrite.cuda_shared_tile import tiled
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_transpose import transposed
from kernelwright.micro.rewrite.cuda_transpose_rows import Shape, row_tiled
from kernelwright.values import Refusal

_SHAPES = (Shape(32, 8), Shape(64, 4), Shape(32, 4))


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    copy = _copied(sight)
    if not isinstance(copy, Refusal):
        return copy
    found = for_line_block(sight, tiled)
    if isinstance(found, Refusal):
        return found if sight.names.loops else copy
    patch, tiles = found
    names = " and ".join(one.access.base for one in tiles)
    reason = f"Every element of {names} is read again by each thread of a row or column of the block."
    return Rewritten(f"tiles of {names}", (patch.edits(f"tiles of {names}"),), 0.4, reason)


def _copied(sight: CudaSight) -> Rewritten | Refusal:
    """Tiles of a transpose, of several shapes."""
    whole = for_line_block(sight, transposed)
    tried = [*((str(shape), row_tiled(sight, shape)) for shape in _SHAPES), ("tile as large as the block", whole)]
    found = [(summary, one) for summary, one in tried if not isinstance(one, Refusal)]
    if not found:
        assert isinstance(whole, Refusal)
        return whole
    base = found[0][1][1].base
    reason = f"Of the load of {base} and the store, one is scattered: its neighbours are a row apart."
    return Rewritten(f"tile of {base}", tuple(patch.edits(summary) for summary, (patch, _) in found), 0.5, reason)


_BEFORE = """\
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            sum += A[row * K + k] * B[k * N + col];
        }
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

_AFTER = _BEFORE.replace(
    """\
    int row = blockIdx.y""",
    """\
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y""",
).replace(
    """\
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            sum += A[row * K + k] * B[k * N + col];
        }
""",
    """\
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
""",
)

STRATEGY = cuda(
    "shared-tile",
    "Tile through shared memory",
    rewrite,
    family=Family.SHARED_MEMORY,
    why="Threads of a block that read the same elements can load each of them once and share it.",
    doc="""\
Cuts the inner loop of a kernel like a matrix product into tiles: the threads of a block load a tile of each operand
together, wait, compute from shared memory, and go on with the next tile. An element comes from memory once a block and not
once a thread, which is 16 times less for blocks of 16 x 16.

The loop may be any that reads elements by its own variable and one thread axis each, however their indices are spelled:
products with either operand transposed, distances, sums of several products. What is beyond the end of a matrix is filled
with zeros where the loop adds products, and is left out of the loop otherwise. The guard moves behind the loop, since every
thread of a block has to reach the barriers. Where a warp's loads lie together only with the two axes changed, the threads
load the tile that way, and a column of padding keeps its reads out of each other's banks.

A kernel that copies one element a thread with rows and columns changed gets a padded tile as well: its rows are read in one
direction and written in the other, so that neither is scattered. The tile has 32 or 64 elements a side; in blocks of fewer
rows than that, each thread copies several elements, whose loads are under way at once. A tile as large as the block is a
variant.

A kernel that its workload line launches has its tiles for blocks as the line has them, and asks `blockDim` for these; blocks of
other sizes, with which other files may launch it, go the way that they went.

Other than for such a copy, it needs square blocks of 8, 16 or 32 threads a side, whose size is a number in the file or its
line, and one loop that counts from 0. It does not apply where the loop branches, where the number of turns differs within a
block, or where the kernel uses shared memory already.
""",
    instruction="""\
Stage the operands of the inner loop through tiles in shared memory, as large as the block, with guards for sizes that are
no multiple of the tile. Every thread must reach the barriers.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
