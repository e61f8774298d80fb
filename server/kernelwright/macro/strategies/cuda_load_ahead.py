"""Load the elements of several turns of a loop before they are used."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_load_ahead import loaded_ahead, loads_ahead
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_TURNS = (4, 8, 16)


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = loads_ahead(sight)
    if isinstance(found, Refusal):
        return found
    variants = tuple(loaded_ahead(sight, found, turns).edits(f"{turns} turns ahead") for turns in _TURNS)
    names = ", ".join(dict.fromkeys(some[0].base for one in found for some in one.loads.values()))
    lines = ", ".join(str(one.loop.node.start_point.row + 1) for one in found)
    reason = f"Each turn waits for its own load of {names}, where the loads of several turns could wait together."
    # Threads that share a loop read side by side; one that goes on its own has its loads in a line already.
    shared = any(one.step != "1" for one in found)
    what = f"{'loops' if len(found) > 1 else 'loop'} of line {lines}"
    return Rewritten(what, variants, 0.25 if shared else 0.08, reason)


_BEFORE = """\
// The largest magnitude of each row, a warp a row.
__global__ void magnitudes(const float* x, float* out, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float largest = 0.0f;
    for (int j = lane; j < columns; j += 32) {
        largest = fmaxf(largest, fabsf(x[row * columns + j]));
    }
    for (int offset = 16; offset > 0; offset >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
    if (lane == 0) out[row] = largest;
}

// workload: solve(x=randn(rows*columns), out=out(rows), columns=4096, rows=8192)
// workload: solve(x=randn(rows*columns), out=out(rows), columns=301, rows=13)
extern "C" void solve(const float* x, float* out, int rows, int columns) {
    magnitudes<<<(rows + 7) / 8, 256>>>(x, out, rows, columns);
}
"""

_AFTER = _BEFORE.replace(
    """\
    for (int j = lane; j""",
    """\
    int next = lane;
    for (; next < columns - 96; next += 128) {
        float x_next[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            int j = next + k * 32;
            x_next[k] = x[row * columns + j];
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            largest = fmaxf(largest, fabsf(x_next[k]));
        }
    }
    for (int j = next; j""",
)

STRATEGY = cuda(
    "load-ahead",
    "Load several turns ahead",
    rewrite,
    family=Family.PIPELINING,
    why="A thread with one load under way leaves the bus empty; loads of several turns, made together, wait once.",
    doc="""\
Splits the loops of a kernel that load from global memory in two: one takes 4, 8 or 16 turns at once, loads all of their
elements into registers first and then does what the loop did, turn by turn; the other does the turns that are left over. The
number of turns is a variant, and the fastest is kept. Operations stay in their order, so no value changes.

It pays where a loop is bound by memory and the loads of its turns do not overlap: sums, maxima and norms along rows, and
loops that stride over a block or a grid. A compiler unrolls such loops too, but often keeps each load beside its use. It
costs a register for each load.

The loop must count up to a bound in steps that stay the same, and hold no other loop. A load is made ahead where its place
depends on nothing but the turn, where every turn makes it, and where no store of the loop can change it. It does not apply
to loops that may end early, or whose turns wait for other threads.
""",
    instruction="""\
Let the loop take several turns at once: load the elements of all of them into a small array first, then compute turn by turn.
Leave the turns that are left over to the plain loop.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
