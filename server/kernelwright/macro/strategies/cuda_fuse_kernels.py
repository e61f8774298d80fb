"""Launch one kernel where two pointwise ones follow each other."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_fuse import fused, pair
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = pair(sight)
    if isinstance(found, Refusal):
        return found
    first, second = found.first.kernel.name, found.second.kernel.name
    shared = sorted(
        one.name
        for one in found.first.kernel.parameters
        if one.is_pointer
        and sight.content(found.first.arguments[one.name])
        in [sight.content(node) for name, node in found.second.arguments.items()]
    )
    reason = (
        f"What both kernels touch ({', '.join(shared)}) is loaded once instead of twice, and one launch is saved."
        if shared
        else "One launch is saved, and both kernels' loads are under way together."
    )
    edits = fused(sight, found).edits(f"{first} and {second} in one kernel")
    return Rewritten(f"launches of {first} and {second}", (edits,), 0.25 if shared else 0.05, reason)


STRATEGY = cuda(
    "fuse-kernels",
    "Fuse launches",
    rewrite,
    family=Family.FUSION,
    why="What one kernel stores and the next one loads goes through memory, unless one kernel does the work of both.",
    doc="""\
Puts two pointwise kernels that are launched one after the other into one: each thread does the work of the first for its
element, then that of the second. What the first one has stored, the second takes from a register, what both load is loaded
once, and one launch is saved. The intermediate result is still stored, since somebody may read it later. Parameters that get
the same argument become one; names that would clash get a number. Further launches are fused by taking the step again.

It pays wherever the two kernels touch the same memory, since pointwise kernels are bound by it; for small sizes the saved
launch alone pays.

It applies where both kernels have the form `i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { … }`, are launched over the
same number of elements on the same stream with nothing between them, and touch only the element `i` of what either of
them writes. Small tables that are read at another index (`bias[i % c]`) count as buffers of their own where they are passed
by another name. `__restrict__` is left out in the new kernel: it was promised for each kernel alone, and a caller may compute
in place.

It does not apply where threads work together, or where an element depends on its neighbours: these may not be there yet.
""",
    instruction="""\
Put the two pointwise kernels that are launched one after the other into one kernel, in which each thread does first the one's
and then the other's work for its element. Keep the stores of both. Change the launcher accordingly.""",
    example=Example(
        before="""\
__global__ void scale_kernel(const float* x, float* scaled, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scaled[i] = x[i] * factor;
    }
}

__global__ void add_kernel(const float* a, const float* b, float* out, int count) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < count) {
        out[idx] = a[idx] + b[idx];
    }
}

// workload: solve(x=randn(n), y=randn(n), scaled=out(n), out=out(n), n=1 << 24, factor=1.5)
extern "C" void solve(const float* x, const float* y, float* scaled, float* out, int n, float factor) {
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    scale_kernel<<<blocks, threads>>>(x, scaled, n, factor);
    add_kernel<<<blocks, threads>>>(scaled, y, out, n);
}
""",
        after="""\
__global__ void scale_add_kernel(const float* x, float* scaled, int n, float factor, const float* b, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scaled[i] = x[i] * factor;
        out[i] = scaled[i] + b[i];
    }
}

// workload: solve(x=randn(n), y=randn(n), scaled=out(n), out=out(n), n=1 << 24, factor=1.5)
extern "C" void solve(const float* x, const float* y, float* scaled, float* out, int n, float factor) {
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    scale_add_kernel<<<blocks, threads>>>(x, scaled, n, factor, y, out);
}
""",
    ),
    rule_only="it removes a kernel",
)
