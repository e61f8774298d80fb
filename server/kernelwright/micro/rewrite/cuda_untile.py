"""A matrix product through tiles in shared memory, as the plain loop that it stands for, so that it can be tiled anew."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import plain, written
from kernelwright.micro.rewrite.cuda_guarded import X, Y, declared, joined, statements_of
from kernelwright.micro.rewrite.cuda_matmul import POSITIONS, counts, is_zero
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda import read
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_BARRIER = "__syncthreads();"


@dataclass(frozen=True, eq=False)
class _Load:
    """`tile[…] = bounds ? element : 0`, in either spelling."""

    tile: Access
    element: Access
    bounds: tuple[Node, ...]


def untiled(sight: CudaSight) -> CudaSight | Refusal:
    """The kernel with a plain loop over `k` in the place of its tiles; a Refusal where it has none of a product."""
    loops = sight.names.loops
    outer = next((one for one in loops if any(is_inside(other.node, one.body) for other in loops)), None)
    if len(loops) != 2 or outer is None or not sight.names.shared:
        return Refusal("The kernel does not go through tiles of two operands.")
    inner = next(one for one in loops if one is not outer)
    line, refused = (
        outer.node.start_point.row,
        Refusal("The tiles are not those of a plain product.", outer.node.start_point.row),
    )
    statements = statements_of(outer.body)
    kinds = [plain(sight.file.source, one) for one in statements]
    if inner.node not in statements or kinds.count(_BARRIER) != 2 or kinds[-1] != _BARRIER:
        return refused
    loads = [_load(sight, one) for one in statements if one.type in ("expression_statement", "if_statement")
             and plain(sight.file.source, one) != _BARRIER]  # fmt: skip
    reads = [one for one in sight.accesses if is_inside(one.node, inner.body)]
    if len(loads) != 2 or len(reads) != 2 or {one.space for one in reads} != {"shared"}:
        return refused
    count: str | None = None
    codes = {}
    for one in reads:
        load = next((load for load in loads if load is not None and load.tile.base == one.base), None)
        found = _element(sight, outer, inner, load, one) if load is not None else None
        if found is None:
            return refused
        codes[sight.content(one.node)], limit = found
        if count not in (None, limit):
            return refused
        count = limit
    body = sight.content(inner.body)
    for tile, element in codes.items():
        body = body.replace(tile, element)
    if count is None or sight.names.number(inner.start) != 0 or not _is_whole(sight, inner):
        return Refusal("The tiles do not say where the loop over `k` ends.", line)
    return _written(sight, outer, inner, count, body)


def _load(sight: CudaSight, statement: Node) -> _Load | None:
    inside = [one for one in sight.accesses if is_inside(one.node, statement)]
    stores = [one for one in inside if one.space == "shared" and one.kind == "store"]
    elements = [one for one in inside if one.space == "global"]
    same = {plain(sight.file.source, one.node) for one in stores}
    if len(elements) != 1 or len(same) != 1 or len(inside) != len(stores) + 1:
        return None
    choice = next(of_type(statement, "conditional_expression", "if_statement"), None)
    tested = field(choice, "condition", "value") or field(choice, "condition")
    alternative = field(choice, "alternative")
    if tested is None:
        return (
            _Load(stores[0], elements[0], ()) if len(stores) == 1 and statement.type == "expression_statement" else None
        )
    consequence = field(choice, "consequence")
    if alternative is None or consequence is None or not is_inside(elements[0].node, consequence):
        return None
    zero = plain(sight.file.source, alternative).rstrip(";}").split("=")[-1]
    return _Load(stores[0], elements[0], tuple(joined(sight, tested, "&&"))) if is_zero(zero) else None


def _element(sight: CudaSight, outer: Loop, inner: Loop, load: _Load, used: Access) -> tuple[str, str] | None:
    """The element of the operand at `k` as code, and where `k` ends."""
    source = sight.file.source
    pairs = list(zip(load.tile.indices, used.indices, strict=False))
    moving = [stored for stored, read_at in pairs if plain(source, read_at) == inner.variable]
    still = [(stored, read_at) for stored, read_at in pairs if plain(source, read_at) != inner.variable]
    if (
        len(pairs) != 2
        or len(moving) != 1
        or sight.names.polynomial(still[0][0]) != sight.names.polynomial(still[0][1])
    ):
        return None
    thread = sight.names.polynomial(moving[0])
    along = next((name for name in (X, Y) if thread == polynomials.name(name)), None)
    kept = frozenset(name for name in sight.names.values for axis in "xy" if counts(sight, name, axis))
    index = Names(sight.file, sight.kernel, kept).polynomial(load.element.indices[0])
    base = _base(sight, outer)
    if (
        along is None
        or base is None
        or next(of_type(load.element.node, "cast_expression", "call_expression"), None) is not None
    ):
        return None
    step = index.coefficient(along)
    if step is None:
        return None
    k = polynomials.name(inner.variable)
    plainly = index.without(along) + step * (k - base)
    if plainly.names & POSITIONS or outer.variable in plainly.names:
        return None
    limits = [limit for one in load.bounds if (limit := _limit(sight, one, base + polynomials.name(along))) is not None]
    count = limits[0] if len(limits) == 1 else _all_turns(sight, outer, load)
    return (f"{load.element.base}[{written(plainly)}]", count) if count is not None else None


def _base(sight: CudaSight, outer: Loop) -> Polynomial | None:
    """Where a tile begins along `k`: `t * TILE` for tiles that are counted, `k0` for a loop in steps of TILE."""
    if sight.names.number(outer.start) != 0 or outer.update is None or sight.block is None:
        return None
    size, update, t = sight.block[0], plain(sight.file.source, outer.update), outer.variable
    if update in (f"++{t}", f"{t}++", f"{t}+=1"):
        return polynomials.number(size) * polynomials.name(t)
    step = field(outer.update, "right")
    by = sight.names.number(step) if step is not None and update.startswith(f"{t}+=") else None
    return polynomials.name(t) if by == size else None


def _limit(sight: CudaSight, bound: Node, index: Polynomial) -> str | None:
    left, right, sign = (field(bound, part) for part in ("left", "right", "operator"))
    if left is None or right is None or sign is None or sight.content(sign) != "<":
        return None
    return sight.content(right) if sight.names.polynomial(left) == index else None


def _all_turns(sight: CudaSight, outer: Loop, load: _Load) -> str | None:
    """`K / TILE * TILE`, where the tiles are loaded without a look at `k`, and only whole ones."""
    right = field(outer.condition, "right")
    divisor = field(right, "right")
    if right is None or divisor is None or sight.block is None or right.type != "binary_expression":
        return None
    whole = plain(sight.file.source, right).count("/") == 1 and "+" not in sight.content(right)
    return (
        f"{sight.content(right)} * {sight.block[0]}"
        if whole and sight.names.number(divisor) == sight.block[0]
        else None
    )


def _is_whole(sight: CudaSight, inner: Loop) -> bool:
    """Whether the inner loop runs over a whole tile."""
    right = field(inner.condition, "right")
    return sight.block is not None and right is not None and sight.names.number(right) == sight.block[0]


def _written(sight: CudaSight, outer: Loop, inner: Loop, count: str, body: str) -> CudaSight | Refusal:
    """The text with the guard around the plain loop and around what followed the tiles."""
    after = [one for one in statements_of(sight.kernel.body) if one.start_byte > outer.node.end_byte]
    guard = after[0] if len(after) == 1 and after[0].type == "if_statement" else None
    condition, inside = field(guard, "condition"), field(guard, "consequence")
    if condition is None or inside is None or field(guard, "alternative") is not None:
        return Refusal("No guard stands around what follows the tiles.", outer.node.end_point.row)
    lines = [sight.content(one) for one in _ahead(sight, outer)]
    store = "\n".join(sight.content(one) for one in statements_of(inside))
    k = inner.variable
    lines.append(f"if {sight.content(condition)} {{\nfor (int {k} = 0; {k} < {count}; ++{k}) {body}\n{store}\n}}")
    patch = sight.patch().replace(sight.kernel.body, "{\n    " + "\n    ".join(lines) + "\n}")
    file = read(patch.text)
    kernel = file.kernel(sight.kernel.name)
    if kernel is None:
        return Refusal("The tiles are not those of a plain product.", outer.node.start_point.row)
    return dataclasses.replace(sight, file=file, kernel=kernel, launches=file.launches_of(kernel.name))


def _ahead(sight: CudaSight, outer: Loop) -> Iterator[Node]:
    """What stands ahead of the tiles, but for the tiles' own declarations."""
    for one in sight.kernel.body.named_children:
        if (
            one.end_byte <= outer.node.start_byte
            and one.type != "preproc_call"
            and not declared(sight, one) & sight.names.shared.keys()
        ):
            yield one
