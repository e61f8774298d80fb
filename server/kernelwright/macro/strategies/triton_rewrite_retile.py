"""Divide the work of a Triton kernel among its programs in another way."""

import ast

from kernelwright.macro.rewrites import Chance, multiprocessors, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.source.trees import walk
from kernelwright.values import Refusal

_SHORT = 1024  # elements of a row that leave most of a program's warps idle
_PER_MULTIPROCESSOR = 4  # programs that are in flight at once
_GROUPING = ("min", "minimum", "swizzle2d")  # what programs are put in groups with


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    if observation.kernel.facts.dots:
        return _of_tiles(sight)
    whole = sight.reading.block_sizes - sight.reading.shares
    if sight.reading.loops or len(whole) != 1 or len(sight.reading.lanes) != 1 or not sight.of_programs:
        return Absent("No program takes just one short row, and no tiles of a matrix product are handed out.")
    (block,) = (sight.number(one.end) for one in sight.reading.lanes)
    if block is None or sight.programs is None:
        return Absent("How long the row of a program is, and how many programs there are, the launch does not tell.")
    if block > _SHORT:
        return Absent(f"Each program takes a row of up to {block} elements, which keeps its warps busy.")
    if sight.programs < _PER_MULTIPROCESSOR * multiprocessors(observation.device):
        return Refusal(f"There are only {sight.programs} programs: fewer of them would leave multiprocessors idle.")
    return Chance(
        f"{sight.programs} programs of {block} lanes",
        0.3 if block <= _SHORT // 4 else 0.1,
        f"Each of the {sight.programs} programs takes one row of at most {block} elements, which is little for its warps.",
    )


def _of_tiles(sight: Sight) -> Chance | Refusal:
    calls = (node for node in sight.reading.nodes if isinstance(node, ast.Call))
    if any(_name(call) in _GROUPING and names_read(call) & sight.of_programs for call in calls):
        return Absent("The tiles of the matrix product are handed out in groups already.")
    axes = {ast.unparse(part) for name, call in sight.reading.calls if name == "program_id" for part in walk(call)}
    divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv) for n in sight.reading.nodes)
    if len(axes & {"0", "1", "2"}) < 2 and not divided:
        return Absent("The tiles of the matrix product have one axis only, so there is no order to change.")
    return Chance(
        "the order of tiles",
        0.1,
        "Tiles that run one after another share few rows and columns, so the L2 cache misses.",
    )


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
"""

_BEFORE = (
    _HEAD
    + """\
def unit_rows_kernel(x_ptr, out_ptr, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    length = tl.sqrt(tl.sum(x * x, axis=0))
    tl.store(out_ptr + row * n_cols + cols, x / (length + eps), mask=mask)


# workload: unit_rows(randn(262144, 48), 1e-6)
# workload: unit_rows(randn(7, 301), 1e-6)
def unit_rows(x, eps):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    unit_rows_kernel[(n_rows,)](x, out, n_cols, eps, BLOCK=triton.next_power_of_2(n_cols))
    return out
"""
)

_AFTER = (
    _HEAD
    + """\
def unit_rows_kernel(x_ptr, out_ptr, n_rows, n_cols, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    offsets = rows[:, None] * n_cols + cols[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    length = tl.sqrt(tl.sum(x * x, axis=1))
    tl.store(out_ptr + offsets, x / (length + eps)[:, None], mask=mask)


# workload: unit_rows(randn(262144, 48), 1e-6)
# workload: unit_rows(randn(7, 301), 1e-6)
def unit_rows(x, eps):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(n_cols)
    rows = max(2048 // block, 1)  # 16 elements a thread
    unit_rows_kernel[(triton.cdiv(n_rows, rows),)](x, out, n_rows, n_cols, eps, ROWS=rows, BLOCK=block, num_warps=4)
    return out
"""
)

STRATEGY = triton_rewrite(
    "retile",
    "Divide the work among programs differently",
    _look,
    family=Family.TILING,
    why="A program that takes one short row leaves lanes idle, and tiles in plain order find little of each other in L2.",
    doc="""\
Changes what one program does, not how many elements a block has. Several short rows become one tile of rows and columns, so
that all threads of a program have work and one launch has fewer programs. The tiles of a matrix product are handed out in
groups, so that those in flight at the same time read the same rows and columns.

It pays where rows are much shorter than a program has lanes, or where the operands of a product do not fit the L2 cache. It
does not pay where the programs would become fewer than the multiprocessors, or where the kernel is at the memory roof.

**Refused:** programs that take a block of a flat range, or a long row; too few programs; tiles that are grouped already; a
launch that does not tell the length of a row and the number of programs.
""",
    instruction="""\
Give each program another share of the work; what an element of the result is stays as it is.
1. Find out what one program does now: which axes of the result `tl.program_id` stands for, and what a block covers.
2. Short rows (one row a program, fewer than about 1024 elements): let a program take a tile of ROWS x BLOCK. Choose ROWS so
   that a thread holds 8 to 32 elements: 2048 elements for 4 warps is a good start. Offsets become `rows[:, None] * stride +
   cols[None, :]`, reductions run over axis 1, and a value of a row is broadcast by `[:, None]`.
3. Tiles of a product in plain order: keep the tile, and map a one-dimensional program id to (m, n) in groups of about 8
   tiles along M: group = pid // (GROUP * num_n), first = group * GROUP, size = min(num_m - first, GROUP), m = first + (pid
   % (GROUP * num_n)) % size, n = (pid % (GROUP * num_n)) // size.
4. Change the grid with it: `triton.cdiv(n_rows, ROWS)` programs, at least four for each multiprocessor if you can.
Pitfalls: both axes need a mask now, because the last tile is rarely full; masked lanes take the identity of the reduction
(0 for a sum, -inf for a maximum) through `other=`. Compute `rows * stride` in int64. A block size that `tl.arange` gets
must be a power of two. A value that was a scalar of the program (a row's mean, its length) is a vector now. Sums stay fp32.
It pays for short rows in large numbers and for products larger than L2; it does not where programs would become too few.
Do not change the launcher's signature, the shapes, dtypes and strides that it accepts, or the order of sums over a row.""",
    example=Example(_BEFORE, _AFTER),
)
