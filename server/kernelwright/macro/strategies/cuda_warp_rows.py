"""Give rows that threads of a block take one by one to its warps, and what thread 0 does alone to a warp or the block."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_line_block import beside_baseline, with_line_block
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_warp_rows import warp_rows
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = warp_rows(with_line_block(sight))
    if isinstance(found, Refusal):
        return found
    variants, parts = found
    what = " and ".join(dict.fromkeys(str(one) for one in parts))
    reason = f"A thread goes along {what} alone, where the lanes of a warp could share it."
    return Rewritten(
        what, tuple(beside_baseline(sight, patch).edits(summary) for summary, patch in variants), 0.4, reason
    )


_BEFORE = """\
#include <cuda_runtime.h>
#include <math.h>

__global__ void weights_kernel(const float* q, const float* k, float* w, float* sums, int length, int dim) {
    const float* rows = k + blockIdx.x * length * dim;
    float* own = w + blockIdx.x * length;
    for (int t = threadIdx.x; t < length; t += blockDim.x) {
        float dot = 0.0f;
        for (int d = 0; d < dim; ++d) {
            dot += q[blockIdx.x * dim + d] * rows[t * dim + d];
        }
        own[t] = expf(0.1f * dot);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int t = 0; t < length; ++t) total += own[t];
        sums[blockIdx.x] = total;
    }
}

// workload: solve(q=randn(h*dim), k=randn(h*length*dim), w=out(h*length), sums=out(h), length=2048, h=256, dim=128)
// workload: solve(q=randn(h*dim), k=randn(h*length*dim), w=out(h*length), sums=out(h), length=91, h=3, dim=40)
extern "C" void solve(const float* q, const float* k, float* w, float* sums, int length, int h, int dim) {
    weights_kernel<<<h, 128>>>(q, k, w, sums, length, dim);
}
"""

_AFTER = (
    _BEFORE.replace("t = threadIdx.x; t < length; t += blockDim.x", "t = threadIdx.x / 32; t < length; t += 4")
    .replace("d = 0; d < dim; ++d", "d = threadIdx.x % 32; d < dim; d += 32")
    .replace(
        """\
        }
        own[t] =""",
        """\
        }
        for (int offset = 16; offset > 0; offset >>= 1) dot += __shfl_xor_sync(0xffffffff, dot, offset);
        if (threadIdx.x % 32 == 0) own[t] =""",
    )
    .replace("if (threadIdx.x == 0) {", "if (threadIdx.x < 32) {")
    .replace(
        """\
        for (int t = 0; t < length; ++t) total += own[t];
        sums""",
        """\
        for (int t = threadIdx.x; t < length; t += 32) total += own[t];
        for (int offset = 16; offset > 0; offset >>= 1) total += __shfl_xor_sync(0xffffffff, total, offset);
        if (threadIdx.x == 0) sums""",
    )
)

STRATEGY = cuda(
    "warp-rows",
    "Share rows among warps",
    rewrite,
    family=Family.SPLIT_REDUCTION,
    why="Lanes that share a row read it together and fold it by shuffles; a thread alone reads far from its neighbours.",
    doc="""\
Looks inside of a block for work that a thread does alone. A loop in which each thread takes rows of its own, as
`for (t = threadIdx.x; t < n; t += blockDim.x)` around a dot product with row `t`, gives a row to a warp: its lanes read
neighbouring elements, fold what they have come to by shuffles, and lane 0 stores. And loops that fold inside of
`if (threadIdx.x == 0)`, as the maximum and the sum of a softmax, are shared among the lanes of the first warp, or, as a
variant, among the threads of the block. Sums are added up in another order.

All such places of a kernel are changed together. Where the threads of the block do nothing but take shares of loops, blocks
of up to 1024 threads are variants, too: a block of few threads has few loads under way. In these, loops in which each thread
folds a column of its own may give 32 columns to the lanes of each warp and share out the rows among the warps, as where a
softmax weighs fewer values than there are threads.

Loops along a row must be of the kind that `cuda.parallel-rows` knows, which does the same for kernels of one thread a row. What
is stored must stand ahead of a barrier where the block uses it again, no thread may have returned, and no local of the thread
may outlive a row. The blocks must have several whole warps in one dimension.

A kernel that its workload line launches is changed for blocks as the line has them, which it asks `blockDim` for.
""",
    instruction="""\
Give each row to a warp: its lanes take every 32nd element, fold by __shfl_xor_sync, and lane 0 stores. Let the first warp do
what thread 0 does alone. Keep the barriers.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
