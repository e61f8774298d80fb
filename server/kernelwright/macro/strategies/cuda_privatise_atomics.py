"""Count in a table of each block's own, in shared memory, where all threads add to one small table by atomics."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.cuda_line_block import for_line_block
from kernelwright.micro.rewrite.cuda_private_bins import private_bins
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_stride import stridable, strided
from kernelwright.values import Edits, Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = for_line_block(sight, private_bins)
    if isinstance(found, Refusal):
        return found
    patch, bins = found
    alone = patch.edits(f"{bins.size} bins a block")
    loop = None if bins.in_loop else _strided(sight)
    gain = 0.1 if loop is None and not bins.in_loop else 0.6
    reason = (
        f"All blocks add to the {bins.size} elements of {bins.table} one after the other, in memory that they share."
    )
    return Rewritten(f"additions to {bins.table}", (alone,) if loop is None else (loop, alone), gain, reason)


def _strided(sight: CudaSight) -> Edits | None:
    """The same for threads that stride over the elements: a block then adds up more than it has bins."""
    found = stridable(sight)
    patch = found if isinstance(found, Refusal) else strided(sight, found, 1)
    if isinstance(patch, Refusal):
        return None
    private = private_bins(sight.rewritten(patch.text))
    if isinstance(private, Refusal):
        return None
    return difference(sight.source, private[0].text, f"{private[1].size} bins a block, whose threads stride")


_BEFORE = """\
#include <cuda_runtime.h>

__global__ void histogram_kernel(const float* x, int* counts, int n, int bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int bin = (int)(fabsf(x[i]) * 16.0f);
        if (bin < bins) atomicAdd(&counts[bin], 1);
    }
}

// workload: histogram(x=randn(n), counts=out(bins, dtype=int32), n=1 << 24, bins=64)
// workload: histogram(x=randn(n), counts=out(bins, dtype=int32), n=1999, bins=33)
extern "C" void histogram(const float* x, int* counts, int n, int bins) {
    cudaMemset(counts, 0, bins * sizeof(int));
    histogram_kernel<<<1024, 256>>>(x, counts, n, bins);
}
"""

_AFTER = """\
#include <cuda_runtime.h>

__global__ void histogram_kernel(const float* x, int* counts, int n, int bins) {
    __shared__ int block_counts[64];
    for (int b = threadIdx.x; b < 64; b += blockDim.x) block_counts[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int bin = (int)(fabsf(x[i]) * 16.0f);
        if (bin < bins) {
            if (static_cast<unsigned long long>(bin) < 64) {
                atomicAdd(&block_counts[bin], 1);
            } else {
                atomicAdd(&counts[bin], 1);
            }
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) {
        if (block_counts[b] != 0) atomicAdd(&counts[b], block_counts[b]);
    }
}

// workload: histogram(x=randn(n), counts=out(bins, dtype=int32), n=1 << 24, bins=64)
// workload: histogram(x=randn(n), counts=out(bins, dtype=int32), n=1999, bins=33)
extern "C" void histogram(const float* x, int* counts, int n, int bins) {
    cudaMemset(counts, 0, bins * sizeof(int));
    histogram_kernel<<<1024, 256>>>(x, counts, n, bins);
}
"""

STRATEGY = cuda(
    "privatise-atomics",
    "Count in shared memory",
    rewrite,
    family=Family.SHARED_MEMORY,
    why="Atomics on shared memory stay within a multiprocessor; those on memory of all blocks wait for one another.",
    doc="""\
Gives each block of a histogram, or of any kernel that adds to elements of a small table by `atomicAdd`, a table of its own in
shared memory: it is set to zero, the block counts in it, and at its end each element that is not zero is added to the whole
table, by one atomic each.

The table may hold `int`, `unsigned`, `unsigned long long`, `float` or `double`. Integers come to the same whatever the order;
sums of floats are added up in another order, which was open before. How many elements a block's table has follows from the
index where that has a limit, as a byte or `key & 63` has. Otherwise it is the number in the first workload line, and an index
beyond it goes to the whole table as before, so that tables of any size are right. Up to 48 KB are used.

It pays where a block adds more often than its table has elements. Where each thread takes one element, a first variant lets the
threads of fewer blocks stride over them, as `cuda.grid-stride` does.

It does not apply where what the atomic returns is used, where the kernel reads the table or uses shared memory already, where
all threads add to the same element (`cuda.warp-reduce`), or where a thread may return in the middle.

A kernel that its workload line launches is changed for blocks as the line has them, which it asks `blockDim` for.
""",
    instruction="""\
Let each block count in a table in shared memory: set it to zero, wait, add there, wait, and add each element that is not zero
to the table in global memory by one atomic.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
