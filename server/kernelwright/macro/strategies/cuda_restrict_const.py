"""Promise that what a kernel only reads is written by nobody meanwhile: `const T* __restrict__`."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_restrict import restricted, unrestricted
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = unrestricted(sight)
    if isinstance(found, Refusal):
        return found
    names = ", ".join(one.name for one in found)
    again = any(one.loops for one in sight.accesses if one.reads and one.base in {each.name for each in found})
    reason = (
        f"Loads of {names} need not wait for stores, and may be kept in registers and in the read-only cache."
        if again
        else f"Loads of {names} need not wait for stores, and go through the read-only cache."
    )
    edits = restricted(sight, found).edits(f"const __restrict__ on {names}")
    return Rewritten(f"pointers {names}", (edits,), 0.06 if again else 0.02, reason)


_BEFORE = """\
// y = A x, one row a thread.
__global__ void matvec(const float* A, const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        y[row] = 0.0f;
        for (int k = 0; k < columns; ++k) {
            y[row] += A[row * columns + k] * x[k];
        }
    }
}

// workload: solve(A=randn(M*K), x=randn(K), y=out(M), M=4096, K=1024)
extern "C" void solve(const float* A, const float* x, float* y, int M, int K) {
    matvec<<<(M + 127) / 128, 128>>>(A, x, y, M, K);
}
"""

STRATEGY = cuda(
    "restrict-const",
    "Restrict read-only pointers",
    rewrite,
    family=Family.CACHE,
    why="As long as a store might change what is read, the compiler loads again after each store and keeps loads in order.",
    doc="""\
Adds `const` and `__restrict__` to the pointer parameters through which a kernel only reads. The compiler then knows that no
store of the kernel changes what these loads see: it moves them ahead of stores, keeps what it has loaded in registers, and
loads through the read-only data cache (`ld.global.nc`). Locals that are made of such a pointer become `const`, too.

It pays where loads follow stores, above all in a loop that adds to memory (`y[i] += …`): without the promise `x[k]` has to be
loaded again in every turn. Where each element is loaded once before anything is stored, expect nothing.

`__restrict__` is a promise. It is made only where each use of a pointer can be followed: nothing is written through it, it
is not passed to a function that may write, and no launch or call in the file passes one buffer, or two parts of one, for it
and for what is written. Two parameters of the launcher count as two buffers: a caller from outside the file who passes the
same one for both, to compute in place, would break the promise.

It does not apply where the kernel is declared a second time, instantiated explicitly or passed on by its name.
""",
    instruction="""\
Write const T* __restrict__ for every pointer parameter of the kernel through which it only reads, where no launch passes
memory for it that the kernel writes. Make local pointers derived from it const as well. Change nothing else.""",
    example=Example(
        before=_BEFORE,
        after=_BEFORE.replace(
            "matvec(const float* A, const float* x, float* y, int rows",
            "matvec(const float* __restrict__ A, const float* __restrict__ x, float* y, int rows",
        ),
    ),
)
