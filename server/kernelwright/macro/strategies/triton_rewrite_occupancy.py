"""Have a Triton kernel hold fewer values at once, so that registers suffice and more programs run."""

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.values import Refusal

_WARPS, _LANES = 4, 32
_MANY = 128  # values a thread from which on, with addresses and masks, registers run out


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    if sight.reading.is_autotuned:
        return Absent("The kernel is autotuned: its block and warps differ from configuration to configuration.")
    sides = [sight.number(one.end) for one in sight.reading.lanes]
    warps = sight.option("num_warps", _WARPS)
    if not sides or None in sides or warps is None:
        return Absent("How many elements a program holds, and on how many warps, the launch does not tell.")
    if len(sides) > 1:
        return Absent("The kernel works on tiles of several sides, whose registers its text does not tell.")
    tiles = [a for a in sight.reading.loads_and_stores if a.kind == "load" and names_read(a.call) & sight.of_lanes]
    each = (sides[0] or 0) // (warps * _LANES)
    held = each * len(tiles)
    if held < _MANY:
        return Absent(f"A thread holds about {held} elements at once, for which its registers suffice.")
    return Chance(
        f"{sides[0]} lanes on {warps} warps",
        0.3 if held >= 2 * _MANY else 0.1,
        f"A thread holds about {held} elements of {len(tiles)} blocks at once, and has at most 255 registers.",
    )


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_backward_kernel(y_ptr, dy_ptr, dx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    y_ptr += row * n_cols
    dy_ptr += row * n_cols
    dx_ptr += row * n_cols
"""

_TAIL = """\


# workload: softmax_backward(rand(4096, 16384), randn(4096, 16384))
# workload: softmax_backward(rand(3, 2501), randn(3, 2501))
def softmax_backward(y, dy):
    y, dy = y.contiguous(), dy.contiguous()
    n_rows, n_cols = y.shape
    dx = torch.empty_like(y)
    softmax_backward_kernel[(n_rows,)](y, dy, dx, n_cols, BLOCK={block})
    return dx
"""

STRATEGY = triton_rewrite(
    "occupancy",
    "Lower register pressure",
    _look,
    family=Family.REGISTERS,
    why="A program that holds more values than registers spills them to memory, and one that nearly does runs alone.",
    doc="""\
Has a thread hold fewer values: a whole row in one block becomes a loop over chunks, values are loaded where they are used,
and the launch gets warps for the size of its block. Then nothing spills, and more programs of a multiprocessor hide each
other's waiting.

It pays where a thread holds a hundred values and more. It does not pay where the row's second reading misses the L2 cache
and nothing was spilled before: keeping a row in registers is right as long as it fits.

**Refused:** kernels whose block and warps the launch does not tell, tiles of several sides, autotuned kernels, and blocks
that registers suffice for.
""",
    instruction="""\
Lower the number of values that a thread holds at once.
1. Estimate: elements of the block / (32 * num_warps), times the blocks that are alive at the same time. Aim at 64 or less;
   the limit is 255 registers, and above 128 only few programs share a multiprocessor.
2. Cheapest first: raise num_warps with the block (about 8 to 16 elements a thread; at most 32 warps), choosing it in the
   launcher from the row length.
3. If that is not enough, loop over chunks of 1024 to 4096 elements: one loop for each reduction that the result waits for,
   and one that loads again and stores. The second reading mostly comes from L2. Let the accumulator be a vector, and reduce
   it once behind the loop, or a scalar that adds each chunk's sum.
4. Load an operand right before its use, store a result as soon as it is known, and recompute what is cheap (masks, offsets,
   exponentials of few values) instead of keeping it.
5. Reuse names in place: a value that is cast to fp32 need not be kept in its old dtype as well.
Pitfalls: each chunk has its own mask, and masked lanes take the identity of the reduction. The first chunk must not be
special. A scalar accumulator is fp32 from the start (`total = 0.0`). Keep accuracy: two passes for a variance stay two
passes, a maximum is still subtracted before the exponential. Rows of length 0, and shorter than a chunk, stay right.
Offsets in int64.
It pays for spilling and lonely programs; for rows that fit into registers it only adds a reading.
Do not change the signature, the results, or the shapes, dtypes and strides that are accepted.""",
    example=Example(
        before=_HEAD
        + """\
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    total = tl.sum(y * dy, axis=0)
    tl.store(dx_ptr + cols, y * (dy - total), mask=mask)
"""
        + _TAIL.format(block="triton.next_power_of_2(n_cols)"),
        after=_HEAD
        + """\
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        total += tl.sum(y * dy, axis=0)
    # The row is still in the L2 cache when it is read again.
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        y = tl.load(y_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx_ptr + cols, y * (dy - total), mask=mask)
"""
        + _TAIL.format(block="2048"),
    ),
)
