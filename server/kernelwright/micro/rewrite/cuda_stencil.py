"""Neighbours of a point that the threads of a block read again and again, from a tile with a border in shared memory."""

import math
import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, written
from kernelwright.micro.rewrite.cuda_guarded import X, Y, statements_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_EXACT = re.compile(r"__syncthreads|__\w{1,24}_sync|__syncwarp|\basm\b|atomic\w+|\bgoto\b")
_BYTES = {
    "float": 4,
    "double": 8,
    "int": 4,
    "unsigned": 4,
    "unsigned int": 4,
    "unsigned char": 1,
    "uint8_t": 1,
    "short": 2,
}
_SHARED = 48 * 1024
_FAR = 16  # how far a neighbour may lie away


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A load of the element so many rows and columns away from the thread's own; `rows` and `columns` are its limits."""

    access: Access
    row: Polynomial
    column: Polynomial
    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Stencil:
    """Loads of `base`, which has `height` rows of `width` elements; a block of `block` threads reads a tile of it."""

    base: str
    element: str
    height: str
    width: str
    block: tuple[int, int]
    neighbours: tuple[Neighbour, ...]

    @property
    def first(self) -> tuple[int, int]:
        """How far the tile begins above and left of the block's first point."""
        return min(one.rows[0] for one in self.neighbours), min(one.columns[0] for one in self.neighbours)

    @property
    def size(self) -> tuple[int, int]:
        rows, columns = max(one.rows[1] for one in self.neighbours), max(one.columns[1] for one in self.neighbours)
        return self.block[1] + rows - self.first[0], self.block[0] + columns - self.first[1]


def staged(sight: CudaSight) -> tuple[Patch, Stencil] | Refusal:
    """The kernel with the tensor that it reads most neighbours of staged in shared memory; the launch stays as it is."""
    special = _EXACT.search(sight.content(sight.kernel.body))
    if special is not None or sight.names.shared:
        return Refusal("The threads of a block work together already.", sight.kernel.body.start_point.row)
    block = sight.any_block
    if isinstance(block, Refusal):
        return block
    if len(block) < 2 or block[1] == 1 or (len(block) > 2 and block[2] != 1):
        return Refusal("The blocks have one dimension, or three.")
    found: list[Stencil] = []
    refused = Refusal("The kernel reads fewer than three neighbours of a point of the grid.")
    for base in dict.fromkeys(one.base for one in sight.accesses if one.space == "global"):
        stencil = _stencil(sight, base, (block[0], block[1]))
        if isinstance(stencil, Stencil):
            found.append(stencil)
        elif stencil is not None:
            refused = stencil
    if not found:
        return refused
    best = max(found, key=lambda one: len(one.neighbours))
    return _written(sight, best), best


def _stencil(sight: CudaSight, base: str, block: tuple[int, int]) -> Stencil | Refusal | None:
    """The neighbours of a tensor that are read; None where there are none."""
    accesses = [one for one in sight.accesses if one.base == base]
    parameter = sight.kernel.parameter(base)
    if parameter is None or parameter.pointers != 1 or any(one.writes for one in accesses):
        return None
    flow = Flow(sight.file, sight.kernel)
    at = [(one, _index(sight, flow, one, block)) for one in accesses if len(one.indices) == 1 and one.start is None]
    widths = {width for _, index in at if index is not None and (width := _width(index, block))}
    if len(widths) != 1:
        return None
    width = next(iter(widths))
    near = [
        one for access, index in at if index is not None and (one := _neighbour(sight, access, index, width, block))
    ]
    line = at[0][0].node.start_point.row
    if not near and any(one.loops for one in accesses):
        return Refusal(f"`{base}` is read at places whose distances are no numbers, or none up to {_FAR}.", line)
    if len({(one.row, one.column) for one in near}) < 3 and not any(one.access.loops for one in near):
        return None
    element = sight.file.aliases.get(parameter.base, parameter.base)
    height = _height(sight, flow, block)
    if element not in _BYTES:
        return Refusal(f"`{base}` holds no plain numbers.", line)
    if height is None or not _is_int(sight, width):
        return Refusal(f"No guard says in whole numbers how many rows of {width} elements `{base}` has.", line)
    if not all(_is_whole(one, base, height, width) for one in sight.apart):
        return Refusal(f"No workload line says that `{base}` has {height} rows of {width} elements and no more.", line)
    found = Stencil(base, parameter.base, height, width, block, tuple(near))
    if math.prod(found.size) * _BYTES[element] > _SHARED:
        return Refusal("The tile with its border does not fit the shared memory of a block.", line)
    return found


def _is_whole(sight: CudaSight, base: str, height: str, width: str) -> bool:
    """Whether the workload passes a tensor of just so many elements."""
    tensor, sizes = sight.tensor(base), [sight.value(one) for one in (height, width)]
    numbers = [one for one in sizes if isinstance(one, int)]
    return tensor is not None and len(numbers) == 2 and math.prod(tensor.shape) == math.prod(numbers)


def _index(sight: CudaSight, flow: Flow, access: Access, block: tuple[int, int]) -> Polynomial | None:
    """The index over thread and block numbers, with the variables of loops by their names."""
    if next(of_type(access.indices[0], "cast_expression"), None) is not None:
        return None
    found = flow.polynomial(access.indices[0]).at({"blockDim.x": block[0], "blockDim.y": block[1]})
    for loop in access.loops:
        start = sight.names.polynomial(loop.start)
        found = found.replaced({f"{loop.variable}'": polynomials.name(loop.variable) - start})
    return found


def _width(index: Polynomial, block: tuple[int, int]) -> str | None:
    """The parameter that the index of a row is multiplied with, where it is one of a grid of points."""
    along, across = index.coefficient(X), index.coefficient(Y)
    if along is None or along.number != 1 or across is None or len(across.names) != 1:
        return None
    name = next(iter(across.names))
    return name if across == polynomials.name(name) else None


def _neighbour(
    sight: CudaSight, access: Access, index: Polynomial, width: str, block: tuple[int, int]
) -> Neighbour | None:
    """The load as one of a neighbour; None where it is none, or lies too far away."""
    stride = polynomials.name(width)
    own = polynomials.name(X) + polynomials.name("blockIdx.x") * polynomials.number(block[0])
    line = polynomials.name(Y) + polynomials.name("blockIdx.y") * polynomials.number(block[1])
    rest = index - own - stride * line
    row, column = rest.coefficient(width), rest.without(width)
    if row is None:
        return None
    rows, columns = _range(sight, access, row), _range(sight, access, column)
    if rows is None or columns is None or any(abs(one) > _FAR for one in (*rows, *columns)):
        return None
    return Neighbour(access, row, column, rows, columns)


def _range(sight: CudaSight, access: Access, distance: Polynomial) -> tuple[int, int] | None:
    """The least and the greatest value of a distance over the turns of the loops around a load."""
    limits = {}
    for loop in access.loops:
        sign, right = field(loop.condition, "operator"), field(loop.condition, "right")
        start, end = sight.names.number(loop.start), sight.names.number(right)
        changed = sight.names.assigned.get(loop.variable, 0) > 2 * sum(
            one.variable == loop.variable for one in sight.names.loops
        )
        if start is None or end is None or sign is None or sight.content(sign) not in ("<", "<=") or changed:
            continue
        limits[loop.variable] = start, end - (sight.content(sign) == "<")
    least = most = 0
    for term, factor in distance.terms:
        if len(term) > 1 or (term and term[0] not in limits):
            return None
        low, high = limits[term[0]] if term else (1, 1)
        least += min(factor * low, factor * high)
        most += max(factor * low, factor * high)
    return least, most


def _height(sight: CudaSight, flow: Flow, block: tuple[int, int]) -> str | None:
    """The parameter that a guard holds the row of a thread below."""
    own = polynomials.name(Y) + polynomials.name("blockIdx.y") * polynomials.number(block[1])
    for node in of_type(sight.kernel.body, "binary_expression"):
        sign, left, right = field(node, "operator"), field(node, "left"), field(node, "right")
        if sign is None or left is None or right is None or sight.content(sign) not in ("<", ">="):
            continue
        is_row = flow.polynomial(left).at({"blockDim.y": block[1]}) == own
        if is_row and right.type == "identifier" and _is_int(sight, sight.content(right)):
            return sight.content(right)
    return None


def _is_int(sight: CudaSight, name: str) -> bool:
    parameter = sight.kernel.parameter(name)
    return (
        parameter is not None
        and parameter.base == "int"
        and not parameter.is_pointer
        and not sight.names.assigned.get(name)
    )


def _written(sight: CudaSight, found: Stencil) -> Patch:
    source, patch = sight.file.source, sight.patch()
    first: Node = statements_of(sight.kernel.body)[0]
    margin, unit = indent_of(source, first), unit_of(source, sight.kernel)
    tile = fresh(sight.file, f"{found.base}_tile", f"{found.base}_staged")
    r, c = fresh(sight.file, "r", "tile_row"), fresh(sight.file, "c", "tile_column")
    at = fresh(sight.file, "at", "place", "index_of_tile")
    (top, left), (rows, columns), (wide, high) = found.first, found.size, found.block
    row = _away(f"(int)blockIdx.y * {high} + {r}", polynomials.number(top))
    column = _away(f"(int)blockIdx.x * {wide} + {c}", polynomials.number(left))
    lines = [
        f"__shared__ {found.element} {tile}[{rows}][{columns}];",
        f"for (int {r} = threadIdx.y; {r} < {rows}; {r} += {high}) {{",
        f"{unit}for (int {c} = threadIdx.x; {c} < {columns}; {c} += {wide}) {{",
        f"{unit}{unit}const int {at} = ({row}) * {found.width} + {column};",
        f"{unit}{unit}if ({at} >= 0 && {at} < {found.height} * {found.width}) {tile}[{r}][{c}] = {found.base}[{at}];",
        f"{unit}}}",
        "}",
        "__syncthreads();",
    ]
    patch.before(first, "".join(f"{one}\n{margin}" for one in lines))
    for one in found.neighbours:
        y = _away(Y, one.row - polynomials.number(top))
        x = _away(X, one.column - polynomials.number(left))
        patch.replace(one.access.node, f"{tile}[{y}][{x}]")
    return patch


def _away(code: str, distance: Polynomial) -> str:
    """A place so far away from another one, as code."""
    far = written(distance)
    if far == "0":
        return code
    return f"{code} - {far[1:]}" if far.startswith("-") else f"{code} + {far}"
