"""A kernel that copies with rows and columns changed, through a tile, so that it reads and writes along rows."""

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, substituted, unsettled
from kernelwright.micro.rewrite.cuda_guarded import Guarded, X, Y, guarded, kind_of, reads_memory
from kernelwright.micro.rewrite.cuda_inner_loop import not_movable
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_square import (
    OTHER,
    loader_name,
    loaders,
    new_threads,
    square_block,
    thread_names,
    turned_names,
)
from kernelwright.source.cuda.accesses import Access, flat_index
from kernelwright.source.cuda.text import field, is_inside, walk
from kernelwright.values import Refusal


def transposed(sight: CudaSight) -> tuple[Patch, Access] | Refusal:
    """The kernel with a padded tile between its load and its store; the launch stays as it is."""
    found = copied(sight)
    if isinstance(found, Refusal):
        return found
    load, store = found
    special = not_movable(sight)
    if special is not None:
        return special
    size = square_block(sight)
    if isinstance(size, Refusal):
        return size
    parts = guarded(sight, statement_of(store.node))
    if isinstance(parts, Refusal):
        return parts
    line = parts.work.start_point.row
    nodes = (*(one.node for one in parts.bounds), parts.work)
    loose = next(filter(None, (unsettled(sight.names, one) for one in nodes)), None)
    if loose is not None:
        return Refusal(f"`{loose}` has more than one value, so no other thread can work it out.", line)
    if parts.between or parts.after or sight.names.shared:
        return Refusal("More than one copy stands under the guards.", line)
    return _written(sight, parts, load, store, *size)


def copied(sight: CudaSight) -> tuple[Access, Access] | Refusal:
    """The one load and the one store, of which exactly one goes along threadIdx.x."""
    found = [one for one in sight.accesses if one.space == "global"]
    loads, stores = [one for one in found if one.kind == "load"], [one for one in found if one.kind == "store"]
    if len(loads) != 1 or len(stores) != 1 or len(found) != 2 or sight.names.loops:
        return Refusal("The kernel does more than copy one element a thread from one array to another.")
    load, store = loads[0], stores[0]
    line = store.node.start_point.row
    if not is_inside(load.node, statement_of(store.node)):
        return Refusal("The element that is stored is not loaded in the same statement.", line)
    steps = [[step_along(sight, one, axis) for axis in (X, Y)] for one in (load, store)]
    if sorted(step.index(1) if 1 in step else 2 for step in steps) != [0, 1]:
        return Refusal("Load and store do not run along different axes of the block.", line)
    return load, store


def step_along(sight: CudaSight, access: Access, name: str) -> int | None:
    index = flat_index(sight.names, access)
    step = index.coefficient(name) if index is not None else None
    return step.number if step is not None else None


def statement_of(node: Node) -> Node:
    while node.parent is not None and node.type != "expression_statement":
        node = node.parent
    return node


def _written(
    sight: CudaSight, parts: Guarded, load: Access, store: Access, size: str, declaration: str
) -> tuple[Patch, Access] | Refusal:
    source, patch = sight.file.source, sight.patch()
    parameter = sight.kernel.parameter(load.base)
    assert parameter is not None
    stores_turned = step_along(sight, load, X) == 1
    turned = _turned(sight, parts, store.node if stores_turned else load.node)
    if turned is None or any(reads_memory(sight, one.node) for one in parts.bounds):
        reason = "The row or the column of an element is not made of the thread's index directly."
        return Refusal(reason, store.node.start_point.row)
    threads, tile = thread_names(sight), fresh(sight.file, "tile", f"{load.base}_tile")
    prefix = "store" if stores_turned else "load"
    other = {name: loader_name(sight, name, prefix) for name in turned if name not in threads.values()}
    other |= {one: threads[OTHER[own]] for own in (X, Y) for one in (own, threads[own])}
    own, across = f"{tile}[{threads[Y]}][{threads[X]}]", f"{tile}[{threads[X]}][{threads[Y]}]"
    to_load, to_store = ({}, other) if stores_turned else (other, {})
    value = stored(sight, store, load, across if stores_turned else own, to_store)
    if value is None:
        reason = f"More than `{source.content(load.node)}` depends on the thread in what is stored."
        return Refusal(reason, store.node.start_point.row)
    margin = indent_of(source, next(iter(sight.kernel.body.named_children)))
    loaded = f"{own if stores_turned else across} = {substituted(source, load.node, to_load)};"
    declared = loaders(sight, turned, (X, Y), prefix)
    lines = [
        *(() if stores_turned else declared),
        under([one.code(source, to_load) for one in parts.bounds], loaded),
        "__syncthreads();",
        *(declared if stores_turned else ()),
        under([one.code(source, to_store) for one in parts.bounds], value),
    ]
    opening = source.source.find(b"\n", sight.kernel.body.start_byte) + 1
    shared = [declaration.rstrip("\n")] if declaration else []
    shared += [f"__shared__ {parameter.base} {tile}[{size}][{size} + 1];", *new_threads(sight)]
    patch.between(opening, opening, "".join(f"{margin}{one}\n" for one in shared))
    for one in (guard.node for guard in parts.guards if guard.returns):
        patch.cut(one)
    patch.replace(parts.outer.node if parts.outer is not None else parts.work, f"\n{margin}".join(lines))
    return patch, load


def _turned(sight: CudaSight, parts: Guarded, subscript: Node) -> dict[str, Node] | None:
    """The locals of an access and of the guards that are made of the thread's indices."""
    found: dict[str, Node] = {}
    for node in (subscript, *(one.node for one in parts.bounds)):
        for axis in ("x", "y"):
            names = turned_names(sight, node, axis)
            if names is None:
                return None
            found |= names
    return found


def stored(sight: CudaSight, store: Access, load: Access, tile: str, meanings: dict[str, str]) -> str | None:
    """The store with the element of the tile in the place of its load; None where its value depends on the thread too."""
    source = sight.file.source
    target = store.node.parent
    left, right = field(target, "left"), field(target, "right")
    if left is None or right is None:
        return None
    rest = (one for one in walk(right, lambda node: node != load.node) if one != load.node)
    if any(one.type in ("identifier", "field_expression") and kind_of(sight, one) for one in rest):
        return None
    ahead = source.source[right.start_byte : load.node.start_byte].decode()
    behind = source.source[load.node.end_byte : right.end_byte].decode()
    return f"{substituted(source, left, meanings)} = {ahead}{tile}{behind};"


def under(bounds: list[str], statement: str) -> str:
    return f"if ({' && '.join(bounds)}) {statement}" if bounds else statement
