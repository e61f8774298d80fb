"""A matrix product of one element a thread, `C[row, col] = Σ A[row, k] * B[k, col]`, however its indices are spelled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import mentions, named, plain, unsettled
from kernelwright.micro.rewrite.cuda_guarded import declared, statements_of, type_of
from kernelwright.micro.rewrite.cuda_inner_loop import InnerLoop, inner_loop, is_product_sum, sum_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_AXES = ("x", "y")
_NARROWED = r"__float2(?:half|bfloat16)(?:_rn)?|__half|half|__nv_bfloat16|nv_bfloat16"
_ZERO = re.compile(rf"(?P<call>(?:{_NARROWED})\()?(?:0\.?0?|\.0)[fF]?(?(call)\))")
POSITIONS = frozenset(f"{name}.{axis}" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim") for axis in _AXES)


@dataclass(frozen=True, eq=False)
class Side:
    """One operand with the local that counts its rows or columns, up to `extent`, along one axis of the grid.

    `along_k`: its elements lie beside each other along `k`, else along the local. `stride` is what the other one steps by.
    """

    access: Access
    name: str
    type: str
    axis: str
    extent: Node
    along_k: bool
    stride: Polynomial
    first: Polynomial  # the index of its first element


@dataclass(frozen=True, eq=False)
class Matmul:
    """`rows` and `columns` are the operands of the product; `epilogue` is what each thread does with its sum."""

    loop: InnerLoop
    rows: Side
    columns: Side
    sum: str
    kept: tuple[Node, ...]
    epilogue: tuple[Node, ...]


def matmul(sight: CudaSight, elements: Sequence[str]) -> Matmul | Refusal:
    """The product that a kernel computes; a Refusal that says what it does otherwise.

    Both operands are of one of the types `elements`, and the sum is of the same type or a float.
    """
    found = inner_loop(sight)
    if isinstance(found, Refusal):
        return found
    line = found.loop.node.start_point.row
    operands = [one for one in sight.accesses if is_inside(one.node, found.loop.body)]
    total = sum_of(sight, found.loop)
    if len(operands) != 2 or total is None or not is_product_sum(sight, found.loop, operands[0], operands[1]):
        return Refusal("The loop adds up something other than a product of two elements.", line)
    kinds, summed = {element_of(sight, one) for one in operands}, type_of(sight, total)
    if len(kinds) != 1 or not kinds <= {*elements} or summed not in ("float", *kinds):
        return Refusal(f"The product is not one of {' or '.join(elements)}, summed up in that or float.", line)
    if sight.kernel.templates:
        return Refusal("The kernel is a template.", sight.kernel.outer.start_point.row)
    sides = [_side(sight, found, one) for one in operands]
    for side in sides:
        if isinstance(side, Refusal):
            return side
    rows, columns = (side for side in sides if isinstance(side, Side))
    if rows.name == columns.name or rows.axis == columns.axis:
        return Refusal("Both operands follow the same index.", line)
    rows, columns = _ordered(sight, found, rows, columns)
    return _parts(sight, found, rows, columns, total)


def element_of(sight: CudaSight, access: Access) -> str:
    """The type of what a parameter of the kernel points to; "" where the access is none of a plain pointer's element."""
    parameter = sight.kernel.parameter(access.base)
    return parameter.base if parameter is not None and parameter.pointers == 1 and len(access.indices) == 1 else ""


def _side(sight: CudaSight, found: InnerLoop, access: Access) -> Side | Refusal:
    """An operand whose index is made of `k`, one local that counts rows or columns, and what is the same for all."""
    code, line = sight.content(access.node), access.node.start_point.row
    if access.start is not None:
        return Refusal(f"`{code}` reads through a local pointer.", line)
    counting = {
        sight.content(one)
        for one in of_type(access.indices[0], "identifier")
        if sight.names.behind(one) & POSITIONS and sight.content(one) != found.loop.variable
    }
    raw = next(named(sight.file.source, access.indices[0], POSITIONS), None)
    if len(counting) != 1 or raw is not None:
        return Refusal(f"The index of `{code}` is not made of one row or column and `{found.loop.variable}`.", line)
    name = next(iter(counting))
    loose = next(filter(None, (unsettled(sight.names, one) for one in of_type(access.node, "identifier")
                               if sight.content(one) != found.loop.variable)), None)  # fmt: skip
    axis = next((axis for axis in _AXES if counts(sight, name, axis)), None)
    if loose is not None or axis is None:
        reason = f"`{loose or name}` does not count the threads of the grid along one axis."
        return Refusal(reason, line)
    extents = [
        limit for bound in found.bounds if (limit := limit_of(sight, bound.node, bound.negated, name)) is not None
    ]
    if len(extents) != 1:
        return Refusal(f"No guard says how far `{name}` goes.", line)
    return _measured(sight, found, access, name, axis, extents[0])


def _measured(sight: CudaSight, found: InnerLoop, access: Access, name: str, axis: str, extent: Node) -> Side | Refusal:
    """The side with its strides, where its elements lie beside each other in one direction."""
    settled = _opaque(sight, access.indices[0], frozenset({name}))
    k = found.loop.variable
    along, across = settled.coefficient(k), settled.coefficient(name)
    if along is None or across is None or not along.terms or not across.terms or name in along.names:
        return Refusal(f"`{sight.content(access.node)}` is no element of a matrix.", access.node.start_point.row)
    for beside, stride, along_k in ((along, across, True), (across, along, False)):
        if beside.number == 1 and k not in stride.names and name not in stride.names:
            first = settled.without(k).without(name)
            return Side(access, name, type_of(sight, name) or "int", axis, extent, along_k, stride, first)
    reason = f"The elements of `{sight.content(access.node)}` do not lie beside each other in either direction."
    return Refusal(reason, access.node.start_point.row)


def _opaque(sight: CudaSight, node: Node, names: frozenset[str]) -> Polynomial:
    """An index in which these locals stand for themselves."""
    return Names(sight.file, sight.kernel, names).polynomial(node)


def counts(sight: CudaSight, name: str, axis: str) -> bool:
    """Whether a local is `blockIdx.x * blockDim.x + threadIdx.x`, or the same with the block's size as a number."""
    value = sight.names.values.get(name)
    block = sight.block
    if value is None or block is None:
        return False
    size = block[_AXES.index(axis)] if len(block) > _AXES.index(axis) else 1
    index = sight.names.polynomial(value).at({f"blockDim.{axis}": size})
    whole = polynomials.number(size) * polynomials.name(f"blockIdx.{axis}") + polynomials.name(f"threadIdx.{axis}")
    return index == whole


def limit_of(sight: CudaSight, node: Node, negated: bool, name: str) -> Node | None:
    """`E` of `name < E`, of `E > name`, and of the opposite of `name >= E`."""
    left, right, sign = (field(node, part) for part in ("left", "right", "operator"))
    if left is None or right is None or sign is None:
        return None
    below, above = (">=", "<=") if negated else ("<", ">")
    if plain(sight.file.source, left) == name and sight.content(sign) == below:
        return right
    return left if plain(sight.file.source, right) == name and sight.content(sign) == above else None


def _ordered(sight: CudaSight, found: InnerLoop, one: Side, other: Side) -> tuple[Side, Side]:
    """The side of the columns last: the one along which the results lie beside each other, where that can be seen."""
    for store in (
        access for access in sight.accesses if access.writes and access.node.start_byte > one.access.node.start_byte
    ):
        index = _opaque(sight, store.indices[0], frozenset({one.name, other.name}))
        step = index.coefficient(one.name)
        if step is not None and step.number == 1:
            return other, one
    return one, other


def _parts(sight: CudaSight, found: InnerLoop, rows: Side, columns: Side, total: str) -> Matmul | Refusal:
    """What of the kernel stays where it is, and what each element goes through at the end."""
    counted = frozenset({rows.name, columns.name})
    dropped, kept, moved = set(counted), [], []
    for one in found.head:
        names = declared(sight, one)
        if total in names or (one.type != "comment" and not names <= sight.names.values.keys()):
            moved.append(one)  # what changes belongs to one element
        elif one.type == "comment" or not sight.names.behind(one) & POSITIONS:
            kept.append(one)
        elif mentions(sight.file.source, one, counted - names) and not names & counted:
            moved.append(one)
        elif all(name in sight.names.values for name in names):
            dropped |= names
        else:
            return Refusal("A declaration ahead of the loop belongs to the thread's place.", one.start_point.row)
    between = [one for one in found.between if one.type != "comment"]
    epilogue = (*moved, *between, *found.after)
    lost = frozenset(dropped - counted) | POSITIONS
    for one in (*kept, *epilogue, *(bound.node for bound in found.bounds), found.count, rows.extent, columns.extent):
        stray = next(named(sight.file.source, one, lost), None)
        if stray is not None:
            reason = f"`{sight.content(stray)}` means another thread's place where a thread has many elements."
            return Refusal(reason, stray.start_point.row)
    loose = next((one.node for one in found.bounds if unsettled(sight.names, one.node)), None)
    if loose is not None:
        return Refusal(f"`{sight.content(loose)}` is about a variable with more than one value.", loose.start_point.row)
    if len(found.bounds) != 2:
        return Refusal("The guard asks for more than rows and columns.", found.guards[0].node.start_point.row)
    for one in found.after:
        if one.type in ("for_statement", "while_statement", "return_statement"):
            return Refusal("More than a store follows the loop.", one.start_point.row)
    mentioned = [
        one
        for one in (*moved, *between)
        if mentions(sight.file.source, found.loop.body, declared(sight, one) - {total})
    ]
    if mentioned:
        return Refusal("The loop reads through a local of the thread.", mentioned[0].start_point.row)
    return Matmul(found, rows, columns, total, tuple(kept), epilogue)


def is_zero_sum(sight: CudaSight, node: Node, name: str) -> bool:
    """Whether a declaration is `float sum = 0.0f;`, or the same in 16 bits, and nothing else."""
    if node.type != "declaration" or declared(sight, node) != {name}:
        return False
    value = next((field(one, "value") for one in of_type(node, "init_declarator")), None)
    return value is not None and is_zero(plain(sight.file.source, value))


def is_zero(code: str) -> bool:
    """Whether code without blanks is the number zero, as it is or converted to 16 bits."""
    return _ZERO.fullmatch(code) is not None


def single_store(sight: CudaSight, found: Matmul) -> Node | None:
    """The only statement of the epilogue, where it reads the sum once and does not change it."""
    rest = [one for one in found.epilogue if not is_zero_sum(sight, one, found.sum)]
    if len(rest) != 1 or not any(is_zero_sum(sight, one, found.sum) for one in found.epilogue):
        return None
    uses = list(named(sight.file.source, rest[0], frozenset({found.sum})))
    assigned = [field(one, "left") for one in of_type(rest[0], "assignment_expression")]
    return rest[0] if len(uses) == 1 and uses[0] not in assigned and statements_of(rest[0]) else None
