"""Load and store 16 bytes with one instruction in pointwise kernels."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_vectorise import vectorisable, vectorised
from kernelwright.micro.rewrite.cuda_vectorise_rows import row_vectorisable, row_vectorised
from kernelwright.values import Refusal

_WORD = 4  # bytes that a thread loads and stores as easily as one


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = vectorisable(sight)
    if isinstance(found, Refusal):
        return _along_rows(sight, found)
    if not found.widths:
        return Refusal("The elements are as wide as a vector already.", sight.kernel.name_node.start_point.row)
    variants = []
    for width in found.widths:
        patch = vectorised(sight, found, width)
        if isinstance(patch, Refusal):
            return patch
        variants.append(patch.edits(f"{width} elements a thread"))
    names = ", ".join(one.name for one in found.moved)
    reason = f"Each thread moves {found.widths[0]} neighbouring elements of {names} with one load or store."
    return Rewritten(f"accesses to {names}", tuple(variants), 0.15 if found.widths[0] > 4 else 0.05, reason)


def _along_rows(sight: CudaSight, otherwise: Refusal) -> Rewritten | Refusal:
    found = row_vectorisable(sight)
    if isinstance(found, Refusal):
        return otherwise
    patches = [(width, row_vectorised(sight, found, width)) for width in found.widths]
    variants = [patch.edits(f"{width} elements a thread") for width, patch in patches if not isinstance(patch, Refusal)]
    if not variants:
        return otherwise
    names = ", ".join(one.parameter.name for one in found.moved)
    reason = f"Each thread moves up to {found.widths[0]} neighbouring elements of {names} with few loads and stores."
    narrow = min(one.size for one in found.moved) < _WORD
    return Rewritten(f"accesses to {names}", tuple(variants), 0.3 if narrow else 0.1, reason)


_BEFORE = """\
__global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
    }
}

// workload: solve(x=randn(n), y=out(n), n=1 << 24)
extern "C" void solve(const float* x, float* y, int n) {
    int threads = 256;
    int blocks = (n + threads - 1) / threads;
    gelu<<<blocks, threads>>>(x, y, n);
}
"""
_AFTER = """\
__global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool aligned = (reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y)) % 16 == 0;
    if (aligned && i < n / 4) {
        alignas(16) float x4[4];
        alignas(16) float y4[4];
        *reinterpret_cast<float4*>(x4) = reinterpret_cast<const float4*>(x)[i];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            float v = x4[k];
            y4[k] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        }
        reinterpret_cast<float4*>(y)[i] = *reinterpret_cast<const float4*>(y4);
    } else if (i <= n / 4) {
        for (int j = 4 * i; j < n && j - 4 * i < 4; ++j) {
            float v = x[j];
            y[j] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        }
    }
}

// workload: solve(x=randn(n), y=out(n), n=1 << 24)
extern "C" void solve(const float* x, float* y, int n) {
    int threads = 256;
    int blocks = ((n + 3) / 4 + threads - 1) / threads;
    gelu<<<blocks, threads>>>(x, y, n);
}
"""

STRATEGY = cuda(
    "vectorise-access",
    "Vectorise memory accesses",
    rewrite,
    family=Family.VECTORISE,
    why="A load of 16 bytes costs one instruction where four loads of 4 bytes cost four, and keeps more bytes in flight.",
    doc="""\
Lets each thread of a pointwise kernel take several neighbouring elements: 16 bytes of the widest type (`float4`, `int4`,
`double2`, eight halves), or 8. They are loaded into a small array with one instruction, the body runs for each of them in an
unrolled loop, and they are stored with one instruction. The grid of the launch shrinks accordingly.

It pays where a kernel is bound by memory and has too few bytes in flight to fill the bus, or too many instructions for each
byte: small types above all, and old or very wide GPUs. Where the plain kernel is at the bandwidth of the memory already,
nothing is left to win.

Every size and every alignment keeps working. The vectors are used where all pointers are aligned to them, which each thread
asks once; elsewhere, and for the last elements, the body runs for one element after the other.

In kernels whose blocks have two dimensions, or which go along rows, a thread takes neighbours along x, and there may be
several elements an index, as the three bytes of a pixel. Rows need not begin at an aligned address: each thread asks for its
own elements. Where a row and a column are made of the index by division, a vector is divided once.

It applies to kernels of the form `i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { … }`, and to loops that stride over
the grid, where what is written is written for every `i`. It does not apply where a pointer is written at another index or
only for some elements, where something is read after a store that may have changed it, where threads work together, or
where the type of the elements is a template's.
""",
    instruction="""\
Let each thread take 16 bytes of neighbouring elements with vector loads and stores (float4, int4, double2, uint4 for halves).
Keep the plain code for the last elements and for pointers that are not aligned to 16 bytes, and shrink the grid.""",
    example=Example(before=_BEFORE, after=_AFTER),
)
