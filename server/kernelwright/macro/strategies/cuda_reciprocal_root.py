"""Compute the reciprocal of a square root by one instruction, where a division by the root takes dozens."""

from tree_sitter import Node

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_fast import ROOT, fast, slow
from kernelwright.micro.rewrite.cuda_independent import declared_in
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import field
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = tuple(one for one in slow(sight) if one.kind == ROOT)
    if not found:
        return Refusal("The kernel divides no float by a square root.", sight.kernel.name_node.start_point.row)
    reason = "A root and a division by it, both rounded exactly, take dozens of instructions; rsqrtf is one."
    gain = 0.3 if any(_is_new_each_turn(sight, one.node) for one in found) else 0.03
    return Rewritten("divisions by roots", (fast(sight, found).edits("rsqrtf"),), gain, reason)


def _is_new_each_turn(sight: CudaSight, division: Node) -> bool:
    """Whether a root stands in a loop, of something that changes from turn to turn, so that it is not computed ahead of it."""
    loops, under = sight.names.loops_around(division), field(division, "right", "arguments")
    if not loops or under is None:
        return False
    made = declared_in(sight.names, (loops[-1].body,)) | {loops[-1].variable}
    return bool(made & sight.names.behind(under))


_BEFORE = """\
__global__ void potential_kernel(const float* x, const float* y, float* potential, int n, float softening) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int j = 0; j < n; ++j) {
        float dx = x[j] - x[i], dy = y[j] - y[i];
        sum += 1.0f / sqrtf(dx * dx + dy * dy + softening);
    }
    potential[i] = sum;
}

// workload: potential(x=randn(n), y=randn(n), potential=out(n), n=16384, softening=0.01)
// workload: potential(x=randn(n), y=randn(n), potential=out(n), n=333, softening=0.1)
extern "C" void potential(const float* x, const float* y, float* potential, int n, float softening) {
    potential_kernel<<<(n + 127) / 128, 128>>>(x, y, potential, n, softening);
}
"""

STRATEGY = cuda(
    "reciprocal-root",
    "Use rsqrtf for a division by a root",
    rewrite,
    family=Family.PRECISION,
    why="A root and a division are rounded exactly, each in a dozen instructions; rsqrtf is one, with an error of 2 units.",
    doc="""\
Writes `rsqrtf(y)` for `1.0f / sqrtf(y)`, and `x * rsqrtf(y)` for `x / sqrtf(y)`, on floats. Both are right for zeros,
infinities, NaN and negative numbers. The error of `rsqrtf` is at most 2 units in the last place, about that of a root and a
division one behind the other; the check of accuracy decides.

It pays where a kernel is bound by arithmetic, as sums over pairs of bodies are. Divisions by anything else, and intrinsics with
larger errors, are for the strategy `cuda.fast-math`, which has to be allowed.
""",
    instruction="""\
Replace divisions of floats by a square root by products with rsqrtf of what is under the root. Change nothing else.""",
    example=Example(
        before=_BEFORE,
        after=_BEFORE.replace("1.0f / sqrtf(", "rsqrtf("),
    ),
)
