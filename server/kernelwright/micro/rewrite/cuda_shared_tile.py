"""The inner loop of a kernel in tiles: a block stages what its threads read together in shared memory, a tile a turn."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named, plain, substituted, unsettled
from kernelwright.micro.rewrite.cuda_guarded import X, Y, declared, kind_of, reads_memory
from kernelwright.micro.rewrite.cuda_inner_loop import InnerLoop, inner_loop, is_product_sum
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
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_ZERO = {
    "float": "0.0f",
    "double": "0.0",
    "half": "__float2half(0.0f)",
    "__half": "__float2half(0.0f)",
    "__nv_bfloat16": "__float2bfloat16(0.0f)",
    **dict.fromkeys(("int", "unsigned", "unsigned int", "int32_t", "uint32_t", "int64_t", "long long", "int8_t"), "0"),
}
_MOST_TILES = 5  # of 32 x 33 doubles in 48 KB


@dataclass(frozen=True, eq=False)
class Tile:
    """What the threads of a block read together: `axis` is the thread axis along which its elements differ.

    `turned`: the thread that loads an element has its other index along `axis`, so that a warp's loads lie together.
    """

    access: Access
    name: str
    element: str
    axis: str
    turned: bool


def tiled(sight: CudaSight) -> tuple[Patch, tuple[Tile, ...]] | Refusal:
    """The kernel with its inner loop cut into tiles; the launch stays as it is."""
    found = inner_loop(sight)
    if isinstance(found, Refusal):
        return found
    size = square_block(sight)
    if isinstance(size, Refusal):
        return size
    tiles = _tiles(sight, found)
    if isinstance(tiles, Refusal):
        return tiles
    return _written(sight, found, tiles, *size)


def _tiles(sight: CudaSight, found: InnerLoop) -> tuple[Tile, ...] | Refusal:
    """A tile for each tensor element that the loop reads by `k` and one thread axis."""
    tiles: dict[str, Tile] = {}
    for access in sight.accesses:
        if not is_inside(access.node, found.loop.body) or access.space == "local":
            continue
        line, code = access.node.start_point.row, sight.content(access.node)
        kind = kind_of(sight, access.node)
        behind = sight.names.behind(access.node)
        if kind == "":
            continue
        if found.loop.variable not in behind:
            return Refusal(f"`{code}` is read in the loop, where threads beyond the edge come to it, too.", line)
        if kind == "xy":
            return Refusal(f"`{code}` is another element for every thread, so no tile of it is shared.", line)
        moving = frozenset(n for one in of_type(found.loop.body, "declaration") for n in declared(sight, one))
        if behind & moving:
            return Refusal(f"The index of `{code}` goes through a variable of the loop's body.", line)
        loose = _unsettled(sight, found, access)
        if loose is not None:
            return Refusal(f"`{loose}` in the index of `{code}` has more than one value.", line)
        if len(access.indices) != 1:
            return Refusal(f"`{code}` has more than one index.", line)
        element = _element(sight, access)
        if element not in _ZERO:
            return Refusal(
                f"What `{code}` holds is not a plain number, so there is no zero to fill its tile with.", line
            )
        key = plain(sight.file.source, access.node)
        if key not in tiles:
            tiles[key] = Tile(
                access, _tile_name(sight, access, tiles), element, kind, _is_turned(sight, found, access, kind)
            )
    if len(tiles) > _MOST_TILES:
        return Refusal("The tiles of this loop do not fit shared memory together.", found.loop.node.start_point.row)
    if {one.axis for one in tiles.values()} != {"x", "y"}:
        reason = "The threads of a block do not read the same elements along both of their axes in the loop."
        return Refusal(reason, found.loop.node.start_point.row)
    return tuple(tiles.values())


def _unsettled(sight: CudaSight, found: InnerLoop, access: Access) -> str | None:
    loose = (unsettled(sight.names, one) for one in of_type(access.node, "identifier")
             if sight.content(one) != found.loop.variable)  # fmt: skip
    return next(filter(None, loose), None)


def _element(sight: CudaSight, access: Access) -> str:
    """The type of what a pointer, or a pointer into it, points to."""
    parameter = sight.kernel.parameter(access.base)
    if parameter is not None:
        return parameter.base if parameter.pointers == 1 else ""
    for one in of_type(sight.kernel.body, "declaration"):
        kind = field(one, "type")
        if kind is not None and access.base in declared(sight, one) and "*" in sight.content(one).split("=")[0]:
            return sight.content(kind)
    return ""


def _tile_name(sight: CudaSight, access: Access, taken: dict[str, Tile]) -> str:
    base = access.base
    short = f"{base}s" if len(base) == 1 and base.isupper() else f"{base}_tile"
    used = {one.name for one in taken.values()}
    wanted = [name for name in (short, f"{base}_tile", f"{base}_tile2", f"{base}_tile3") if name not in used]
    return fresh(sight.file, *wanted)


def _is_turned(sight: CudaSight, found: InnerLoop, access: Access, axis: str) -> bool:
    """Whether a warp's loads lie together only where threadIdx.x and threadIdx.y change places."""
    index = sight.names.polynomial(access.indices[0])
    along, across = index.coefficient(found.loop.variable), index.coefficient(f"threadIdx.{axis}")
    beside = along if axis == "y" else across  # what moves with threadIdx.x while it loads
    other = across if axis == "y" else along
    is_far = beside is None or beside.number != 1
    names = turned_names(sight, access.node, axis)
    if not is_far or other is None or other.number != 1 or names is None:
        return False
    parts = (
        part for one in found.bounds for part in of_type(one.node, "identifier") if kind_of(sight, one.node) == axis
    )
    return all(sight.content(part) in names for part in parts if kind_of(sight, part))


def _written(
    sight: CudaSight, found: InnerLoop, tiles: tuple[Tile, ...], size: str, declaration: str
) -> tuple[Patch, tuple[Tile, ...]] | Refusal:
    source, patch = sight.file.source, sight.patch()
    moved = _between(sight, found)
    if isinstance(moved, Refusal):
        return moved
    for bound in found.bounds:
        code, line = source.content(bound.node), bound.node.start_point.row
        if kind_of(sight, bound.node) == "xy":
            return Refusal(
                f"`{code}` is about both thread axes at once, so it guards no row or column of a tile.", line
            )
        if unsettled(sight.names, bound.node):
            return Refusal(f"`{code}` is about a variable that has more than one value.", line)
    margin = indent_of(source, next(one for one in sight.kernel.body.named_children))
    step = margin if margin.strip("\t ") == "" and margin else "    "
    shared = "".join(f"{margin}__shared__ {one.element} {_shape(one, size)};\n" for one in tiles)
    opening = source.source.find(b"\n", sight.kernel.body.start_byte) + 1
    threads = "".join(f"{margin}{one}\n" for one in new_threads(sight))
    patch.between(opening, opening, (f"{margin}{declaration}" if declaration else "") + shared + threads)
    early, late = moved
    outer = found.outer
    returns = [one.node for one in found.guards if one.returns]
    for one in (*returns, *late, *(early if outer is not None else ()), *filter(None, (found.pragma,))):
        patch.cut(one)
    turns = _loaders(sight, tiles, margin) + _turns(sight, found, tiles, size, margin, step)
    if outer is None:
        patch.replace(found.loop.node, (turns + _again(sight, (*returns, *late), margin)).strip())
        return patch, tiles
    patch.before(outer.node, (_again(sight, early, margin) + turns + _again(sight, returns, margin)).lstrip() + margin)
    if late:
        patch.replace(found.loop.node, _again(sight, late, indent_of(source, found.loop.node)).strip())
    else:
        patch.cut(found.loop.node)
    return patch, tiles


def _again(sight: CudaSight, nodes: Sequence[Node], margin: str) -> str:
    return "".join(f"{margin}{sight.content(one)}\n" for one in nodes)


def _between(sight: CudaSight, found: InnerLoop) -> tuple[list[Node], list[Node]] | Refusal:
    """What stands between the guards and the loop: what the loop needs, and what may only run where there is work."""
    early: list[Node] = []
    late: list[Node] = []
    hidden: frozenset[str] = frozenset()
    for one in found.between:
        if one.type == "comment":
            early.append(one)
        elif reads_memory(sight, one) or next(named(sight.file.source, one, hidden), None) is not None:
            late.append(one)
            hidden |= declared(sight, one)
        else:
            early.append(one)
    if next(named(sight.file.source, found.loop.node, hidden), None) is not None:
        reason = "What the loop uses is read from memory behind the guard, where not every thread may read it."
        return Refusal(reason, late[0].start_point.row)
    return early, late


def _shape(tile: Tile, size: str) -> str:
    return f"{tile.name}[{size}][{size}{' + 1' if tile.turned and tile.axis == 'x' else ''}]"


def _loaders(sight: CudaSight, tiles: tuple[Tile, ...], margin: str) -> str:
    """The rows or columns of the elements that a thread loads turned: made as its own are, of its other index."""
    lines: dict[str, None] = {}
    for tile in tiles:
        names = turned_names(sight, tile.access.node, tile.axis) if tile.turned else None
        lines |= dict.fromkeys(loaders(sight, names or {}, (f"threadIdx.{tile.axis}",)))
    return "".join(f"{margin}{one}\n" for one in lines)


def _turns(sight: CudaSight, found: InnerLoop, tiles: tuple[Tile, ...], size: str, margin: str, step: str) -> str:
    """The loop over tiles: load, wait, use, wait."""
    k = found.loop.variable
    first, count = fresh(sight.file, f"{k}0", f"{k}_tile", f"{k}_first"), sight.content(found.count)
    threads = thread_names(sight)
    exact = _is_exact(sight, found, tiles)
    kind = _type_of(sight, found)
    lines = [f"for ({kind} {first} = 0; {first} < {count}; {first} += {size}) {{"]
    for one in tiles:
        lines.append(f"{step}{_load(sight, found, one, first, threads)}")
    bound = "" if exact else f" && {first} + {k} < {count}"
    lines += [f"{step}__syncthreads();"]
    lines += [f"{step}#pragma unroll"] if exact else []
    lines += [f"{step}for (int {k} = 0; {k} < {size}{bound}; ++{k}) {{"]
    lines += [f"{step}{step}{one}" for one in _body(sight, found, tiles, first, threads)]
    lines += [f"{step}}}", f"{step}__syncthreads();", "}"]
    return "".join(f"{margin}{one}\n" for one in lines)


def _type_of(sight: CudaSight, found: InnerLoop) -> str:
    """The type of the loop's variable."""
    kind = field(found.loop.node, "initializer", "type")
    return sight.content(kind) if kind is not None else "int"


def _is_exact(sight: CudaSight, found: InnerLoop, tiles: tuple[Tile, ...]) -> bool:
    """Whether zeros behind the end of the loop add nothing."""
    in_loop = [one for one in sight.accesses if is_inside(one.node, found.loop.body)]
    return len(in_loop) == 2 and len(tiles) == 2 and is_product_sum(sight, found.loop, in_loop[0], in_loop[1])


def _load(sight: CudaSight, found: InnerLoop, tile: Tile, first: str, threads: dict[str, str]) -> str:
    """`As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0;` with the thread's axes as they lie together."""
    source, k, count = sight.file.source, found.loop.variable, sight.content(found.count)
    own, free = f"threadIdx.{tile.axis}", OTHER[f"threadIdx.{tile.axis}"]
    meanings = {k: f"{first} + {threads[free]}"}
    if tile.turned:
        own, free = free, own
        meanings[k] = f"{first} + {threads[free]}"
        turned = turned_names(sight, tile.access.node, tile.axis) or {}
        meanings |= dict.fromkeys((free, threads[free]), threads[own])
        meanings |= {name: loader_name(sight, name) for name in turned if name != threads[free]}
    ours = (one for one in found.bounds if kind_of(sight, one.node) in ("", tile.axis))
    known = [one.code(source, meanings if tile.turned else {}) for one in ours]
    last = f"{meanings[k]} < {count}"
    at = f"{tile.name}[{threads[Y]}][{threads[X]}]"
    return f"{at} = {' && '.join([*known, last])} ? {substituted(source, tile.access.node, meanings)} : {_ZERO[tile.element]};"


def _body(
    sight: CudaSight, found: InnerLoop, tiles: tuple[Tile, ...], first: str, threads: dict[str, str]
) -> list[str]:
    """The statements of the loop's body, which read the tiles."""
    source, body = sight.file.source, found.loop.body
    by_code = {plain(source, one.access.node): one for one in tiles}
    meanings = {found.loop.variable: f"{first} + {found.loop.variable}"}
    reads = [one for one in of_type(body, "subscript_expression") if plain(source, one) in by_code]
    others = [
        one for one in named(source, body, frozenset(meanings)) if not any(is_inside(one, read) for read in reads)
    ]
    inside = body.children if body.type == "compound_statement" else (None, body, None)
    at, end = (inside[1] or body).start_byte, (inside[-2] or body).end_byte
    pieces = [
        " " * body.start_point.column if body.type != "compound_statement" else indent_of(source, inside[1] or body)
    ]
    for one in sorted((*reads, *others), key=lambda node: node.start_byte):
        pieces.append(source.source[at : one.start_byte].decode())
        tile = by_code.get(plain(source, one))
        pieces.append(_read(tile, found, threads) if tile is not None else substituted(source, one, meanings))
        at = one.end_byte
    return textwrap.dedent("".join([*pieces, source.source[at:end].decode()])).splitlines()


def _read(tile: Tile, found: InnerLoop, threads: dict[str, str]) -> str:
    """The element of a tile: `[y][k]` or `[k][x]`, the other way round where it was loaded turned."""
    own, k = threads[f"threadIdx.{tile.axis}"], found.loop.variable
    is_row = (tile.axis == "y") != tile.turned
    return f"{tile.name}[{own}][{k}]" if is_row else f"{tile.name}[{k}][{own}]"
