"""Let loops over a window begin and end where the image does, where each of their turns asks whether it lies inside."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.cuda_clip import Window, clipped
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import field
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = clipped(sight)
    if isinstance(found, Refusal):
        return found
    text, windows = found
    variables = ", ".join(dict.fromkeys(one.variable for window in windows for one in window.loops))
    asked = sum(len(one.bounds) for one in windows)
    reason = f"Every turn of the loops over {variables} asks {asked} things that their limits can say once."
    edits = difference(sight.source, text, "clipped loops")
    return Rewritten(f"window of {variables}", (edits,), 0.05 if _is_unrolled(sight, windows) else 0.35, reason)


def _is_unrolled(sight: CudaSight, windows: tuple[Window, ...]) -> bool:
    """Whether the compiler may unroll the loops as they are, and work out most of the test once."""
    return all(
        sight.names.number(loop.start) is not None and sight.names.number(field(loop.condition, "right")) is not None
        for window in windows
        for loop in window.loops
    )


_BEFORE = """\
__global__ void blur_kernel(const float* image, float* result, int height, int width, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    int count = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
        for (int dx = -radius; dx <= radius; ++dx) {
            int row = y + dy, column = x + dx;
            if (row >= 0 && row < height && column >= 0 && column < width) {
                sum += image[row * width + column];
                ++count;
            }
        }
    }
    result[y * width + x] = sum / count;
}

// workload: blur(image=randn(height * width), result=out(height * width), height=4096, width=4096, radius=3)
// workload: blur(image=randn(height * width), result=out(height * width), height=37, width=65, radius=4)
extern "C" void blur(const float* image, float* result, int height, int width, int radius) {
    dim3 block(32, 8);
    dim3 grid((width + 31) / 32, (height + 7) / 8);
    blur_kernel<<<grid, block>>>(image, result, height, width, radius);
}
"""

_AFTER = _BEFORE.replace(
    """\
    for (int dy = -radius; dy <= radius; ++dy) {
        for (int dx = -radius; dx <= radius; ++dx) {
            int row = y + dy, column = x + dx;
            if (row >= 0 && row < height && column >= 0 && column < width) {
                sum += image[row * width + column];
                ++count;
            }
""",
    """\
    for (int dy = max(-radius, -y); dy <= min(radius, height - 1 - y); ++dy) {
        for (int dx = max(-radius, -x); dx <= min(radius, width - 1 - x); ++dx) {
            int row = y + dy, column = x + dx;
            sum += image[row * width + column];
            ++count;
""",
)

STRATEGY = cuda(
    "clip-window",
    "Clip window loops",
    rewrite,
    family=Family.REORDERING,
    why="A loop that begins and ends inside of the image asks once what every turn asks for each of its neighbours.",
    doc="""\
Moves the test whether a neighbour lies inside of an image out of the loops over a window: `for (dx = -r; dx <= r; ++dx) if
(x + dx >= 0 && x + dx < width) …` becomes a loop from `max(-r, -x)` to `min(r, width - 1 - x)`. The same turns are made in the
same order, so the result is the same to the last bit. What is left in the loop is often no more than a load and a product,
and the compiler can unroll it.

Convolutions, blurs, pools and other windows with a border of zeros are of this form, in one dimension or more, with the
window's place in the middle or at its beginning, whether the test stands around the work or is an `if (…) continue;` ahead of
it. A part of the test that says something else, as a mask does, stays.

The loops must count an `int` in steps of 1, and do nothing but what stands under the test. Comparisons of unsigned numbers,
with casts, and of a neighbour at a multiple of the loop's variable stay in the loop. Where the window's size is a number in the
file, the compiler may unroll the loops as they are, and little is gained.
""",
    instruction="""\
Give the loops over the window limits that leave out what lies outside of the image, by max and min at their heads, and drop the
test from the inner loop. Keep the order in which the sum is made.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
