"""Unroll the innermost loops of a kernel, by several factors."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.macro.cuda import Rewritten, cuda
from kernelwright.macro.strategy import Example, Family
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_FACTORS = (4, 8, 2, 16)
_LONGEST = 64  # turns that are unrolled completely
_STEPS = re.compile(r"(?:\+\+(?P<a>\w+)|(?P<b>\w+)\+\+|(?P<c>\w+)\s*\+=\s*1)$")


@dataclass(frozen=True, eq=False)
class Turns:
    """A loop with the number of its turns; 0 where it depends on a template or is not known. `is_fixed`: while compiling."""

    node: Node
    number: int
    is_fixed: bool

    @property
    def is_short(self) -> bool:
        return self.is_fixed and self.number <= _LONGEST


def rewrite(sight: CudaSight) -> Rewritten | Refusal:
    inner = [one for one in of_type(sight.kernel.body, "for_statement") if _is_innermost(one)]
    every = [one for one in inner if sight.is_reached(one)]
    if not every:
        return Refusal("The kernel has no loop that counts.", sight.kernel.name_node.start_point.row)
    silent = [one for one in every if not _says(sight, one)]
    if not silent:
        return Refusal("Each innermost loop says already how it is unrolled.", every[0].start_point.row)
    placed = [one for one in silent if _begins_line(sight, one)]
    if not placed:
        return Refusal("There is no line for a #pragma in front of the loop.", silent[0].start_point.row)
    loops = [_turns(sight, one) for one in placed]
    words: tuple[str, ...] = tuple(str(factor) for factor in _FACTORS)
    if all(one.is_short for one in loops):
        words = ("", "4", "1")
    variants = tuple(_unrolled(sight, loops, factor).edits(_summary(factor)) for factor in words)
    lines = ", ".join(str(one.node.start_point.row + 1) for one in loops)
    loads = any(one.reads and one.space in ("global", "shared") for one in sight.accesses if _holds(loops, one.node))
    open_ones = not all(one.is_fixed for one in loops)
    reason = (
        "Loads of several turns can be under way at once, and the loop is counted less often."
        if loads
        else "The loop is counted less often."
    )
    what = f"{'loops' if len(loops) > 1 else 'loop'} of line {lines}"
    return Rewritten(what, variants, 0.06 if loads and open_ones else 0.02, reason)


def _unrolled(sight: CudaSight, loops: list[Turns], factor: str) -> Patch:
    """The text with a `#pragma` in front of each loop; short ones are unrolled completely beside others."""
    patch, others = sight.patch(), not all(one.is_short for one in loops)
    for one in loops:
        said = "" if one.is_short and others else factor
        patch.before(one.node, f"#pragma unroll {said}".rstrip() + "\n" + indent_of(sight.file.source, one.node))
    return patch


def _summary(factor: str) -> str:
    return {"": "unrolled completely", "1": "not unrolled"}.get(factor, f"unrolled by {factor}")


def _holds(loops: list[Turns], node: Node) -> bool:
    return any(is_inside(node, one.node) for one in loops)


def _is_innermost(loop: Node) -> bool:
    return not any(one != loop for one in of_type(loop, *_LOOPS))


def _says(sight: CudaSight, loop: Node) -> bool:
    """Whether a `#pragma` stands in front of a loop."""
    before = loop.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    said = before is not None and before.type == "preproc_call" and "pragma" in sight.content(before)
    ahead = sight.file.source.source[: loop.start_byte].rstrip()
    return said or (ahead.endswith(b")") and b"_Pragma" in ahead.rsplit(b"\n", 1)[-1])


def _begins_line(sight: CudaSight, loop: Node) -> bool:
    """Whether a line of its own in front of a loop is no statement of anything else."""
    source = sight.file.source.source
    line = source[source.rfind(b"\n", 0, loop.start_byte) + 1 : loop.start_byte]
    return loop.parent is not None and loop.parent.type == "compound_statement" and not line.strip()


def _turns(sight: CudaSight, node: Node) -> Turns:
    loop = next((one for one in sight.names.loops if one.node == node), None)
    if loop is None or loop.condition is None or loop.update is None:
        return Turns(node, 0, False)
    operator, left, right = (field(loop.condition, one) for one in ("operator", "left", "right"))
    if operator is None or left is None or right is None or sight.content(left) != loop.variable:
        return Turns(node, 0, False)
    return _counted(sight, node, loop, sight.content(operator), right)


def _counted(sight: CudaSight, node: Node, loop: Loop, operator: str, right: Node) -> Turns:
    first, last = sight.names.number(loop.start), sight.names.polynomial(right)
    match = _STEPS.match(sight.content(loop.update)) if loop.update is not None else None
    step = 1 if match is not None else _step(sight, loop)
    if first is None or not step or operator not in ("<", "<="):
        return Turns(node, 0, False)
    if last.number is None:
        return Turns(node, 0, bool(last.names) and last.names <= set(sight.kernel.templates))
    return Turns(node, max(0, -(-(last.number + (operator == "<=") - first) // step)), True)


def _step(sight: CudaSight, loop: Loop) -> int | None:
    operator = field(loop.update, "operator")
    if operator is None or sight.content(operator) != "+=":
        return None
    return sight.names.number(field(loop.update, "right"))


_BEFORE = """\
// Squared distance of each point to one centre, in any number of dimensions.
__global__ void distances(const float* __restrict__ points, const float* __restrict__ centre, float* out, int n, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < d; ++k) {
        float difference = points[k * n + i] - centre[k];
        sum += difference * difference;
    }
    out[i] = sum;
}

// workload: solve(points=randn(d*n), centre=randn(d), out=out(n), n=1 << 18, d=64)
extern "C" void solve(const float* points, const float* centre, float* out, int n, int d) {
    distances<<<(n + 127) / 128, 128>>>(points, centre, out, n, d);
}
"""

STRATEGY = cuda(
    "unroll",
    "Unroll inner loops",
    rewrite,
    family=Family.PIPELINING,
    why="In an unrolled loop the loads of several turns are under way at once, and the counter is compared less often.",
    doc="""\
Puts `#pragma unroll` in front of the innermost loops of a kernel: with a factor of 2, 4, 8 or 16 where the number of turns
is known only when the kernel runs, completely where it is a small number. Each factor is a variant, and the fastest is kept.
No value changes: the operations stay, in their order.

It pays where each turn waits for a load, since the compiler moves the loads of the unrolled turns together, and where a turn
is so short that counting costs as much as the work. It costs registers, and with them perhaps occupancy. Loops with a small
constant number of turns are unrolled by the compiler anyway; for these a variant with `#pragma unroll 1` is tried, too, which
takes fewer registers.

It does not apply where each innermost loop has a `#pragma` already, or to `while` loops.
""",
    instruction="""\
Put #pragma unroll with a good factor in front of the innermost loops of this kernel, without a factor where the number of
turns is a small constant. Change nothing else.""",
    example=Example(
        before=_BEFORE,
        after=_BEFORE.replace("    for (int k", "    #pragma unroll 4\n    for (int k"),
    ),
)
