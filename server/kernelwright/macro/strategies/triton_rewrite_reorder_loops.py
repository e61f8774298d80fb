"""Change the order of the nested loops of a Triton kernel."""

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight, is_in
from kernelwright.micro.rewrite.triton_source import assigned_names, names_read
from kernelwright.source.bindings import Loop
from kernelwright.values import Refusal


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    pairs = [(one, inner) for inner in sight.nested_loops for one in sight.reading.loops if _is_around(one, inner)]
    if not pairs:
        return Absent("No loop of the kernel stands inside another one.")
    free = [(outer, inner) for outer, inner in pairs if not names_read(inner.node.iter) & assigned_names(outer.node)]
    if not free:
        line = pairs[0][1].node.lineno
        return Refusal(f"What the loop on line {line} runs over depends on the loop around it.", line=line - 1)
    for outer, inner in free:
        kinds = {access.kind for access in sight.reading.accesses if is_in(inner, access.call.lineno)}
        if {"load", "store"} <= kinds:
            return Chance(
                f"loops on lines {outer.node.lineno} and {inner.node.lineno}",
                0.5,
                "The inner loop loads and stores its results in each turn of the outer one; they could stay in registers.",
            )
        if any(not names_read(load) & assigned_names(outer.node.target) for load in sight.loads_in(inner)):
            return Chance(
                f"loops on lines {outer.node.lineno} and {inner.node.lineno}",
                0.15,
                "The inner loop loads the same elements again in each turn of the outer one.",
            )
    return Absent("No element is loaded or stored again in each turn of an outer loop.")


def _is_around(outer: Loop, inner: Loop) -> bool:
    """Whether `inner` stands directly in the loop `outer`."""
    return any(statement is inner.node for statement in outer.node.body)


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def filter_kernel(x_ptr, taps_ptr, out_ptr, length, n_taps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * length
    out_ptr += row * length
"""

_TAIL = """\


# workload: causal_filter(randn(4096, 16384), randn(16))
# workload: causal_filter(randn(3, 301), randn(3))
def causal_filter(x, taps):
    x, taps = x.contiguous(), taps.contiguous()
    n_rows, length = x.shape
    out = torch.{made}(x)
    filter_kernel[(n_rows,)](x, taps, out, length, taps.numel(), BLOCK=256)
    return out
"""

STRATEGY = triton_rewrite(
    "reorder-loops",
    "Reorder nested loops",
    _look,
    family=Family.REORDERING,
    why="The order of nested loops decides what stays in registers and what goes through memory in each turn.",
    doc="""\
Puts the loop outside whose results can stay in registers, and the one inside that adds to them. So a result is stored once
instead of being loaded and stored in each turn, or an operand is loaded once for all turns.

It pays where the inner loop stores partial results, or loads again what it loaded in the turn of the outer loop before. It
does not pay where the L1 cache holds what is loaded again, or where the results of all turns do not fit into registers.

**Refused:** kernels without a loop inside a loop; an inner loop whose range depends on the outer one; loops in which
nothing is loaded or stored again.
""",
    instruction="""\
Exchange two nested loops of the kernel so that what the inner loop adds to stays in registers.
1. For each load and store in the nest, write down which loop variables its address depends on.
2. The loop that the stored result depends on goes outside; the loop that sums (taps, channels, k) goes inside.
3. Move the accumulator's start before the new inner loop (`tl.zeros((BLOCK,), tl.float32)`), and the store behind it. What
   was a load, an addition and a store in each turn becomes one addition to the accumulator.
4. A load that depends on the outer variable alone moves out of the inner loop.
5. Where the results were summed up in memory, the launcher may now allocate with `torch.empty_like`: check that every
   element is stored, also where the inner loop does not run at all.
Pitfalls: exchange only loops whose ranges do not depend on each other, and between whose statements nothing is read that
the other order would not have written yet. Each address keeps its own mask: after the exchange the mask of the store is
that of the outer block, and a load at a shifted place still needs both of its bounds. Masked lanes add 0. Keep offsets of
rows in int64. Accumulate in fp32, and round once at the store; if the old code rounded each partial sum to fp16, fewer
roundings are an improvement, not a fault. Keep the order of the summands.
It pays for partial sums in memory; it does not where more accumulators are needed than there are registers.
Do not change the signature, the accepted shapes, dtypes and strides, or the grid, unless a program's share changes with it.""",
    example=Example(
        before=_HEAD
        + """\
    for tap in range(0, n_taps):
        weight = tl.load(taps_ptr + tap)
        for start in range(0, length, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + at - tap, mask=(at >= tap) & (at < length), other=0.0)
            total = tl.load(out_ptr + at, mask=at < length, other=0.0)
            tl.store(out_ptr + at, total + weight * x, mask=at < length)
"""
        + _TAIL.format(made="zeros_like"),
        after=_HEAD
        + """\
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for tap in range(0, n_taps):
            weight = tl.load(taps_ptr + tap)
            x = tl.load(x_ptr + at - tap, mask=(at >= tap) & (at < length), other=0.0)
            total += weight * x
        tl.store(out_ptr + at, total, mask=at < length)
"""
        + _TAIL.format(made="empty_like"),
    ),
)
