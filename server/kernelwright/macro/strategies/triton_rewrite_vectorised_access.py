"""Widen the loads and stores of a Triton kernel that touch scattered or unprovably contiguous elements."""

import ast

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.source.trees import walk
from kernelwright.values import Refusal

_MOST = 8  # a stride beyond which no neighbour is worth loading with an element
_PROMISES = ("max_contiguous", "multiple_of")


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    for access in observation.kernel.facts.accesses:
        stride = access.innermost_stride
        if isinstance(stride, int) and 1 < stride <= _MOST:
            return Chance(
                f"{access.kind} with a stride of {stride}",
                0.3,
                f"The {access.kind} on line {access.line + 1} touches one element of {stride}, and what lies between moves, "
                "too.",
            )
    if any(name in _PROMISES for name, _ in sight.reading.calls):
        return Absent("The kernel already tells the compiler which of its offsets are contiguous.")
    hiding = (node for node in sight.reading.nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))
    hidden = next((node for node in hiding if _has_lanes(sight, node.left)), None)
    if hidden is None:
        return Absent("Every access touches neighbouring elements, as far as the text tells.")
    return Chance(
        f"offsets on line {hidden.lineno}",
        0.05,
        f"The remainder on line {hidden.lineno} hides that neighbouring lanes read neighbouring elements.",
    )


def _has_lanes(sight: Sight, node: ast.expr) -> bool:
    """Whether an expression has an element for each lane."""
    return bool(names_read(node) & sight.of_lanes) or any(sight.reading.tl(part) == "arange" for part in walk(node))


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def complex_product_kernel(a_ptr, b_ptr, out_ptr, n_pairs, BLOCK: tl.constexpr):
"""

_TAIL = """\


# workload: complex_product(randn(8388608, 2), randn(8388608, 2))
# workload: complex_product(randn(1003, 2), randn(1003, 2))
def complex_product(a, b):
    if a.shape[-1] != 2 or a.shape != b.shape:
        raise ValueError("complex_product takes two tensors of pairs, of one shape")
    a, b = a.contiguous(), b.contiguous()
    out = torch.empty_like(a)
    n_pairs = a.numel() // 2
    complex_product_kernel[(triton.cdiv(n_pairs, 512),)](a, b, out, n_pairs, BLOCK=512)
    return out
"""

STRATEGY = triton_rewrite(
    "vectorised-access",
    "Widen memory accesses",
    _look,
    family=Family.VECTORISE,
    why="A warp's access is fastest where its lanes touch neighbouring bytes, several elements a lane in one instruction.",
    doc="""\
Makes loads and stores contiguous, so that each lane moves up to 16 bytes at once. Interleaved data (real and imaginary
parts, pairs of a rotation, colour channels) are loaded as one contiguous block and taken apart in registers. Where offsets
are contiguous but the compiler cannot tell, `tl.max_contiguous` and `tl.multiple_of` say so.

It pays in memory-bound kernels. It does not pay where the L1 cache serves the second half of each line anyway and the
kernel is at the memory roof, or where taking apart needs more exchanges between lanes than it saves.

**Refused:** kernels whose accesses are contiguous as far as the text tells; strides known at run time only, which Triton
specialises by itself where they are 1; strides of more than eight elements.
""",
    instruction="""\
Make the kernel's loads and stores contiguous and wide.
1. For each access find the stride between neighbouring lanes. Only strides that the text fixes (2, 3, 4, ...) or offsets
   whose contiguity is hidden (`% n`, `// n`, tables) are worth work; Triton vectorises stride 1 by itself.
2. Interleaved pairs or quadruples: load one contiguous block of `2 * BLOCK` elements, then `tl.split(tl.reshape(block,
   (BLOCK, 2)))` gives the two parts; `tl.interleave(first, second)` puts results together for one contiguous store. For
   four parts split twice.
3. Three parts are no power of two: load the whole span with a block of the next power of two, or let each part be a load of
   its own and rely on L1, whichever measures better.
4. Hidden contiguity: `tl.max_contiguous(tl.multiple_of(offsets, BLOCK), BLOCK)`, only where it is true for every program.
5. Choose BLOCK so that each thread gets 16 bytes of an operand (8 fp16 or 4 fp32 elements) for the warps that are launched.
Pitfalls: the mask of a widened block counts elements, not pairs (`at < 2 * n_pairs`). A promise by `multiple_of` that is
false for one size, offset or view reads the wrong elements without any error: make it only of what the launcher guarantees.
Tensors need not start at an address of 16 bytes, so leave alignment to Triton's own check of arguments. Offsets of large
tensors are int64. Compute in fp32 as before; nothing here changes a digit.
It pays where bytes were fetched in vain; it does not where the kernel computes more than it loads.
Do not change the signature, the results, or the shapes, dtypes and strides that are accepted: `.contiguous()` where it was.""",
    example=Example(
        before=_HEAD
        + """\
    pairs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = pairs < n_pairs
    a_re = tl.load(a_ptr + 2 * pairs, mask=mask)
    a_im = tl.load(a_ptr + 2 * pairs + 1, mask=mask)
    b_re = tl.load(b_ptr + 2 * pairs, mask=mask)
    b_im = tl.load(b_ptr + 2 * pairs + 1, mask=mask)
    tl.store(out_ptr + 2 * pairs, a_re * b_re - a_im * b_im, mask=mask)
    tl.store(out_ptr + 2 * pairs + 1, a_re * b_im + a_im * b_re, mask=mask)
"""
        + _TAIL,
        after=_HEAD
        + """\
    at = tl.program_id(0).to(tl.int64) * (2 * BLOCK) + tl.arange(0, 2 * BLOCK)
    mask = at < 2 * n_pairs
    a_re, a_im = tl.split(tl.reshape(tl.load(a_ptr + at, mask=mask), (BLOCK, 2)))
    b_re, b_im = tl.split(tl.reshape(tl.load(b_ptr + at, mask=mask), (BLOCK, 2)))
    product = tl.interleave(a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re)
    tl.store(out_ptr + at, product, mask=mask)
"""
        + _TAIL,
    ),
)
