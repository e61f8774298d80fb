"""Coarsen blocks: let one do the work of several, so that loads of all of them are under way at once."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_coarsen_blocks import coarsenable, coarsened
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_COUNTS = (4, 8, 2)


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = coarsenable(sight)
    if isinstance(found, Refusal):
        return found
    variants = tuple(coarsened(sight, found, count).edits(f"{count} blocks in one") for count in _COUNTS)
    reason = (
        "Each thread has few loads under way until its block waits, and the barriers of a block are for few elements."
    )
    return Rewritten("blocks", variants, 0.25, reason)


_BEFORE = """\
// How many elements of each block are larger than a limit.
__global__ void count_larger(const float* x, int* counts, float limit) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > limit) atomicAdd(&found, 1);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = found;
}

// workload: solve(x=randn(128*blocks), counts=out(blocks, dtype=int32), limit=0.5, blocks=1 << 18)
// workload: solve(x=randn(128*blocks), counts=out(blocks, dtype=int32), limit=0.5, blocks=13)
extern "C" void solve(const float* x, int* counts, float limit, int blocks) {
    count_larger<<<blocks, 128>>>(x, counts, limit);
}
"""

_AFTER = """\
// How many elements of each block are larger than a limit.
__global__ void count_larger(const float* x, int* counts, float limit, unsigned int block_count) {
    const unsigned int first_block = blockIdx.x * 4;
    __shared__ int found[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (first_block + r >= block_count) break;
        if (threadIdx.x == 0) found[r] = 0;
    }
    __syncthreads();
    int i[4];
    bool asked[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (first_block + r >= block_count) break;
        i[r] = (first_block + r) * blockDim.x + threadIdx.x;
        asked[r] = x[i[r]] > limit;
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (first_block + r >= block_count) break;
        if (asked[r]) atomicAdd(&found[r], 1);
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
        if (first_block + r >= block_count) break;
        if (threadIdx.x == 0) counts[(first_block + r)] = found[r];
    }
}

// workload: solve(x=randn(128*blocks), counts=out(blocks, dtype=int32), limit=0.5, blocks=1 << 18)
// workload: solve(x=randn(128*blocks), counts=out(blocks, dtype=int32), limit=0.5, blocks=13)
extern "C" void solve(const float* x, int* counts, float limit, int blocks) {
    count_larger<<<(blocks + 3) / 4, 128>>>(x, counts, limit, blocks);
}
"""

STRATEGY = cuda(
    "coarsen-blocks",
    "Coarsen blocks",
    rewrite,
    family=Family.LAUNCH,
    why="Short blocks load an element a thread and wait; one that does the work of four has four loads under way.",
    doc="""\
Gives a block the work of two, four or eight that follow each other: each statement of the kernel is done for all of them, in
an unrolled loop, between the same barriers. Loads of all blocks are under way before the first of them is used, there are
fewer blocks to start, and threads wait less often. Locals become small arrays, and so does what a block has in shared memory.
The kernel learns in one more argument how many blocks there were, so that the last block does no more than its part. What is
computed, and in which order, stays as it was.

It pays where blocks are many and short, and their threads wait for each other: counts and scans of a block, compactions,
partial sums. Without barriers, other strategies give a thread more elements.

The launch must have one dimension, with a number of blocks that depends on sizes, and be the only one of the kernel. Barriers
must stand outside of loops and conditions, and loads outside of loops. Kernels in which a block waits for another one, with
returns, local arrays, shared memory whose size comes from the launch, or more than 4 KB of it are refused.
""",
    instruction="""\
Let each block do the work of four neighbouring ones between the same barriers: make arrays of its locals and of its shared
memory, do each statement for all four in an unrolled loop, and divide the grid by four, with a guard for the last block.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
