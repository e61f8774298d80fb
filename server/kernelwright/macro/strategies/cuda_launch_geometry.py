"""Choose the threads of a block by measuring a short list, with the grid following."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_resize import Block, resizable, resized, sizes
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = resizable(sight)
    if isinstance(found, Refusal):
        return found
    patches = ((block, resized(sight, found, block)) for block in sizes(found))
    variants = tuple(patch.edits(f"{_words(block)} threads") for block, patch in patches if patch is not None)
    if not variants:
        line = found.launches[0].launch.node.start_point.row
        return Refusal("The block cannot be changed without changing what the grid covers.", line)
    before = found.block[0] * found.block[1] * found.block[2]
    reason = f"Blocks of {_words(found.block)} threads are one choice of several, and only a measurement can tell."
    return Rewritten(f"blocks of {_words(found.block)} threads", variants, 0.15 if before < 128 else 0.04, reason)


def _words(block: Block) -> str:
    return " x ".join(str(size) for size in (block if block[2] > 1 else block[:2] if block[1] > 1 else block[:1]))


_KERNEL = """\
__global__ void blend(const float* a, const float* b, float* out, int width, int height, float t) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int i = y * width + x;
        out[i] = a[i] + t * (b[i] - a[i]);
    }
}

// workload: solve(a=randn(W*H), b=randn(W*H), out=out(W*H), W=4096, H=4096)
extern "C" void solve(const float* a, const float* b, float* out, int W, int H) {
"""
_LAUNCH = """\
    dim3 grid((W + block.x - 1) / block.x, (H + block.y - 1) / block.y);
    blend<<<grid, block>>>(a, b, out, W, H, 0.5f);
}
"""

STRATEGY = cuda(
    "launch-geometry",
    "Choose the block size",
    rewrite,
    family=Family.LAUNCH,
    why="The threads of a block decide how many blocks a multiprocessor holds and how full its warps and memory lines are.",
    doc="""\
Tries other sizes for the blocks of a launch: 64 to 1024 threads in one dimension, or shapes such as 32 x 8 and 64 x 4 in
two. The number may stand at the launch, in a local, in a `dim3`, in a macro or in a constant; copies of it in the
grid (`(n + 255) / 256`) and the numbers of `__launch_bounds__` are changed along with it. Launches that share the number
change together. The fastest of the variants is kept.

In two dimensions a block that is at least 32 threads wide reads whole memory lines with each warp; 8 x 8 and 16 x 16 do not.
In one dimension very small blocks leave multiprocessors half empty, since only so many blocks fit on one, and very large
ones leave no choice to the scheduler at the end. In between the gain is small.

It applies where the number of threads changes nothing else: each thread takes the element of its own index under a guard, and
the grid is that size divided by the block and rounded up; or the threads stride over the elements in a loop. It does not
apply where the threads of a block work together (shared memory, barriers, shuffles), where the kernel uses `threadIdx` for
something else, or where the number has a second meaning.
""",
    instruction="""\
Choose another block size for this launch, with the grid covering the same elements as before, and every copy of the number
and __launch_bounds__ kept consistent. Change nothing else.""",
    example=Example(
        before=_KERNEL + "    dim3 block(8, 8);\n" + _LAUNCH,
        after=_KERNEL + "    dim3 block(32, 8);\n" + _LAUNCH,
    ),
)
