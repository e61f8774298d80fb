"""A row of a warp, or of a block, in the place of a row of a thread."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.micro.rewrite.cuda_code import fresh
from kernelwright.micro.rewrite.cuda_folds import Extreme, Fold
from kernelwright.micro.rewrite.cuda_guarded import type_of
from kernelwright.micro.rewrite.cuda_new_launch import regridded
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_rows import RowLoop, Rows, rows
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import field
from kernelwright.values import Refusal

_WARP = 32
_BIND_AS_ADDITION = ("+", "-", "*", "/", "%")  # or more
_LONG = 1024  # elements of a row from which on a block is worth trying first


@dataclass(frozen=True)
class Team:
    """The threads that share a row: a warp, or the block of that many."""

    block: int
    is_block: bool

    def __str__(self) -> str:
        return "a block a row" if self.is_block else "a warp a row"


def shared_rows(sight: CudaSight) -> tuple[Rows, tuple[tuple[Team, Patch], ...]] | Refusal:
    """The kernel with its rows shared out, by warps and by blocks, the one first that the rows' length speaks for."""
    found = rows(sight)
    if isinstance(found, Refusal):
        return found
    assert sight.block is not None
    size = sight.block[0]
    if size % _WARP:
        return Refusal(f"The blocks have {size} threads, which are no whole warps.", found.extent.start_point.row)
    teams = [Team(size, False)] + [Team(size, True)] * (size > _WARP)
    if _is_long(sight, found):
        teams.reverse()
    variants = []
    for team in teams:
        patch = _written(sight, found, team)
        if isinstance(patch, Refusal):
            return patch
        variants.append((team, patch))
    return found, tuple(variants)


def _is_long(sight: CudaSight, found: Rows) -> bool:
    """Whether the rows are so long, and so few, that blocks are the better guess."""
    counts = []
    for node in (found.extent, found.loops[0].loop.condition):
        node = node.child_by_field_name("right") if node is not None and node.type == "binary_expression" else node
        index = sight.names.polynomial(node) if node is not None else None
        values = {name: value for name in index.names if isinstance(value := sight.value(name), int)} if index else {}
        counts.append(index.at(values).number if index is not None else None)
    many, length = counts
    return length is not None and length >= _LONG and (many is None or many < 32 * 132)


def _written(sight: CudaSight, found: Rows, team: Team) -> Patch | Refusal:
    patch, source = sight.patch(), sight.file.source
    value = sight.names.values[found.row]
    declaration = value
    while declaration.type != "declaration" and declaration.parent is not None:
        declaration = declaration.parent
    margin = indent_of(source, declaration)
    lane = fresh(sight.file, "lane", "lane_id")
    if team.is_block:
        patch.replace(value, "blockIdx.x")
        first, step, each = "threadIdx.x", "blockDim.x", 1
    else:
        patch.replace(value, "blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32")
        first, step, each = lane, "32", team.block // _WARP
    wait = "__syncthreads();" if team.is_block else "__syncwarp();"
    if not team.is_block:
        patch.after(declaration, f"\n{margin}int {lane} = threadIdx.x % 32;")
    partial, lines = arrays(sight, [fold for loop in found.loops for fold in loop.folds], team.block)
    if team.is_block:
        patch.before(declaration, "".join(f"{one}\n{margin}" for one in lines))
    for one in found.loops:
        share(sight, patch, one, first, step)
        lines = list(folded(sight, one.folds, team, partial))
        if one.stores and one.loop.node != found.statements[-1] and lines[-1:] != [wait]:
            lines.append(wait)
        inner = indent_of(source, one.loop.node)
        patch.after(one.loop.node, "".join(f"\n{inner}{line}" for line in lines))
    for statement in found.single:
        patch.before(statement, f"if ({'threadIdx.x' if team.is_block else lane} == 0) ")
        if statement != found.statements[-1]:
            patch.after(statement, f"\n{indent_of(source, statement)}{wait}")
    return regridded(sight, patch, found.extent, each) or patch


def share(sight: CudaSight, patch: Patch, one: RowLoop, first: str, step: str) -> None:
    """Every thread of the team takes every so-manyth turn."""
    loop = one.loop
    assert loop.update is not None
    start, operator = sight.content(loop.start), field(loop.start, "operator")
    binds_less = operator is not None and sight.content(operator) not in _BIND_AS_ADDITION
    if binds_less or loop.start.type == "conditional_expression":
        start = f"({start})"
    patch.replace(loop.start, first if sight.names.number(loop.start) == 0 else f"{start} + {first}")
    patch.replace(loop.update, f"{loop.variable} += {step}")


def arrays(sight: CudaSight, folds: Sequence[Fold], size: int) -> tuple[dict[str, str], list[str]]:
    """Arrays for what the warps of a block have come to, by type, and for places by `_place`; and their declarations."""
    kinds = dict.fromkeys(type_of(sight, fold.name) for fold in folds)
    names = {kind: "partial" if len(kinds) == 1 else f"partial_{kind.replace(' ', '_')}" for kind in kinds}
    places = dict.fromkeys(type_of(sight, fold.place) for fold in folds if isinstance(fold, Extreme))
    names |= {
        _place(kind): "partial_at" if len(places) == 1 else f"partial_at_{kind.replace(' ', '_')}" for kind in places
    }
    partial = {key: fresh(sight.file, name, f"{name}_of_warps") for key, name in names.items()}
    lines = [f"__shared__ {key.removesuffix(' at')} {name}[{size // _WARP}];" for key, name in partial.items()]
    return partial, lines


def _place(kind: str) -> str:
    return f"{kind} at"


def folded(sight: CudaSight, folds: tuple[Fold, ...], team: Team, partial: dict[str, str]) -> Iterator[str]:
    """What the threads of a team have come to, in each of them."""
    head = "for (int offset = 16; offset > 0; offset >>= 1)"
    for fold in folds:
        if isinstance(fold, Extreme):
            yield from _extreme(sight, fold, team, partial, head)
            continue
        yield f"{head} {fold.code(f'__shfl_xor_sync(0xffffffff, {fold.name}, offset)')}"
        if team.is_block:
            array = partial[type_of(sight, fold.name)]
            yield f"if (threadIdx.x % 32 == 0) {array}[threadIdx.x / 32] = {fold.name};"
            yield "__syncthreads();"
            yield f"{fold.name} = {array}[0];"
            w = fresh(sight.file, "w", "warp")
            yield f"for (int {w} = 1; {w} < {team.block // _WARP}; ++{w}) {fold.code(f'{array}[{w}]')}"
            yield "__syncthreads();"


def _extreme(sight: CudaSight, fold: Extreme, team: Team, partial: dict[str, str], head: str) -> Iterator[str]:
    """As `folded`, for an element and its place."""
    other, at = fresh(sight.file, "other", f"other_{fold.name}"), fresh(sight.file, "other_at", f"other_{fold.place}")
    yield f"{head} {{"
    yield f"    {type_of(sight, fold.name)} {other} = __shfl_xor_sync(0xffffffff, {fold.name}, offset);"
    yield f"    {type_of(sight, fold.place)} {at} = __shfl_xor_sync(0xffffffff, {fold.place}, offset);"
    yield f"    {fold.code_at(other, at)}"
    yield "}"
    if team.is_block:
        values, places = partial[type_of(sight, fold.name)], partial[_place(type_of(sight, fold.place))]
        warp, w = "threadIdx.x / 32", fresh(sight.file, "w", "warp")
        yield f"if (threadIdx.x % 32 == 0) {{ {values}[{warp}] = {fold.name}; {places}[{warp}] = {fold.place}; }}"
        yield "__syncthreads();"
        yield f"{fold.name} = {values}[0];"
        yield f"{fold.place} = {places}[0];"
        each = fold.code_at(f"{values}[{w}]", f"{places}[{w}]")
        yield f"for (int {w} = 1; {w} < {team.block // _WARP}; ++{w}) {each}"
        yield "__syncthreads();"
