"""Columns that the threads of a block fold one by one: given to the lanes of its warps, which share out the rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named, plain, unsettled
from kernelwright.micro.rewrite.cuda_folds import Extreme
from kernelwright.micro.rewrite.cuda_guarded import (
    X,
    declared,
    hidden_access,
    kind_of,
    reads_memory,
    statements_of,
    type_of,
)
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import indented, region, unit_of
from kernelwright.micro.rewrite.cuda_rows import RowLoop, row_loop, target_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type, walk

_WARP = 32


@dataclass(frozen=True, eq=False)
class Columns:
    """A loop `for (d = threadIdx.x; d < n; d += blockDim.x)` of which each turn folds in one loop; `ahead` and `behind` it."""

    outer: Loop
    ahead: tuple[Node, ...]
    fold: RowLoop
    behind: tuple[Node, ...]


def columns(sight: CudaSight) -> tuple[Columns, ...]:
    """Such loops of a kernel, where every thread reaches them."""
    early = next(of_type(sight.kernel.body, "return_statement", "goto_statement"), None)
    if early is not None:
        return ()
    loops = (one for node in statements_of(sight.kernel.body) for one in sight.names.loops if one.node == node)
    return tuple(one for loop in loops if (one := _columns(sight, loop)) is not None)


def _columns(sight: CudaSight, outer: Loop) -> Columns | None:
    source, step = sight.file.source, field(outer.update, "right")
    sign, bound = field(outer.condition, "operator"), field(outer.condition, "right")
    if step is None or sign is None or sight.content(sign) != "<" or plain(source, step) != "blockDim.x":
        return None
    if bound is None or kind_of(sight, bound) or unsettled(sight.names, bound):
        return None
    statements = statements_of(outer.body)
    inner = [one for one in sight.names.loops if one.node in statements]
    if sight.names.polynomial(outer.start) != polynomials.name(X) or len(inner) != 1:
        return None
    fold, place = row_loop(sight, outer.variable, inner[0], []), statements.index(inner[0].node)
    if (
        not isinstance(fold, RowLoop)
        or not fold.folds
        or fold.stores
        or any(isinstance(one, Extreme) for one in fold.folds)
    ):
        return None
    ahead, behind = statements[:place], statements[place + 1 :]
    if any(one.type != "declaration" or reads_memory(sight, one) for one in ahead):
        return None
    if any(hidden_access(sight, one) is not None for one in statements) or not _are_apart(sight, outer, behind):
        return None
    return Columns(outer, ahead, fold, behind)


def _are_apart(sight: CudaSight, outer: Loop, behind: tuple[Node, ...]) -> bool:
    """Whether turns carry nothing on, and what they store is read in no other."""
    own = {name for one in of_type(outer.body, "declaration") for name in declared(sight, one)}
    for node in walk(outer.body):
        target = target_of(node)
        if target is not None and target.type == "identifier" and sight.content(target) not in own:
            return False
    if next(named(sight.file.source, outer.body, frozenset({X})), None) is not None:
        return False
    inside = [one for one in sight.accesses if is_inside(one.node, outer.body)]
    stored = {one.base for one in inside if one.writes}
    return all(one.space != "local" and (one.base not in stored or not one.reads) for one in inside) and all(
        one.type == "expression_statement" for one in behind
    )


def shared_columns(sight: CudaSight, patch: Patch, found: Columns, size: int) -> Iterator[str]:
    """Write the loop for blocks of `size` threads; the declarations that the kernel needs for it."""
    source, outer, fold = sight.file.source, found.outer, found.fold.loop
    margin, unit = indent_of(source, outer.node), unit_of(source, sight.kernel)
    variable, counted = outer.variable, field(outer.node, "initializer", "type")
    first, w = fresh(sight.file, "column", "first_column"), fresh(sight.file, "w", "warp")
    bound = field(outer.condition, "right")
    assert counted is not None
    assert bound is not None
    assert fold.update is not None
    within = f"{variable} < {sight.content(bound)}"
    arrays = {one.name: fresh(sight.file, f"{one.name}_of_warps", f"{one.name}_by_warp") for one in found.fold.folds}
    start = "" if sight.names.number(fold.start) == 0 else f"{sight.content(fold.start)} + "
    changes = [
        (fold.start.start_byte, fold.start.end_byte, f"{start}{X} / 32"),
        (fold.update.start_byte, fold.update.end_byte, f"{fold.variable} += {size // _WARP}"),
    ]
    loop = region(source, (fold.node.start_byte, fold.node.end_byte), changes)
    lines = [
        f"const {sight.content(counted)} {variable} = {first} + {X} % 32;",
        *(line for one in found.ahead for line in region(source, (one.start_byte, one.end_byte))),
        f"if ({within}) {{",
        *indented(loop, unit),
        "}",
        *(f"{array}[{X} / 32][{X} % 32] = {name};" for name, array in arrays.items()),
        "__syncthreads();",
        f"if ({X} < 32 && {within}) {{",
        *indented(
            [
                f"for (int {w} = 1; {w} < {size // _WARP}; ++{w}) {{",
                *indented([one.code(f"{arrays[one.name]}[{w}][{X}]") for one in found.fold.folds], unit),
                "}",
                *(line for one in found.behind for line in region(source, (one.start_byte, one.end_byte))),
            ],
            unit,
        ),
        "}",
        "__syncthreads();",
    ]
    head = f"for ({sight.content(counted)} {first} = 0; {first} < {sight.content(bound)}; {first} += 32) {{"
    patch.replace(outer.node, "\n".join([head, *indented(lines, margin + unit), margin + "}"]))
    for one in found.fold.folds:
        yield f"__shared__ {type_of(sight, one.name)} {arrays[one.name]}[{size // _WARP}][32];"
