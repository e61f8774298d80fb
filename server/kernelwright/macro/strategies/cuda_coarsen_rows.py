"""Let each thread compute several rows of a grid of results, so that what they have in common is read once."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.cuda_coarsen_variants import coarsened
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = coarsened(sight)
    if isinstance(found, Refusal):
        return found
    first = found[0]
    edits = tuple(difference(sight.source, one.text, one.words) for one in found)
    if first.loops:
        reason = "The rows of a thread share the loops around them, and every element that more than one of them reads."
        return Rewritten(f"rows by {first.row}", edits, 0.5, reason)
    reason = "The rows above and below one of a thread's rows are mostly its own, too, and are read once."
    return Rewritten(f"rows by {first.row}", edits, 0.3, reason)


_BEFORE = """\
__global__ void smooth_kernel(const float* image, const float* weights, float* result, int height, int width, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int size = 2 * radius + 1;
    float sum = 0.0f;
    for (int dy = -radius; dy <= radius; ++dy) {
        for (int dx = -radius; dx <= radius; ++dx) {
            int row = y + dy, column = x + dx;
            if (row >= 0 && row < height && column >= 0 && column < width) {
                sum += image[row * width + column] * weights[(dy + radius) * size + dx + radius];
            }
        }
    }
    result[y * width + x] = sum;
}

// workload: smooth(image=randn(h*w), weights=randn((2*radius+1)*(2*radius+1)), result=out(h*w), h=4096, w=4096, radius=3)
// workload: smooth(image=randn(h*w), weights=randn((2*radius+1)*(2*radius+1)), result=out(h*w), h=37, w=65, radius=2)
extern "C" void smooth(const float* image, const float* weights, float* result, int h, int w, int radius) {
    dim3 block(32, 8);
    dim3 grid((w + 31) / 32, (h + 7) / 8);
    smooth_kernel<<<grid, block>>>(image, weights, result, h, w, radius);
}
"""

_AFTER = """\
__global__ void smooth_kernel(const float* image, const float* weights, float* result, int height, int width, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y0 = (blockIdx.y * blockDim.y + threadIdx.y) * 4;
    if (x < width && y0 + 3 < height && y0 >= radius && height >= radius + y0 + 4 && x >= radius && width >= radius + x + 1) {
        int size = 2 * radius + 1;
        float sum[4] = {};
        for (int dy = -radius; dy <= radius; ++dy) {
            for (int dx = -radius; dx <= radius; ++dx) {
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const int y = y0 + r;
                    int row = y + dy, column = x + dx;
                    sum[r] += image[row * width + column] * weights[(dy + radius) * size + dx + radius];
                }
            }
        }
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int y = y0 + r;
            result[y * width + x] = sum[r];
        }
        return;
    }
    for (int y = y0; y < y0 + 4; ++y) {
        if (x >= width || y >= height) continue;
        int size = 2 * radius + 1;
        float sum = 0.0f;
        for (int dy = max(-radius, -y); dy <= min(radius, height - 1 - y); ++dy) {
            for (int dx = max(-radius, -x); dx <= min(radius, width - 1 - x); ++dx) {
                int row = y + dy, column = x + dx;
                sum += image[row * width + column] * weights[(dy + radius) * size + dx + radius];
            }
        }
        result[y * width + x] = sum;
    }
}

// workload: smooth(image=randn(h*w), weights=randn((2*radius+1)*(2*radius+1)), result=out(h*w), h=4096, w=4096, radius=3)
// workload: smooth(image=randn(h*w), weights=randn((2*radius+1)*(2*radius+1)), result=out(h*w), h=37, w=65, radius=2)
extern "C" void smooth(const float* image, const float* weights, float* result, int h, int w, int radius) {
    dim3 block(32, 8);
    dim3 grid((w + 31) / 32, (h + 31) / 32);
    smooth_kernel<<<grid, block>>>(image, weights, result, h, w, radius);
}
"""

STRATEGY = cuda(
    "coarsen-rows",
    "Compute several rows a thread",
    rewrite,
    family=Family.REGISTERS,
    why="A thread with four results below each other reads what they share once, and four sums wait less than one.",
    doc="""\
Gives each thread of a two-dimensional grid two, four or eight rows of results below each other, and divides the grid by as
many. Variants also try blocks that are at least a warp wide.

Where the work is a nest of loops (convolutions, windows, products), the rows go through it together: a weight, or a column of
an operand, is read once for all of them. Loops over a window are clipped first; a thread whose window lies inside of the image
for all its rows takes the loops as a whole, and any other one its rows one after another. Where a nest is short in the
workload, variants compile it once for just these lengths, unrolled, and once for any others. Each sum is made in the same
order as before, so that results are the same to the last bit.

Where there are no loops, as in a stencil of a few points, the rows are unrolled, and pointers that are only read become
`const __restrict__`, so that a neighbour that two rows share is loaded once. In some variants a thread asks once whether all
its rows are inside of the grid, and away from its border: then the rows follow each other without a condition, so that their
loads wait for memory together. Wide blocks are tried, too, whose rows share fewer lines with their neighbours'.

A local `int` has to count the threads along y, and nothing else may use their place; the threads of a block must not work
together. The loops must be as long for each row, but for the limits that a window has at the border, and write no memory. It
does not apply where rows have nothing in common.
""",
    instruction="""\
Give each thread four rows of results below each other. Let them share the loops and what they read, keep the order of each sum,
and divide the grid by four, rounded up, with guards for the last rows and for what lies near the border.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
