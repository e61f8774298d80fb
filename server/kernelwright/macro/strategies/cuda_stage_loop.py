"""Stage what all threads read in a loop in shared memory, a tile at a time."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_line_block import beside_baseline, with_line_block
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_stage_loop import staged
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = staged(with_line_block(sight))
    if isinstance(found, Refusal):
        return found
    loop, variants = found
    patches = [(f"tiles of {loop.block}, {turns} turns at once", patch) for turns, patch in variants]
    edits = tuple(beside_baseline(sight, patch).edits(summary) for summary, patch in patches)
    reason = f"All threads read the same elements of {' and '.join(loop.bases)}, one after another."
    return Rewritten(f"loop over {loop.loop.variable}", edits, 0.25, reason)


_BEFORE = """\
struct Charge {
    float x, y, amount;
};

__global__ void field_kernel(const Charge* charges, const float* x, float* field, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float at = x[i], sum = 0.0f;
    for (int j = 0; j < count; ++j) {
        float dx = charges[j].x - at, dy = charges[j].y;
        sum += charges[j].amount / (1.0f + dx * dx + dy * dy);
    }
    field[i] = sum;
}

// workload: field(charges=randn(count*3), x=randn(n), field=out(n), count=16384, n=65536)
// workload: field(charges=randn(count*3), x=randn(n), field=out(n), count=333, n=131)
extern "C" void field(const float* charges, const float* x, float* field, int count, int n) {
    field_kernel<<<(n + 127) / 128, 128>>>(reinterpret_cast<const Charge*>(charges), x, field, count, n);
}
"""

_AFTER = """\
struct Charge {
    float x, y, amount;
};

__global__ void field_kernel(const Charge* charges, const float* x, float* field, int count, int n) {
    __shared__ __align__(16) Charge charges_tile[128];
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (n <= 0) return;
    const int i = min(thread, n - 1);
    float at = x[i], sum = 0.0f;
    for (int j0 = 0; j0 < count; j0 += 128) {
        const int turns = min(128, count - j0);
        if ((int)threadIdx.x < turns) {
            charges_tile[threadIdx.x] = charges[j0 + (int)threadIdx.x];
        }
        __syncthreads();
#pragma unroll 8
        for (int turn = 0; turn < turns; ++turn) {
            float dx = charges_tile[turn].x - at, dy = charges_tile[turn].y;
            sum += charges_tile[turn].amount / (1.0f + dx * dx + dy * dy);
        }
        __syncthreads();
    }
    if (thread < n) {
        field[i] = sum;
    }
}

// workload: field(charges=randn(count*3), x=randn(n), field=out(n), count=16384, n=65536)
// workload: field(charges=randn(count*3), x=randn(n), field=out(n), count=333, n=131)
extern "C" void field(const float* charges, const float* x, float* field, int count, int n) {
    field_kernel<<<(n + 127) / 128, 128>>>(reinterpret_cast<const Charge*>(charges), x, field, count, n);
}
"""

STRATEGY = cuda(
    "stage-loop",
    "Stage a loop's elements in shared memory",
    rewrite,
    family=Family.SHARED_MEMORY,
    why="The threads of a block load a tile of elements at once and read them from shared memory, which answers sooner.",
    doc="""\
Cuts a loop in which every thread reads the same elements, one after another, into tiles as long as a block: each thread loads
one element, the block waits, and goes through the tile. Structs are read whole. Sums over all pairs of bodies are of this form,
as are distances to all points of a list.

A load from memory that is the same for a whole warp is no more than one from a cache, but it takes its time, and a struct takes
one for each field. From shared memory a field of four numbers comes at once, and turns that are unrolled do not wait for each
other. On an H200 forces between 65536 bodies take a third less time, and half where they are bound by little else.

The blocks must be whole warps in one dimension, with a size that the file or its line says; one guard has to say how many
threads there are, as an `int`. Threads beyond the last one help to load, and compute the last result again, which only its own
thread stores. The loop must count an `int` from 0 in steps of 1, may not end early, and writes no memory.

A kernel that its workload line launches is changed for blocks as the line has them, which it asks `blockDim` for.
""",
    instruction="""\
Cut the loop into tiles as long as a block. Have each thread load one element of the tile into shared memory, wait, go through
the tile, and wait again. All threads must reach the barriers: replace the early return by a guard around the store.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
