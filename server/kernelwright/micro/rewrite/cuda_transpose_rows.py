"""A kernel that copies with rows and columns changed, through a tile of which each thread takes several rows."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, unsettled
from kernelwright.micro.rewrite.cuda_guarded import X, declared, guarded, reads_memory, type_of
from kernelwright.micro.rewrite.cuda_inner_loop import not_movable
from kernelwright.micro.rewrite.cuda_matmul import POSITIONS, counts, limit_of
from kernelwright.micro.rewrite.cuda_new_launch import relaunched
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import indented, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_transpose import copied, statement_of, step_along, stored, under
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.text import of_type
from kernelwright.values import Refusal


@dataclass(frozen=True)
class Shape:
    """A square tile and the rows of threads that go through it."""

    edge: int
    rows: int

    def __str__(self) -> str:
        return f"tile of {self.edge} x {self.edge}, {self.edge // self.rows} rows a thread"


@dataclass(frozen=True, eq=False)
class Index:
    """The local that counts the threads of the grid along an axis, and how far it goes."""

    name: str
    type: str
    declaration: Node
    extent: Node


def row_tiled(sight: CudaSight, shape: Shape) -> tuple[Patch, Access] | Refusal:
    """The kernel with such a tile, and its launch with blocks of `edge` x `rows` threads."""
    found = copied(sight) if (special := not_movable(sight)) is None else special
    if isinstance(found, Refusal):
        return found
    load, store = found
    work, source = statement_of(store.node), sight.file.source
    parts = guarded(sight, work)
    if isinstance(parts, Refusal):
        return parts
    line = work.start_point.row
    if parts.between or parts.after or sight.names.shared:
        return Refusal("More than one copy stands under the guards.", line)
    indices = [_index(sight, [(one.node, one.negated) for one in parts.bounds], axis) for axis in ("x", "y")]
    for one in indices:
        if isinstance(one, Refusal):
            return one
    x, y = (one for one in indices if isinstance(one, Index))
    nodes = (*(one.node for one in parts.bounds), work)
    if len(parts.bounds) != 2 or any(reads_memory(sight, one.node) for one in parts.bounds):
        return Refusal("The guards ask for more than a row and a column.", line)
    loose = next(filter(None, (unsettled(sight.names, one) for one in nodes)), None)
    if loose is not None or _strays(sight, nodes, {x.name, y.name}):
        return Refusal("The place of an element is made of more than its row and its column.", line)
    tile, ty = fresh(sight.file, "tile", f"{load.base}_tile"), fresh(sight.file, "r", "tile_row")
    across = step_along(sight, load, X) != 1
    places = f"{tile}[{ty}][{X}]", f"{tile}[{X}][{ty}]"
    value = stored(sight, store, load, places[not across], {})
    parameter = sight.kernel.parameter(load.base)
    if value is None or parameter is None:
        return Refusal(f"More than `{sight.content(load.node)}` depends on the thread in what is stored.", line)
    bounds = [one.code(source, {}) for one in parts.bounds]
    copy = under(bounds, f"{places[across]} = {sight.content(load.node)};")
    margin, unit = indent_of(source, work if parts.outer is None else parts.outer.node), unit_of(source, sight.kernel)
    lines = [
        *_through(shape, x, y, ty, across, copy, unit),
        "__syncthreads();",
        *_through(shape, x, y, ty, not across, under(bounds, value), unit),
    ]
    patch = sight.patch()
    patch.replace(x.declaration, f"__shared__ {parameter.base} {tile}[{shape.edge}][{shape.edge} + 1];")
    for node in (y.declaration, *(guard.node for guard in parts.guards if guard.returns)):
        patch.cut(node)
    patch.replace(parts.outer.node if parts.outer is not None else work, f"\n{margin}".join(lines))
    cells = {"x": (x.extent, shape.edge), "y": (y.extent, shape.edge)}
    return relaunched(sight, patch, cells, f"{shape.edge}, {shape.rows}") or (patch, load)


def _index(sight: CudaSight, bounds: list[tuple[Node, bool]], axis: str) -> Index | Refusal:
    for name, value in sight.names.values.items():
        declaration = value.parent.parent if value.parent is not None else None
        if declaration is None or declaration.type != "declaration" or not counts(sight, name, axis):
            continue
        limits = [limit for node, negated in bounds if (limit := limit_of(sight, node, negated, name)) is not None]
        if len(limits) == 1 and declared(sight, declaration) == {name}:
            return Index(name, type_of(sight, name), declaration, limits[0])
    line = sight.kernel.name_node.start_point.row
    return Refusal(f"No local of its own counts the threads of the grid along {axis}, up to a guard.", line)


def _strays(sight: CudaSight, nodes: tuple[Node, ...], own: set[str]) -> bool:
    """Whether something is made of the thread's place other than by its row and its column."""
    for node in nodes:
        for one in of_type(node, "identifier", "field_expression"):
            inside = one.type == "identifier" and one.parent is not None and one.parent.type == "field_expression"
            if not inside and sight.content(one) not in own and sight.names.behind(one) & POSITIONS:
                return True
    others = (value for name, value in sight.names.values.items() if name not in own)
    return any(sight.names.behind(value) & (POSITIONS | own) for value in others)


def _through(shape: Shape, x: Index, y: Index, row: str, turned: bool, statement: str, unit: str) -> list[str]:
    """The tile, row by row; `turned`: the threads lie along its columns."""
    along_x, along_y = (row, X) if turned else (X, row)
    inside = [
        f"const {x.type} {x.name} = blockIdx.x * {shape.edge} + {along_x};",
        f"const {y.type} {y.name} = blockIdx.y * {shape.edge} + {along_y};",
        statement,
    ]
    head = f"for (int {row} = threadIdx.y; {row} < {shape.edge}; {row} += {shape.rows}) {{"
    return ["#pragma unroll", head, *indented(inside, unit), "}"]
