"""Trade accuracy for speed: intrinsics of the special function units, approximate division, `rsqrtf`."""

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_fast import ANGLE, DIVISION, ROOT, Slow, fast, in_loop, slow
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal

_WITHOUT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("all of them", ()),
    ("all but sines and cosines", (ANGLE,)),
    ("all but divisions", (ANGLE, DIVISION)),
    ("roots alone", (ANGLE, DIVISION, "function")),
)


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    found = slow(sight)
    if not found:
        return Refusal(
            "The kernel has no division and no function of floats that has a fast form.",
            sight.kernel.name_node.start_point.row,
        )
    chosen = dict[tuple[Slow, ...], str]()
    for words, without in _WITHOUT:
        kept = tuple(one for one in found if one.kind not in without)
        if kept:
            chosen.setdefault(kept, words)
    variants = tuple(fast(sight, kept).edits(f"fast forms of {words}") for kept, words in chosen.items())
    kinds = {one.kind for one in found}
    names = [word for kind, word in _WORDS.items() if kind in kinds]
    reason = "The special function units compute these in few instructions, with a few bits less."
    return Rewritten(" and ".join(names), variants, 0.1 if in_loop(sight, found) else 0.03, reason)


_WORDS = {"function": "exponentials and logarithms", ANGLE: "sines and cosines", DIVISION: "divisions", ROOT: "roots"}

_BEFORE = """\
__global__ void softmax(const float* x, float* y, int rows, int columns) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + row * columns;
    float top = in[0];
    for (int k = 1; k < columns; ++k) top = fmaxf(top, in[k]);
    float sum = 0.0f;
    for (int k = 0; k < columns; ++k) sum += expf(in[k] - top);
    for (int k = 0; k < columns; ++k) y[row * columns + k] = expf(in[k] - top) / sum;
}

// workload: solve(x=randn(rows*columns), y=out(rows*columns), rows=65536, columns=64)
extern "C" void solve(const float* x, float* y, int rows, int columns) {
    softmax<<<(rows + 127) / 128, 128>>>(x, y, rows, columns);
}
"""

STRATEGY = cuda(
    "fast-math",
    "Use fast math",
    rewrite,
    family=Family.PRECISION,
    why="The special function units compute exponentials, logarithms and divisions in a fraction of the instructions.",
    doc="""\
Writes the fast forms of operations on `float`: `__expf`, `__exp10f`, `__logf`, `__log2f`, `__log10f`, `__sinf`, `__cosf`,
`__tanf`, `__sincosf`, `__fdividef(a, b)` for `a / b`, and `x * rsqrtf(y)` for `x / sqrtf(y)`. Device functions that no
other kernel calls are included. Variants leave out sines and cosines, then divisions, then all but roots, for the case that
the check of accuracy refuses more.

It pays where a kernel is bound by arithmetic: softmax over short rows, activations with exponentials, normalisations,
simulations. A kernel that waits for memory gains nothing.

It makes results less accurate, so that it has to be allowed (`acceptReducedAccuracy`). The intrinsics have an error of a few
units in the last place in the middle of their range, and more outside it: `__sinf` and `__cosf` only hold between -pi and pi,
`__expf` loses bits as its argument grows, and `__fdividef` yields 0 for divisors above 2^126. `powf` stays, since `__powf`
has no answer for a negative base.

It does not apply to doubles, to halves, or where the type of an operand does not follow from the text.
""",
    instruction="""\
Replace operations on float by their fast forms: __expf, __logf, __sinf, __cosf, __fdividef, and x * rsqrtf(y) for x / sqrtf(y).
Leave powf, doubles and integer divisions alone. Change nothing else.""",
    example=Example(
        before=_BEFORE,
        after=_BEFORE.replace("expf(in[k] - top) / sum", "__fdividef(expf(in[k] - top), sum)").replace(
            "expf", "__expf"
        ),
    ),
    reduced=True,
)
