"""Let neighbouring threads work on neighbouring elements by swapping the two thread axes of a kernel."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_axes import renumbered, scattered, swapped_axes, traffic
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_WORTH = 1.5  # how many times less has to be moved for it to be worth a try


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    now, then = traffic(sight, "x"), traffic(sight, "y")
    worst = scattered(sight)
    if worst is None:
        return Refusal("No pointer of the kernel is read or written by index, so nothing says how its threads lie.")
    if now < _WORTH * then:
        return Refusal("threadIdx.x already runs along the elements that lie beside each other, as far as can be read.")
    alone = sight.is_entry or len(sight.launches) != 1
    patch = renumbered(sight) if alone else swapped_axes(sight)
    if isinstance(patch, Refusal):
        return patch
    access = sight.content(worst.node)
    reason = f"Neighbouring threads are a row apart in `{access}`, so a warp moves {now / then:.0f} times the sectors."
    return Rewritten("thread axes", (patch.edits("axes swapped"),), min(0.9, 1 - then / now), reason)


_BEFORE = """\
#include <cuda_runtime.h>

__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            sum += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = sum;
    }
}

// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=1024, N=512, K=768)
// workload: solve(A=randn(M*K), B=randn(K*N), C=out(M*N), M=37, N=65, K=19)
extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(16, 16);
    dim3 grid((M + block.x - 1) / block.x, (N + block.y - 1) / block.y);
    matmul_kernel<<<grid, block>>>(A, B, C, M, N, K);
}
"""

STRATEGY = cuda(
    "coalesce-mapping",
    "Coalesce by swapping thread axes",
    rewrite,
    family=Family.LAYOUT,
    why="A warp's threads differ in threadIdx.x; where that is the index of the row, each of them touches another line.",
    doc="""\
Swaps `threadIdx.x` with `threadIdx.y` (and `blockDim` with them) in a two-dimensional kernel, and the two sizes of the block
at its launch, where that lets the innermost index follow `threadIdx.x`. A warp moves 32-byte sectors: 32 threads that are
a row apart touch 32 of them to use 4 bytes of each, while neighbours share 4.

The grid stays as it is, so that no size that worked before comes to the limit of 65535 blocks along y; only where both its
sizes are the same expression are `blockIdx` and `gridDim` swapped too. The same threads do the same work in either case.

Where the launch stays as it is, since a workload line makes it or it stands in several places, the kernel counts the threads of
its block and takes two other indices from their number: `threadIdx.y * blockDim.x + threadIdx.x` divided by `blockDim.y`, and
the rest. Each block has the same pairs of indices as before.

How the axes lie is read from the kernel's index expressions, loops counted. It does not apply where the kernel relies on
which threads share a warp (shuffles, votes, `warpSize`), where a function or macro asks for the thread's index itself, or where
the blocks have one dimension.
""",
    instruction="""\
Swap the roles of threadIdx.x and threadIdx.y in this kernel, with blockDim and the block's sizes at the launch, so that
neighbouring threads of a warp touch neighbouring elements. Change nothing else.""",
    example=Example(
        before=_BEFORE,
        after=_BEFORE.replace("blockDim.x + threadIdx.x", "blockDim.y + threadIdx.y@")
        .replace("blockDim.y + threadIdx.y;", "blockDim.x + threadIdx.x;")
        .replace("@", ""),
    ),
)
