"""Keep a row in registers between the loops that go along it."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_keep_row import kept_row, row_kept
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = kept_row(sight)
    if isinstance(found, Refusal):
        return found
    variants = [row_kept(sight, found, whole=False).edits(f"rows of up to {found.turns} elements a thread")]
    if found.length % found.stride == 0:
        variants.insert(0, row_kept(sight, found, whole=True).edits(f"rows of {found.length} elements"))
    names = ", ".join(dict.fromkeys(one.parameter.name for one in found.kept))
    lines = ", ".join(str(one.node.start_point.row + 1) for one in found.loops)
    reason = f"The loops of lines {lines} read the same elements of {names}, {found.turns} a thread."
    return Rewritten(f"loops of lines {lines}", tuple(variants), 0.3, reason)


_BEFORE = """\
// Each row minus its mean, a warp a row.
__global__ void centre(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int j = lane; j < columns; j += 32) {
        sum += x[row * columns + j];
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    for (int j = lane; j < columns; j += 32) {
        y[row * columns + j] = x[row * columns + j] - sum / columns;
    }
}

// workload: solve(x=randn(rows*columns), y=out(rows*columns), columns=512, rows=65536)
// workload: solve(x=randn(rows*columns), y=out(rows*columns), columns=301, rows=13)
extern "C" void solve(const float* x, float* y, int rows, int columns) {
    centre<<<(rows + 7) / 8, 256>>>(x, y, rows, columns);
}
"""

_LOOPS = """\
    for (int j = lane; j < columns; j += 32) {
        sum += x[row * columns + j];
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    for (int j = lane; j < columns; j += 32) {
        y[row * columns + j] = x[row * columns + j] - sum / columns;
    }
"""

_AFTER = _BEFORE.replace(
    _LOOPS,
    """\
    if (columns == 512) {
        float x_row[16];
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            int j = lane + k * 32;
            x_row[k] = x[row * columns + j];
        }
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            int j = lane + k * 32;
            sum += x_row[k];
        }
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            int j = lane + k * 32;
            y[row * columns + j] = x_row[k] - sum / columns;
        }
    } else {
        for (int j = lane; j < columns; j += 32) {
            sum += x[row * columns + j];
        }
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        for (int j = lane; j < columns; j += 32) {
            y[row * columns + j] = x[row * columns + j] - sum / columns;
        }
    }
""",
)

STRATEGY = cuda(
    "keep-row",
    "Keep a row in registers",
    rewrite,
    family=Family.REGISTERS,
    why="A softmax or a normalisation reads its row in each of its loops; registers hold it from the first loop to the last.",
    doc="""\
Loads the elements of a row once, where several loops that follow each other read the same ones: those of a softmax, of a
normalisation, or of a quantisation by rows, whose row a warp or a block shares. Each thread loads its elements into an array
in registers, all of them ahead of their first use, and the loops become unrolled turns over that array. Operations stay in
their order, so no value changes.

How many elements a thread has follows from the length of the row in the workload. One variant is for rows of just that
length, without a test for each element, and comes first where the threads have as many elements each; another one is for
rows of any length up to what the registers hold. Other rows go through the loops as they were written.

It pays where a loop is bound by memory, or by the caches that the row is read from again; and with all of the row's loads
under way at once, the bus is kept busy. Work that two loops do on an element alike, such as an exponential, may be done once.

The loops must go from the number of the thread up to the same bound in the same steps, under the same braces, and a thread
must have at most 64 registers of elements. Where an element may have been stored between two loops, the row is not kept:
only the last loop may store, the same element as it reads, and after its last read of it. Single results of a row, such as
its scale, may be stored between the loops, in a buffer of their own.
""",
    instruction="""\
Load the thread's elements of the row into a local array once, in an unrolled loop ahead of the first pass, and let all passes
read that array in unrolled loops. Keep the plain loops for rows that are longer.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
