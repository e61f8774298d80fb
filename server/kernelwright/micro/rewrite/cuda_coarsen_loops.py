"""Kernels whose work is a nest of loops that the rows of one thread can go through together."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_clip import is_of_ints
from kernelwright.micro.rewrite.cuda_coarsen import Row, outside
from kernelwright.micro.rewrite.cuda_code import hiding_macro, written
from kernelwright.micro.rewrite.cuda_guarded import (
    Guarded,
    declared,
    guarded,
    hidden_access,
    reads_memory,
    statements_of,
)
from kernelwright.micro.rewrite.cuda_independent import declared_in, kept_name
from kernelwright.micro.rewrite.cuda_matmul import POSITIONS, limit_of
from kernelwright.micro.rewrite.cuda_region import Change, changed
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source import polynomials
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_SHORT = 64  # turns of a nest that is unrolled
_JUMPS = ("break_statement", "return_statement", "goto_statement")


@dataclass(frozen=True, eq=False)
class Level:
    """A loop of the nest as it is written where all its turns are made; `inside`: when that is so, for all rows."""

    loop: Loop
    header: str
    limits: tuple[Node, Node]
    inside: tuple[str, ...]
    pragma: Node | None
    shared: tuple[Node, ...]  # declarations that are the same for all rows
    own: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Locals:
    """The declarations of a kernel: which stay ahead of both ways, are the same for all rows, belong to one row, or change."""

    kept: tuple[Node, ...]
    shared: tuple[Node, ...]
    own: tuple[Node, ...]
    changing: dict[str, tuple[str, Node | None]]  # the type and the first value


@dataclass(frozen=True, eq=False)
class Nest:
    """The loops from the outside in, and what stands around them. `inside`: when all rows of a thread make all turns.

    `known`: the parameters that the loops' lengths hang on, with their values in the workload.
    """

    parts: Guarded
    locals: Locals
    levels: tuple[Level, ...]
    inside: tuple[str, ...]
    known: dict[str, int]


def nest(sight: CudaSight, row: Row, *, unrolled: bool) -> Nest | Refusal:
    """The nest of loops that is a kernel's work; `unrolled`: with what the workload says of their lengths."""
    outer = [one for one in sight.names.loops if not sight.names.loops_around(one.node)]
    hidden = hiding_macro(sight.names, sight.kernel.body, frozenset(sight.names.assigned))
    if hidden is not None:
        return Refusal(f"The macro {sight.content(hidden)} speaks of the kernel's own names.", hidden.start_point.row)
    if not outer:
        return Refusal("The kernel has no loop that counts.", row.declaration.start_point.row)
    found = guarded(sight, outer[0].node)
    if isinstance(found, Refusal):
        return found
    parts = _locals(sight, row, found)
    if isinstance(parts, Refusal):
        return parts
    levels = _levels(sight, frozenset({row.name, *parts.changing}), row, outer[0], found.pragma)
    if isinstance(levels, Refusal):
        return levels
    inside = _inside(sight, row, found)
    if isinstance(inside, Refusal):
        return inside
    refused = _refused(sight, row, found, parts, levels)
    known = _known(sight, levels) if unrolled else {}
    if refused is None and unrolled and not known:
        refused = Refusal("The workload does not say that the loops are short.", outer[0].node.start_point.row)
    inside += [one for level in levels for one in level.inside]
    return refused or Nest(found, parts, tuple(levels), tuple(inside), known)


def _known(sight: CudaSight, levels: list[Level]) -> dict[str, int]:
    """The parameters that say how long the loops are, with their values in the workload; none where loops are long."""
    turns, known = 1, dict[str, int]()
    for level in levels:
        start, end = (sight.names.polynomial(one) for one in level.limits)
        names = start.names | end.names
        given = {one: value for one in names if isinstance(value := sight.value(one), int)}
        kinds = [sight.kernel.parameter(one) for one in names]
        plainly = all(one is not None and one.base == "int" and not sight.names.assigned.get(one.name) for one in kinds)
        length = (end - start).at(given).number
        if not plainly or length is None:
            return {}
        turns, known = turns * max(length, 1), known | given
    return known if turns <= _SHORT else {}


def _locals(sight: CudaSight, row: Row, found: Guarded) -> Locals | Refusal:
    """What becomes of each declaration ahead of the loops."""
    kept, shared, own, of_row = list[Node](), list[Node](), list[Node](), {row.name}
    changing = dict[str, tuple[str, Node | None]]()
    if row.declaration not in found.head:
        return Refusal("The row is counted behind a guard.", row.declaration.start_point.row)
    for one in (*found.head, *found.between):
        names = declared(sight, one)
        if one == row.declaration or one.type == "comment":
            if names - {row.name} and any(row.name in sight.names.behind(sight.names.values[other])
                                          for other in names - {row.name} if other in sight.names.values):  # fmt: skip
                return Refusal("The row's declaration declares what is made of it, too.", one.start_point.row)
            (kept if one in found.head else shared).append(one)
            continue
        settled = names <= sight.names.values.keys()
        values = [sight.names.values[name] for name in names if name in sight.names.values]
        depends = any(sight.names.behind(value) & of_row for value in values)
        if settled and not depends:
            (kept if one in found.head else shared).append(one)
        elif settled and not any(reads_memory(sight, value) or _calls(value) for value in values):
            own.append(one)
            of_row |= names
        else:
            made = dict(_plain(sight, one))
            if made.keys() != names:
                return Refusal(f"`{sight.content(one)}` cannot be an array.", one.start_point.row)
            changing |= made
            of_row |= names
    return Locals(tuple(kept), tuple(shared), tuple(own), changing)


def _calls(node: Node) -> bool:
    return next(of_type(node, "call_expression"), None) is not None


def _plain(sight: CudaSight, declaration: Node) -> Iterator[tuple[str, tuple[str, Node | None]]]:
    """The locals of a declaration that are neither arrays nor pointers, with their types and first values."""
    kind = field(declaration, "type")
    for one in declaration.children_by_field_name("declarator"):
        target = field(one, "declarator") if one.type == "init_declarator" else one
        if kind is not None and target is not None and target.type == "identifier" and sight.content(kind) != "auto":
            yield sight.content(target), (sight.content(kind), field(one, "value"))


def _levels(
    sight: CudaSight, of_row: frozenset[str], row: Row, outer: Loop, pragma: Node | None
) -> list[Level] | Refusal:
    """The loops from the outside in, each of which but the last one does nothing but run the next one."""
    found, loop = list[Level](), outer
    while True:
        statements = statements_of(loop.body)
        inner = [one for one in sight.names.loops if sight.names.loops_around(one.node)[-1:] == (loop,)]
        nested = next((one for one in inner if one.node in statements), None)
        made = _level(sight, of_row, row, loop, pragma, statements[:-1] if nested is not None else ())
        if isinstance(made, Refusal):
            return made
        found.append(made)
        if not inner:
            return found
        if len(inner) > 1 or nested is None or statements[-1] != nested.node:
            return Refusal("A loop does more than run another one.", loop.node.start_point.row)
        pragma = next((one for one in statements[-2:-1] if one.type == "preproc_call"), None)
        loop = nested


def _level(
    sight: CudaSight,
    of_row: frozenset[str],
    row: Row,
    loop: Loop,
    pragma: Node | None,
    statements: tuple[Node, ...],
) -> Level | Refusal:
    line, source = loop.node.start_point.row, sight.file.source
    shared, own = list[Node](), list[Node]()
    for one in statements:
        names = declared(sight, one)
        if one.type == "preproc_call":
            continue
        if one.type != "declaration" or not names <= sight.names.values.keys():
            return Refusal("A loop does more than run another one.", one.start_point.row)
        depends = any(of_row & sight.names.behind(sight.names.values[name]) for name in names)
        (own if depends else shared).append(one)
    changes, inside, limits = list[Change](), list[str](), list[Node]()
    end = field(loop.condition, "right")
    sign = field(loop.condition, "operator")
    for node, function in ((loop.start, "max"), (end, "min")):
        if node is None or sign is None or sight.content(sign) not in ("<", "<="):
            return Refusal("A loop does not count up to a number.", line)
        fixed = [one for one in _arguments(sight, node, function) if not sight.names.behind(one) & POSITIONS]
        moving = [one for one in _arguments(sight, node, function) if one not in fixed]
        limits.append(fixed[0] if fixed else node)
        if not moving:
            continue
        if len(fixed) != 1 or not is_of_ints(sight, node, loop.node):
            return Refusal("A loop is longer or shorter from thread to thread.", line)
        changes.append((node.start_byte, node.end_byte, sight.content(fixed[0])))
        for one in moving:
            condition = _compared(sight, row, one, fixed[0], function)
            if condition is None:
                return Refusal(f"`{sight.content(one)}` does not rise or fall with the row evenly.", line)
            inside.append(condition)
    rest = (loop.start, loop.update, field(loop.condition, "left"), end)
    if any(of_row & sight.names.behind(one) for one in rest if one is not None and not _moves(one, changes)):
        return Refusal("A loop is longer or shorter from row to row.", line)
    header = changed(source, (loop.node.start_byte, loop.body.start_byte), changes).strip()
    return Level(loop, header, (limits[0], limits[1]), tuple(inside), pragma, tuple(shared), tuple(own))


def _moves(node: Node, changes: list[Change]) -> bool:
    return any(start == node.start_byte for start, _, _ in changes)


def _arguments(sight: CudaSight, node: Node, function: str) -> Iterator[Node]:
    """What `max(max(a, b), c)` is the largest of; the node itself where it is no such call."""
    callee, listed = field(node, "function"), field(node, "arguments")
    if callee is None or listed is None or sight.content(callee) != function:
        yield node
        return
    for one in listed.named_children:
        yield from _arguments(sight, one, function)


def _compared(sight: CudaSight, row: Row, moving: Node, fixed: Node, function: str) -> str | None:
    """When the limit that is the same for all threads is the tighter one, in all rows: in the first or in the last one."""
    names = Names(sight.file, sight.kernel, frozenset(sight.names.values))
    difference = names.polynomial(fixed) - names.polynomial(moving)
    difference = difference if function == "max" else polynomials.number(0) - difference
    step = difference.coefficient(row.name)
    if step is None or step.number is None:
        return None
    if step.number:
        ends = polynomials.number(row.count - 1 if step.number < 0 else 0)
        difference = difference.replaced({row.name: polynomials.name(row.first) + ends})
    above = Polynomial(tuple(one for one in difference.terms if one[1] > 0))
    below = polynomials.number(0) - Polynomial(tuple(one for one in difference.terms if one[1] < 0))
    return f"{_sum(above)} >= {_sum(below)}"


def _sum(found: Polynomial) -> str:
    """A sum as code, with its number at the end."""
    names = Polynomial(tuple(one for one in found.terms if one[0]))
    number = (found - names).number or 0
    return f"{written(names)} + {number}" if names.terms and number else written(found)


def _inside(sight: CudaSight, row: Row, found: Guarded) -> list[str] | Refusal:
    """The guards, so that they hold for all rows of a thread."""
    codes = []
    for bound in found.bounds:
        limit = limit_of(sight, bound.node, bound.negated, row.name)
        if row.name not in sight.names.behind(bound.node):
            codes.append(bound.code(sight.file.source, {}))
        elif limit is not None and not sight.names.behind(limit) & POSITIONS:
            codes.append(f"{row.last} < {sight.content(limit)}")
        else:
            return Refusal("The guard asks for more of the row than where it ends.", bound.node.start_point.row)
    return codes


def _refused(sight: CudaSight, row: Row, found: Guarded, parts: Locals, levels: list[Level]) -> Refusal | None:
    """What rows cannot do side by side, or gain nothing by."""
    outer, inner = levels[0].loop, levels[-1].loop
    body = statements_of(inner.body)
    made = (
        declared_in(sight.names, (*body, *found.after)) | parts.changing.keys() | {one.loop.variable for one in levels}
    )
    jumps = [node for one in (outer.node, *found.after) for node in of_type(one, *_JUMPS)]
    if jumps:
        return Refusal("A row may be done before its loops are.", jumps[0].start_point.row)
    asked = [bound.node for bound in found.bounds if parts.changing.keys() & sight.names.behind(bound.node)]
    if asked:
        return Refusal("The guard asks for what changes.", asked[0].start_point.row)
    hidden = hidden_access(sight, outer.node)
    if hidden is not None:
        return Refusal(f"`{sight.content(hidden)}` may write to memory.", hidden.start_point.row)
    if declared_in(sight.names, (*body, *found.after)) & parts.changing.keys():
        return Refusal("A local has the same name as another one.", outer.node.start_point.row)
    loads = [one for one in sight.accesses if is_inside(one.node, outer.node)]
    if any(one.writes and one.space != "local" for one in loads):
        return Refusal("The loop writes to memory.", outer.node.start_point.row)
    for area in (outer.node, *found.after):
        for node in of_type(area, "assignment_expression", "update_expression", "pointer_expression"):
            name = kept_name(sight.names, node)
            if name and name not in made:
                return Refusal(f"`{name}` changes from row to row, and is declared elsewhere.", node.start_point.row)
    if not any(_is_shared(sight, row, one.indices, levels) for one in loads if one.space == "global"):
        return Refusal("Rows that lie beside each other read nothing that is the same.", outer.node.start_point.row)
    moved = [one for one in sight.kernel.body.named_children if one not in parts.kept]
    return outside(sight, moved)


def _is_shared(sight: CudaSight, row: Row, indices: tuple[Node, ...], levels: list[Level]) -> bool:
    """Whether other rows read the same element, in the same turn of the loops or in another one."""
    variables = frozenset(one.loop.variable for one in levels)
    index = Names(sight.file, sight.kernel, variables | {row.name}).polynomial(indices[0])
    step = index.coefficient(row.name)
    return step is not None and (not step.terms or any(index.coefficient(one) == step for one in variables))
