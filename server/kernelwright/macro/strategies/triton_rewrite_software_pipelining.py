"""Load ahead what the next turns of a Triton kernel's loop need."""

import ast

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.source.bindings import Loop
from kernelwright.source.calls import argument
from kernelwright.values import Refusal

_FEW = 4  # turns that are over before a pipeline is full


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    loops = [loop for loop in sight.reading.loops if sight.loads_in(loop)]
    if not loops:
        return Absent("No loop of the kernel loads anything, so there is nothing to load ahead.")
    left = [loop for loop in loops if not _is_staged(loop)]
    if not left:
        return Absent("Every loop that loads has its number of stages already.")
    for loop in left:
        if _is_indirect(sight, loop):
            return Chance(
                f"dependent loads of the loop on line {loop.node.lineno}",
                0.2,
                "A load of the loop waits for another one that gives its address; the next address could be loaded ahead.",
            )
    plain = [loop for loop in left if not sight.calls_in(loop, "dot")]
    if not plain:
        return Absent("The loads of every loop feed a tl.dot, and those Triton pipelines by itself.")
    turns = _turns(sight, plain[0])
    if turns is not None and turns <= _FEW:
        return Absent(f"The loop has only {turns} turns, too few to fill a pipeline.")
    return Chance(
        f"loads of the loop on line {plain[0].node.lineno}",
        0.08,
        "Without a tl.dot Triton does not pipeline a loop unless it is told to, so each turn waits for its loads.",
    )


def _is_staged(loop: Loop) -> bool:
    iterable = loop.node.iter
    return isinstance(iterable, ast.Call) and any(keyword.arg == "num_stages" for keyword in iterable.keywords)


def _is_indirect(sight: Sight, loop: Loop) -> bool:
    """Whether an address in the loop is computed from what a load in it has brought."""
    brought = {one.name for one in sight.sets_in(loop) if "load" in one.calls}
    pointers = (argument(load, 0, "pointer") for load in sight.loads_in(loop))
    return any(names_read(pointer) & brought for pointer in pointers if pointer is not None)


def _turns(sight: Sight, loop: Loop) -> int | None:
    match loop.range:
        case ast.Call(args=[ast.Constant(value=0), stop]):
            return sight.number(stop)
        case ast.Call(args=[ast.Constant(value=0), stop, step]):
            length, width = sight.number(stop), sight.number(step)
            return -(-length // width) if length is not None and width else None
    return None


_HEAD = """\
import torch
import triton
import triton.language as tl


@triton.jit
def bag_kernel(table_ptr, index_ptr, out_ptr, n_index, dim, BLOCK: tl.constexpr):
    bag = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < dim
    index_ptr += bag * n_index
    total = tl.zeros((BLOCK,), tl.float32)
"""

_TAIL = """\
    tl.store(out_ptr + bag * dim + cols, total, mask=mask)


# workload: sum_of_bags(randn(100000, 256), randint(0, 100000, (16384, 32)))
# workload: sum_of_bags(randn(50, 37), randint(0, 50, (3, 5)))
def sum_of_bags(table, index):
    table, index = table.contiguous(), index.contiguous()
    n_bags, n_index = index.shape
    dim = table.shape[1]
    out = torch.empty((n_bags, dim), device=table.device, dtype=table.dtype)
    bag_kernel[(n_bags, triton.cdiv(dim, 128))](table, index, out, n_index, dim, BLOCK=128)
    return out
"""

STRATEGY = triton_rewrite(
    "software-pipelining",
    "Load ahead in loops",
    _look,
    family=Family.PIPELINING,
    why="A loop that waits for its loads in each turn leaves the memory idle while it computes.",
    doc="""\
Has the loads of later turns under way while one turn computes: `tl.range(..., num_stages=n)` where addresses are known
ahead, and a load that is moved one turn forward by hand where an address has to be loaded first.

It pays in loops of many turns that wait for memory, above all with dependent loads (an index, then the row that it names).
It does not pay where many programs share a multiprocessor and hide the waiting already, where the shared memory for more
stages leaves room for fewer programs, or in loops of few turns.

**Refused:** kernels without a loop that loads; loops that have a number of stages; loops whose loads all feed a `tl.dot`,
which Triton pipelines by itself; loops of a few turns.
""",
    instruction="""\
Keep loads of later turns of the loop in flight while the present turn computes.
1. Find the loop in which time is spent, and for each of its loads whether the address is known before the turn begins.
2. Addresses known ahead: iterate over `tl.range(start, stop, step, num_stages=3)`. Triton then copies asynchronously into
   shared memory. Try 2 to 4 stages; each costs one more copy of the blocks that are loaded in a turn.
3. Dependent loads (an index, then what it names): move the index one turn forward by hand. Load the first index before the
   loop; in the loop load the next index first, then what the present one names, compute, and last of all let the next be
   the present one. Combine this with 2.
4. Advance pointers by adding a constant, or compute them from the loop variable: what the compiler cannot tell it cannot
   pipeline.
Pitfalls: the load ahead reads one element too far in the last turn, and one too many where the loop does not run at all:
mask both (`mask=i + 1 < n`, `other=0`, an index that is valid). What the loop carries keeps its dtype, so cast the first
one as well. A store in the loop to memory that a later load reads forbids loading ahead. `tl.static_range` unrolls and does
not pipeline. Do not add stages until shared memory (227 KiB on Hopper) or occupancy is spent. Sums keep their order and
stay fp32.
It pays for long loops with few warps in flight; it does not where occupancy is high or turns are few.
Do not change the signature, the grid, the results, or which shapes, dtypes and strides are accepted.""",
    example=Example(
        before=_HEAD
        + """\
    for i in range(0, n_index):
        row = tl.load(index_ptr + i).to(tl.int64)
        total += tl.load(table_ptr + row * dim + cols, mask=mask, other=0.0)
"""
        + _TAIL,
        after=_HEAD
        + """\
    row = tl.load(index_ptr, mask=n_index > 0, other=0).to(tl.int64)
    for i in tl.range(0, n_index, num_stages=3):
        # The address of the next turn is on its way while this turn waits for its row.
        following = tl.load(index_ptr + i + 1, mask=i + 1 < n_index, other=0).to(tl.int64)
        total += tl.load(table_ptr + row * dim + cols, mask=mask, other=0.0)
        row = following
"""
        + _TAIL,
    ),
)
