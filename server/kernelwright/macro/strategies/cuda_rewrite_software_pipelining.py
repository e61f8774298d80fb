"""Load the next tile of a CUDA kernel while the current one is computed on."""

from kernelwright.macro.rewrites import Chance, cuda_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.values import Refusal

_BARRIER = "__syncthreads"


def _look(observation: Observation, sight: CudaSight) -> Chance | Refusal:
    staged = [loop for loop in sight.names.loops if _stages(sight, loop)]
    if not staged:
        return Absent("No loop of the kernel fills shared memory from global memory between barriers.")
    loop = staged[0]
    if any(word in sight.content(sight.kernel.body) for word in ("cp.async", "__pipeline", "memcpy_async")):
        return Absent("The kernel copies into shared memory asynchronously already.")
    arrays = sorted({one.base for one in sight.accesses if one.space == "shared" and one.writes and loop in one.loops})
    return Chance(
        f"tiles of {', '.join(arrays)}",
        0.15,
        "In each turn all threads wait for their loads before any of them computes.",
    )


def _stages(sight: CudaSight, loop: Loop) -> bool:
    inside = [one for one in sight.accesses if loop in one.loops]
    loads = any(one.space == "global" and one.reads for one in inside)
    return (
        loads and any(one.space == "shared" and one.writes for one in inside) and _BARRIER in sight.content(loop.body)
    )


_BEFORE = """\
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[TILE][TILE], b[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < K; start += TILE) {
    int k = start + threadIdx.x, l = start + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < M && k < K ? A[(size_t)row * K + k] : 0.0f;
    b[threadIdx.y][threadIdx.x] = l < K && col < N ? B[(size_t)l * N + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[(size_t)row * N + col] = sum;
}

// workload: matmul(A=randn(M, K), B=randn(K, N), C=out(M, N), M=2048, N=2048, K=2048)
// workload: matmul(A=randn(M, K), B=randn(K, N), C=out(M, N), M=35, N=19, K=50)
extern "C" void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  matmul_kernel<<<grid, dim3(TILE, TILE)>>>(A, B, C, M, N, K);
}
"""

_AFTER = """\
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[2][TILE][TILE], b[2][TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  float next_a = row < M && threadIdx.x < K ? A[(size_t)row * K + threadIdx.x] : 0.0f;
  float next_b = threadIdx.y < K && col < N ? B[(size_t)threadIdx.y * N + col] : 0.0f;
  for (int start = 0; start < K; start += TILE) {
    int now = (start / TILE) & 1;
    a[now][threadIdx.y][threadIdx.x] = next_a;
    b[now][threadIdx.y][threadIdx.x] = next_b;
    __syncthreads();
    // The next tile is on its way while this one is multiplied. The other buffer was read before the barrier above.
    int k = start + TILE + threadIdx.x, l = start + TILE + threadIdx.y;
    next_a = row < M && k < K ? A[(size_t)row * K + k] : 0.0f;
    next_b = l < K && col < N ? B[(size_t)l * N + col] : 0.0f;
    for (int i = 0; i < TILE; i++) sum += a[now][threadIdx.y][i] * b[now][i][threadIdx.x];
  }
  if (row < M && col < N) C[(size_t)row * N + col] = sum;
}

// workload: matmul(A=randn(M, K), B=randn(K, N), C=out(M, N), M=2048, N=2048, K=2048)
// workload: matmul(A=randn(M, K), B=randn(K, N), C=out(M, N), M=35, N=19, K=50)
extern "C" void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  matmul_kernel<<<grid, dim3(TILE, TILE)>>>(A, B, C, M, N, K);
}
"""

STRATEGY = cuda_rewrite(
    "software-pipelining",
    "Load the next tile ahead",
    _look,
    family=Family.PIPELINING,
    why="A loop that loads a tile, waits, computes and waits again leaves memory idle half of the time.",
    doc="""\
Keeps the loads of the next tile under way while the current one is computed on: in registers with two buffers in shared
memory, or by asynchronous copies (cp.async, from compute capability 8.0 on), which need no registers.

It pays where too few warps share a multiprocessor to cover the latency of memory. It does not where they do, or where the
second buffer takes the shared memory that other blocks would use.

**Refused:** kernels without a loop that fills shared memory between barriers; kernels that copy asynchronously already.
""",
    instruction="""\
Have the loads of the next tile under way while the current one is computed on.
1. Give the tiles in shared memory a second buffer, and load the first tile ahead of the loop.
2. In each turn store what was loaded to the buffer of this turn, put one __syncthreads(), issue the loads of the next tile
   into registers, and compute on the buffer of this turn. The second barrier goes: the other buffer was last read before
   this one.
3. Where the device has compute capability 8.0 or more and both sides are aligned to 16 bytes, __pipeline_memcpy_async with
   __pipeline_commit and __pipeline_wait_prior(1) copies without registers; two to four stages.
4. Guard the loads of the tile behind the last one: they must not read out of bounds.
Pitfalls: without the second barrier a third buffer or the order above is needed, or a fast warp overwrites what a slow one
still reads. Masked elements must be 0 in both buffers. Asynchronous copies need 4, 8 or 16 aligned bytes. The loop may
turn zero times. Keep within 48 KiB of static shared memory.
It pays for loops of many turns that few warps run; it does not where a multiprocessor has enough warps to cover the latency.
Do not change the launcher's signature, what it writes, or the sizes that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
