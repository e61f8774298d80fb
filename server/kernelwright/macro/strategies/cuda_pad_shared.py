"""Widen arrays in shared memory by a column, so that the elements of a column lie in different banks."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_pad_shared import padded
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = padded(sight)
    if isinstance(found, Refusal):
        return found
    patch, arrays = found
    names = ", ".join(one.name for one in arrays)
    worst = max(arrays, key=lambda one: one.before)
    code = sight.content(worst.worst.node)
    reason = f"{worst.before} threads of a warp wait for one bank at `{code}`, {worst.after} with a column more."
    return Rewritten(names, (patch.edits(f"{names} padded"),), 0.2, reason)


_BEFORE = """\
#include <cuda_runtime.h>

#define TILE 32

__global__ void transpose_kernel(const float* input, float* output, int rows, int columns) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) {
        tile[threadIdx.y][threadIdx.x] = input[y * columns + x];
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < columns) {
        output[y * rows + x] = tile[threadIdx.x][threadIdx.y];
    }
}

// workload: solve(input=randn(rows*columns), output=out(rows*columns), rows=8192, columns=8192)
// workload: solve(input=randn(rows*columns), output=out(rows*columns), rows=33, columns=65)
extern "C" void solve(const float* input, float* output, int rows, int columns) {
    dim3 block(TILE, TILE);
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_kernel<<<grid, block>>>(input, output, rows, columns);
}
"""

STRATEGY = cuda(
    "pad-shared",
    "Pad shared memory",
    rewrite,
    family=Family.SHARED_MEMORY,
    why="Shared memory has 32 banks: threads that read a column of 32 words wide rows all wait for the same one.",
    doc="""\
Adds a column to arrays in shared memory that a warp walks down: `tile[32][32]` becomes `tile[32][32 + 1]`. An element's bank
is its word's number modulo 32. Elements of a column of 32 words wide rows are all in one bank, and a warp that reads them
takes 32 turns; with one word more, each is in the next bank.

It applies where the index of a row follows `threadIdx.x`, the sizes are numbers, and four threads or more would wait for one
bank. It does not where the array is reached by a pointer or a cast, which counts on its rows as they are, where another
column would not help, or where the arrays would need more than 48 KB.
""",
    instruction="""\
Widen the shared arrays whose columns a warp reads by one element, so that the elements of a column lie in different banks.
Change nothing else.""",
    example=Example(before=_BEFORE, after=_BEFORE.replace("tile[TILE][TILE];", "tile[TILE][TILE + 1];")),
)
