"""Split a long reduction of a Triton kernel over several programs."""

import ast

from kernelwright.macro.rewrites import Chance, multiprocessors, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.source.bindings import Loop
from kernelwright.source.calls import argument
from kernelwright.values import Refusal

_LONG, _DEEP = 16384, 2048  # elements of a row, and of the inner side of a matrix product, that are worth dividing


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    facts = observation.kernel.facts
    folded = {one.line for one in facts.reductions} | {one.line for one in facts.dots}
    loops = [loop for loop in sight.reading.loops if folded & set(_lines(loop)) or _adds_up(loop)]
    loops = [loop for loop in loops if sight.loads_in(loop)]
    if not loops:
        return Absent("No loop of the kernel reduces what it loads.")
    if any(access.kind == "atomic" for access in facts.accesses):
        return Absent("The kernel joins the results of several programs by atomics already.")
    length = max((size for loop in loops if (size := _length(sight, loop)) is not None), default=None)
    if length is None or sight.programs is None:
        return Absent("How long the reduction is, and how many programs share it, the launch does not tell.")
    least = _DEEP if facts.dots else _LONG
    if length < least:
        return Absent(f"The reduction has {length} elements, too few to divide.")
    room = multiprocessors(observation.device)
    if sight.programs >= room:
        return Absent(f"There are {sight.programs} programs, enough to keep {room} multiprocessors busy.")
    return Chance(
        f"reduction of {length} elements by {sight.programs} programs",
        round(min(0.5 * (room / sight.programs - 1), 2.0), 2),
        f"{sight.programs} programs reduce {length} elements each, while {room} multiprocessors could share them.",
    )


def _lines(loop: Loop) -> range:
    return range(loop.node.lineno - 1, loop.node.end_lineno or loop.node.lineno)


def _adds_up(loop: Loop) -> bool:
    return any(isinstance(statement, ast.AugAssign) for statement in loop.node.body)


def _length(sight: Sight, loop: Loop) -> int | None:
    """What the range of the loop ends with, in elements."""
    if loop.range is None or not loop.range.args:
        return None
    stop = argument(loop.range, 0 if len(loop.range.args) == 1 else 1, "stop")
    if isinstance(stop, ast.Call) and sight.reading.tl(stop) == "cdiv" and stop.args:
        return sight.number(stop.args[0])
    return sight.number(stop)


_BEFORE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def norm_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    tl.store(out_ptr + row, tl.sqrt(total))


# workload: row_norms(randn(8, 4194304))
# workload: row_norms(randn(3, 2003))
def row_norms(x):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    norm_kernel[(n_rows,)](x, out, n_cols, BLOCK=1024)
    return out
"""

_AFTER = """\
import torch
import triton
import triton.language as tl


@triton.jit
def squares_kernel(x_ptr, parts_ptr, n_cols, share, BLOCK: tl.constexpr):
    row, split = tl.program_id(0).to(tl.int64), tl.program_id(1)
    total = 0.0
    end = tl.minimum((split + 1) * share, n_cols)
    for start in range(split * share, end, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < end, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    tl.store(parts_ptr + row * tl.num_programs(1) + split, total)


@triton.jit
def norm_kernel(parts_ptr, out_ptr, n_splits, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    splits = tl.arange(0, SPLITS)
    parts = tl.load(parts_ptr + row * n_splits + splits, mask=splits < n_splits, other=0.0)
    tl.store(out_ptr + row, tl.sqrt(tl.sum(parts, axis=0)))


# workload: row_norms(randn(8, 4194304))
# workload: row_norms(randn(3, 2003))
def row_norms(x):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, device=x.device, dtype=x.dtype)
    block = 1024
    n_splits = max(min(triton.cdiv(n_cols, block), 512 // max(n_rows, 1)), 1)
    share = triton.cdiv(triton.cdiv(n_cols, block), n_splits) * block  # whole blocks for each program
    parts = torch.empty((n_rows, n_splits), device=x.device, dtype=torch.float32)
    squares_kernel[(n_rows, n_splits)](x, parts, n_cols, share, BLOCK=block)
    norm_kernel[(n_rows,)](parts, out, n_splits, SPLITS=triton.next_power_of_2(n_splits))
    return out
"""

STRATEGY = triton_rewrite(
    "split-reduction",
    "Split the reduction over programs",
    _look,
    family=Family.SPLIT_REDUCTION,
    why="A few programs that reduce very long rows leave most multiprocessors idle.",
    doc="""\
Has several programs reduce parts of one row, or of the inner side of one matrix product, and joins their results in a
second kernel. Atomics would save that kernel, but give other last digits in each run.

It pays where there are fewer programs than multiprocessors and each of them runs through a long loop. It does not pay where
the rows alone keep the device busy, or where the second launch costs more than the parts save.

**Refused:** kernels without a reducing loop; as many programs as multiprocessors; short reductions; kernels that use
atomics; a launch that does not tell the length and the number of programs.
""",
    instruction="""\
Split the long reduction over several programs, and join their partial results in a second kernel.
1. Add a grid axis for the parts. Choose their number from the sizes: rows x parts about two to four times the number of
   multiprocessors, and each part at least a few blocks long. Give every part a whole number of blocks.
2. In the first kernel let the loop run from the part's start to min(its end, the row's end), mask against that end, and
   store the partial result in fp32 to a buffer `parts[row, part]` that the launcher allocates with `torch.empty`.
3. In the second kernel one program a row loads its parts, masked with the identity of the reduction, combines them, and
   does what came after the reduction (square root, division, cast, bias, store).
4. A state of several numbers is stored and merged as such: (maximum, sum of exponentials) with rescaling; (count, mean, M2)
   by the formula of Chan; a dot's accumulator as a tile for each part.
Pitfalls: a part that begins beyond the row must store the identity (0, -inf), not garbage, and merging two -inf maxima must
not give NaN. Round the share up to whole blocks, so that no column is counted twice or left out. Offsets in int64. Do not
use `tl.atomic_add` for floating point unless the baseline does: results must be the same in every run. Partial sums stay
fp32 also where inputs and outputs are fp16. Keep one part when the row is short, so that small sizes stay right and fast.
It pays for few long rows and for deep, narrow products; it does not where programs outnumber the multiprocessors.
Do not change the launcher's signature, its results' shape and dtype, or the shapes, dtypes and strides that it accepts.""",
    example=Example(_BEFORE, _AFTER),
)
