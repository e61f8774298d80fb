"""Reduce a block by warp shuffles in registers instead of a tree in shared memory or an atomic of every thread."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_block_atomic import added_once
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_warp_reduce import shuffled
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    tree = shuffled(sight)
    if not isinstance(tree, Refusal):
        patch, found = tree
        arrays = ", ".join(dict.fromkeys(fold.array for one in found for fold in one.folds))
        steps = found[0].block.bit_length() - 1
        reason = f"The tree takes {steps} turns through shared memory, each with a barrier; shuffles need one barrier."
        return Rewritten(f"reduction of {arrays}", (patch.edits("warp shuffles"),), 0.05, reason)
    atomic = added_once(sight)
    if isinstance(atomic, Refusal):
        return tree if tree.line is not None else atomic
    patch, target = atomic
    reason = f"Every thread waits its turn to add to `{target}`; one addition a block is enough."
    return Rewritten(f"additions to {target}", (patch.edits("one atomic a block"),), 0.6, reason)


_BEFORE = """\
#include <cuda_runtime.h>

__global__ void sum_kernel(const float* x, float* partial, int n) {
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) {
        sum += x[i];
    }
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[blockIdx.x] = sdata[0];
    }
}

// workload: solve(x=randn(n), partial=out(1024), n=1<<20)
// workload: solve(x=randn(n), partial=out(1024), n=1000)
extern "C" void solve(const float* x, float* partial, int n) {
    sum_kernel<<<1024, 256>>>(x, partial, n);
}
"""

_AFTER = _BEFORE.replace(
    """\
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
""",
    """\
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (tid % 32 == 0) sdata[tid / 32] = sum;
    __syncthreads();
    if (tid < 8) {
        sum = sdata[tid];
        for (int offset = 4; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xff, sum, offset);
    }
""",
).replace("partial[blockIdx.x] = sdata[0]", "partial[blockIdx.x] = sum")

STRATEGY = cuda(
    "warp-reduce",
    "Reduce by warp shuffles",
    rewrite,
    family=Family.SPLIT_REDUCTION,
    why="Lanes of a warp can add each other's registers; a tree in shared memory makes the whole block wait in every turn.",
    doc="""\
Replaces a block's reduction as a tree in shared memory by warp shuffles: each warp folds its values in registers, stores one
of them, and after one barrier the first warp folds these. A block of 256 threads waits at one or two barriers instead of
nine. Sums, products, maxima and minima are known, with halving or doubling steps, several arrays in one tree, and several
trees in one kernel. Sums are added up in another order.

A kernel in which every thread adds to one place by `atomicAdd` gets the same folding, and one addition a block.

The blocks have to have one dimension and a power of two from 64 to 1024 threads, as a number in the file. It does not
apply where a thread may return ahead of the tree, where other elements of the array are used than the thread's own and
the first, or where what the atomic returns is used.
""",
    instruction="""\
Reduce within each warp by __shfl_down_sync, store one value a warp in shared memory, and let the first warp reduce these.
Every lane that the mask names must take part.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
