"""Let the threads of a grid that fits the device stride over the elements."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_stride import fixed_grid, refilled, stridable, strided
from kernelwright.values import Refusal

_ROUNDS = (1, 2, 4)


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = stridable(sight)
    if isinstance(found, Refusal):
        return _refilled(sight, found)
    variants = []
    for rounds in _ROUNDS:
        patch = strided(sight, found, rounds)
        if isinstance(patch, Refusal):
            return patch
        variants.append(patch.edits(f"{found.resident * rounds} blocks for each multiprocessor"))
    bound = sight.content(found.axis.bound)
    reason = "Each thread takes many elements, so that blocks are not started and indices not computed for each one."
    return Rewritten(f"elements below {bound}", tuple(variants), 0.03, reason)


def _refilled(sight: CudaSight, otherwise: Refusal) -> Rewritten | Refusal:
    """Other numbers of blocks for threads that stride already."""
    found = fixed_grid(sight)
    if isinstance(found, Refusal):
        return otherwise
    patches = ((rounds, refilled(sight, found, rounds)) for rounds in _ROUNDS)
    variants = tuple(
        patch.edits(f"{found.resident * rounds} blocks for each multiprocessor")
        for rounds, patch in patches
        if patch is not None
    )
    filled = (sight.device.multiprocessors or found.blocks) * found.resident <= found.blocks
    reason = f"The launch has {found.blocks} blocks, whatever the device and the number of elements."
    return Rewritten(f"elements below {sight.content(found.bound)}", variants, 0.03 if filled else 0.3, reason)


STRATEGY = cuda(
    "grid-stride",
    "Stride over the grid",
    rewrite,
    family=Family.LAUNCH,
    why="A thread that takes many elements pays once for its start, its index and what all elements have in common.",
    doc="""\
Turns `if (i < n) { … }` into a loop in which each thread takes every so-manieth element, and caps the grid of the launch at
as many blocks as the device holds at once: 2048 threads for each multiprocessor, twice or four times that in other variants.
The number is that of the device at hand; any other grid computes the same. Where the threads stride already over a grid of
a fixed number of blocks, such numbers of blocks are tried in its place.

It pays where starting a thread costs as much as what it does: very short bodies, very large inputs, and bodies that begin
with work that does not depend on the element, which the compiler can move out of the loop. Loads of one turn may also begin
before the stores of the turn before have ended. On recent GPUs starting blocks is cheap, and the gain is small.

The loop counts in 64 bits, since the index of the last turn may be past the largest `int` where `n` is close to it.

It applies to kernels of the form `i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { … }` that are launched over exactly
`n` elements. It does not apply where threads work together, where a thread may return under the guard, where the kernel uses
`threadIdx` or `blockIdx` for something else, or where a variable that is declared ahead of the guard is changed under it.
""",
    instruction="""\
Turn the guard of this kernel into a grid-stride loop, and cap the grid of its launch at the number of blocks that the device
holds at once. Each element must be computed exactly once for every size; mind overflow of the loop variable.""",
    example=Example(
        before="""\
__global__ void hue_shift(const float* image, float* out, int n, float angle) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float turn = cosf(angle) + sinf(angle) * 0.5f;
        out[i] = image[i] * turn;
    }
}

// workload: solve(image=randn(n), out=out(n), n=1 << 24, angle=0.3)
extern "C" void solve(const float* image, float* out, int n, float angle) {
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    hue_shift<<<blocks, threads>>>(image, out, n, angle);
}
""",
        after="""\
__global__ void hue_shift(const float* image, float* out, int n, float angle) {
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float turn = cosf(angle) + sinf(angle) * 0.5f;
        out[i] = image[i] * turn;
    }
}

// workload: solve(image=randn(n), out=out(n), n=1 << 24, angle=0.3)
extern "C" void solve(const float* image, float* out, int n, float angle) {
    int threads = 256;
    const int max_blocks = 132 * 8;  // 8 for each multiprocessor
    int blocks = min((n + threads - 1) / threads, max_blocks);
    hue_shift<<<blocks, threads>>>(image, out, n, angle);
}
""",
    ),
)
