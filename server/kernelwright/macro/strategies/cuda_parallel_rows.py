"""Share the work of a row among the lanes of a warp, or the threads of a block, where one thread does it all."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_parallel_rows import shared_rows
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = shared_rows(sight)
    if isinstance(found, Refusal):
        return found
    work, variants = found
    many = "a loop" if len(work.loops) == 1 else f"{len(work.loops)} loops"
    reason = f"Each thread walks along a row of its own in {many}, so neighbouring threads read a row apart."
    return Rewritten(f"rows by {work.row}", tuple(patch.edits(str(team)) for team, patch in variants), 0.7, reason)


_BEFORE = """\
#include <cuda_runtime.h>
#include <math.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float largest = -INFINITY;
        for (int j = 0; j < columns; ++j) {
            largest = fmaxf(largest, x[row * columns + j]);
        }
        float sum = 0.0f;
        for (int j = 0; j < columns; ++j) {
            sum += expf(x[row * columns + j] - largest);
        }
        for (int j = 0; j < columns; ++j) {
            y[row * columns + j] = expf(x[row * columns + j] - largest) / sum;
        }
    }
}

// workload: solve(x=randn(rows*columns), y=out(rows*columns), rows=8192, columns=512)
// workload: solve(x=randn(rows*columns), y=out(rows*columns), rows=37, columns=100)
extern "C" void solve(const float* x, float* y, int rows, int columns) {
    int threads = 256;
    int blocks = (rows + threads - 1) / threads;
    softmax_kernel<<<blocks, threads>>>(x, y, rows, columns);
}
"""

_AFTER = """\
#include <cuda_runtime.h>
#include <math.h>

__global__ void softmax_kernel(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        float largest = -INFINITY;
        for (int j = lane; j < columns; j += 32) {
            largest = fmaxf(largest, x[row * columns + j]);
        }
        for (int offset = 16; offset > 0; offset >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
        float sum = 0.0f;
        for (int j = lane; j < columns; j += 32) {
            sum += expf(x[row * columns + j] - largest);
        }
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        for (int j = lane; j < columns; j += 32) {
            y[row * columns + j] = expf(x[row * columns + j] - largest) / sum;
        }
    }
}

// workload: solve(x=randn(rows*columns), y=out(rows*columns), rows=8192, columns=512)
// workload: solve(x=randn(rows*columns), y=out(rows*columns), rows=37, columns=100)
extern "C" void solve(const float* x, float* y, int rows, int columns) {
    int threads = 256;
    int blocks = (rows + 7) / 8;
    softmax_kernel<<<blocks, threads>>>(x, y, rows, columns);
}
"""

STRATEGY = cuda(
    "parallel-rows",
    "Share rows among threads",
    rewrite,
    family=Family.SPLIT_REDUCTION,
    why="Threads that walk along rows of their own touch a line each at every step; lanes that share a row touch one together.",
    doc="""\
Gives each row of a softmax, a normalisation, a sum over rows or a product of matrix and vector to a warp, or to a block,
where one thread does it alone. Lane 0 takes elements 0, 32, 64, …, lane 1 takes 1, 33, 65, …, so that a warp reads along the
row. A row may also be a stretch that begins where an array says, as in a sparse matrix. What a loop folds (sums, products,
maxima, minima, the first place of one) is folded across the lanes by shuffles afterwards. There are more threads, too: 8192
rows are 32 blocks of one thread a row, and 1024 of one warp a row. Sums are added up in another order.

Two variants are measured: a warp a row, and a block a row, which comes first where rows are long and few. Single stores such
as `out[row] = sum` are left to the first thread of a row, and a barrier stands behind stores of which other threads may read.
The launch gets a grid for as many rows as before.

A loop must count in steps of 1, end early nowhere, fold each local in one way that begins at nothing, and store only
elements that no other turn reads. A running maximum with a rescaled sum, the last place of a maximum, or a recurrence follow
from one turn to the next and are refused, as are kernels that read along columns, where neighbouring threads read neighbours
already.
""",
    instruction="""\
Give each row to a warp or a block: let the lanes take every 32nd element, fold their partial results by __shfl_xor_sync, store
single results from one lane, and adapt the grid at the launch.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
