"""Stage the neighbours that the threads of a block read of their points, with their border, in shared memory."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_stencil import staged
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = staged(sight)
    if isinstance(found, Refusal):
        return found
    patch, stencil = found
    rows, columns = stencil.size
    places = 1 + stencil.size[0] - stencil.block[1], 1 + stencil.size[1] - stencil.block[0]
    reason = f"Points of {stencil.base} are read again by threads up to {max(places) - 1} places away."
    edits = patch.edits(f"tile of {rows} x {columns}")
    return Rewritten(f"neighbours in {stencil.base}", (edits,), 0.2 if places[0] * places[1] > 9 else 0.01, reason)


_BEFORE = """\
__global__ void heat_kernel(const float* t, float* next, int height, int width, float rate) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int at = y * width + x;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        next[at] = t[at];
    } else {
        next[at] = t[at] + rate * (t[at - 1] + t[at + 1] + t[at - width] + t[at + width] - 4.0f * t[at]);
    }
}

// workload: heat(t=randn(height * width), next=out(height * width), height=4096, width=4096, rate=0.1)
// workload: heat(t=randn(height * width), next=out(height * width), height=37, width=65, rate=0.2)
extern "C" void heat(const float* t, float* next, int height, int width, float rate) {
    dim3 block(32, 8);
    dim3 grid((width + 31) / 32, (height + 7) / 8);
    heat_kernel<<<grid, block>>>(t, next, height, width, rate);
}
"""

_AFTER = (
    _BEFORE.replace(
        """\
    int x = blockIdx.x""",
        """\
    __shared__ float t_tile[10][34];
    for (int r = threadIdx.y; r < 10; r += 8) {
        for (int c = threadIdx.x; c < 34; c += 32) {
            const int place = ((int)blockIdx.y * 8 + r - 1) * width + (int)blockIdx.x * 32 + c - 1;
            if (place >= 0 && place < height * width) t_tile[r][c] = t[place];
        }
    }
    __syncthreads();
    int x = blockIdx.x""",
    )
    .replace("t[at - 1]", "t_tile[threadIdx.y + 1][threadIdx.x]")
    .replace("t[at + 1]", "t_tile[threadIdx.y + 1][threadIdx.x + 2]")
    .replace("t[at - width]", "t_tile[threadIdx.y][threadIdx.x + 1]")
    .replace("t[at + width]", "t_tile[threadIdx.y + 2][threadIdx.x + 1]")
    .replace("= t[at]", "= t_tile[threadIdx.y + 1][threadIdx.x + 1]")
    .replace("* t[at]", "* t_tile[threadIdx.y + 1][threadIdx.x + 1]")
)

STRATEGY = cuda(
    "stencil-tile",
    "Tile a stencil",
    rewrite,
    family=Family.SHARED_MEMORY,
    why="Threads of a block read the same points as their neighbours; a tile with a border is loaded once for all of them.",
    doc="""\
Loads the points that a block of a stencil or of a small window reads, its own and a border around them, into a tile of shared
memory, waits, and reads neighbours from there. What a thread does at the border of the grid stays as it is, and results are the
same to the last bit. The launch stays, too, so there may be several.

Each place of the tile is loaded if it lies in the tensor at all, so that reads that go on in the row before or behind are
right. Neighbours may be at fixed distances, also by way of a macro such as `IDX(i - 1, j)`, or in loops whose limits are
numbers in the file; of several tensors the one with the most neighbours gets a tile.

Caches of recent GPUs hold most of what neighbours share: on an H200 five points take longer with a tile, and only wide windows
may gain, so that the autopilot leaves small ones alone.

The blocks must have two dimensions that are numbers in the file. A workload line has to say that the tensor has as many rows
as the kernel's guard and no more elements, the distances must be at most 16, and the tile must fit 48 KB. It does not apply to
windows whose size is a parameter, or where the kernel stores to the tensor.
""",
    instruction="""\
Load the block's points and the border that their neighbours lie in into a tile in shared memory, with a guard for the end of
the tensor, wait, and read neighbours from the tile. Keep what is done at the border of the grid.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
