"""Make running sums with all threads of a block, where one thread makes them element by element."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_parallel_scan import shared_scan
from kernelwright.micro.rewrite.cuda_scan_below import scanned_below
from kernelwright.micro.rewrite.cuda_scan_several import chunked_scan, several_chunks
from kernelwright.micro.rewrite.cuda_scan_steps import shuffled_steps
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_CHUNKS = (4, 2, 8)


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = shared_scan(sight)
    if isinstance(found, Refusal):
        return _by_steps(sight, found)
    patches, scan = found
    who = "Each thread goes along a row of its own" if scan.row else "One thread goes along all elements"
    reason = f"{who} and waits for `{scan.sum.name}` in every turn."
    words = "a block a row" if scan.row else "one block"
    many = {count: f", {count} elements a thread" if count > 1 else "" for count, _ in patches}
    edits = tuple(patch.edits(words + many[count]) for count, patch in patches)
    return Rewritten(f"running {scan.sum.name}", edits, 0.6 if scan.row else 0.9, reason)


def _by_steps(sight: CudaSight, otherwise: Refusal) -> Rewritten | Refusal:
    """What becomes of a scan that a block makes already, or of sums that each of its threads makes alone."""
    found = shuffled_steps(sight)
    if not isinstance(found, Refusal):
        patch, steps = found
        count = steps.block.bit_length() - 1
        reason = f"The scan of {steps.array} takes {count} steps through shared memory, each with a barrier; shuffles need two."
        chunks = chunked_scan(sight)
        several = (
            [] if isinstance(chunks, Refusal) else [(each, several_chunks(sight, chunks, each)) for each in _CHUNKS]
        )
        variants = [patch.edits("warp shuffles"), *(one.edits(f"{each} chunks at once") for each, one in several)]
        return Rewritten(f"scan of {steps.array}", tuple(variants), 0.3, reason)
    alone = scanned_below(sight)
    if isinstance(alone, Refusal):
        inside = next((one for one in (found, alone) if one.line is not None), found)
        return inside if sight.names.shared else otherwise
    patch, below = alone
    reason = (
        f"Each thread reads up to {below.block} elements of {below.array} one after the other, those below its own."
    )
    return Rewritten(f"sums of {below.array}", (patch.edits("one scan of the block"),), 0.4, reason)


_BEFORE = """\
#include <cuda_runtime.h>

__global__ void cumsum_kernel(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = 0; j < columns; ++j) {
            sum += x[row * columns + j];
            y[row * columns + j] = sum;
        }
    }
}

// workload: cumsum(x=randn(rows*columns), y=out(rows*columns), rows=4096, columns=4096)
// workload: cumsum(x=randn(rows*columns), y=out(rows*columns), rows=37, columns=300)
extern "C" void cumsum(const float* x, float* y, int rows, int columns) {
    cumsum_kernel<<<(rows + 127) / 128, 128>>>(x, y, rows, columns);
}
"""

_AFTER = """\
#include <cuda_runtime.h>

__global__ void cumsum_kernel(const float* x, float* y, int rows, int columns) {
    __shared__ float warp_sums[4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = blockIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int start = 0; start < columns; start += 128) {
            const int j = start + threadIdx.x;
            const float own = j < columns ? x[row * columns + j] : 0.0f;
            float upto = own;
            for (int offset = 1; offset < 32; offset <<= 1) {
                const float other = __shfl_up_sync(0xffffffff, upto, offset);
                if (lane >= offset) upto += other;
            }
            if (lane == 31) warp_sums[warp] = upto;
            __syncthreads();
            float base = sum;
            for (int w = 0; w < 4; ++w) {
                if (w == warp) base = sum;
                sum += warp_sums[w];
            }
            upto += base;
            if (j < columns) y[row * columns + j] = upto;
            __syncthreads();
        }
    }
}

// workload: cumsum(x=randn(rows*columns), y=out(rows*columns), rows=4096, columns=4096)
// workload: cumsum(x=randn(rows*columns), y=out(rows*columns), rows=37, columns=300)
extern "C" void cumsum(const float* x, float* y, int rows, int columns) {
    cumsum_kernel<<<rows, 128>>>(x, y, rows, columns);
}
"""

STRATEGY = cuda(
    "parallel-scan",
    "Scan by a block",
    rewrite,
    family=Family.SPLIT_REDUCTION,
    why="A running sum looks as if each element waited for the one before it; a block can make it in a few steps.",
    doc="""\
Gives a running sum that one thread makes to a block: a kernel that is launched with one thread in all, as those that turn
counts into offsets are, or one that has a row for each thread, as a cumulative sum along rows is. The block takes as many
elements at once as it has threads. Lanes of a warp add up by `__shfl_up_sync`, the sums of the warps go through shared memory,
and the sum so far is carried on to the next elements. Sums are added up in another order.

Running products, maxima and minima are known too, sums with and without the turn's own element, sums that are used once more
behind the loop, and results that take the place of the elements. A kernel of one thread gets 1024. Variants take several
elements a thread in each turn, whose loads wait for memory together and which share the barriers.

A scan that a block makes in shared memory in steps of 1, 2, 4, … (Hillis and Steele), with one buffer or two, gets the same
shuffles and two barriers in the place of one or two a step. So do threads that each add up the elements of a shared
array below their own, as a compaction may to find its places. Where the block walks along a row, variants take 2, 4 or 8
chunks in each turn, whose loads are under way at once and which share the barriers.

The loop must count in steps of 1, add to one local in each turn, and store elements that no other turn reads. A recurrence such
as `s = a * s + x[i]` is refused, and so is a sum that decides what is added to it. Where an element is read behind the turn's
store, as in `out[i] = s; s += in[i];`, both pointers must be `__restrict__`.
""",
    instruction="""\
Give the running sum to a block: scan within each warp by __shfl_up_sync, pass the sums of warps through shared memory, and
carry the sum so far from one piece of the row to the next. Adapt the launch.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
