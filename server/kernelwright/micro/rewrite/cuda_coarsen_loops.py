"""Several rows of results a thread in a kernel whose work is a nest of loops: the rows share the loops, and what they read.

Where the loops begin and end elsewhere for points near the border, as those over a window do, and for rows beyond the last
one, a thread goes through its rows one after another as before.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_clip import is_of_ints
from kernelwright.micro.rewrite.cuda_coarsen import Row, continued, first_row, outside
from kernelwright.micro.rewrite.cuda_code import fresh, hiding_macro, mentions, named, plain, written
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
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_region import Change, changed, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import polynomials
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.polynomials import Polynomial
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_JUMPS = ("break_statement", "return_statement", "goto_statement")


@dataclass(frozen=True, eq=False)
class _Level:
    """A loop of the nest as it is written where all its turns are made; `inside`: when that is so, for all rows."""

    loop: Loop
    header: str
    inside: tuple[str, ...]
    pragma: Node | None
    shared: tuple[Node, ...]  # declarations that are the same for all rows
    own: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class _Locals:
    """The declarations of a kernel: which stay ahead of both ways, are the same for all rows, belong to one row, or change."""

    kept: tuple[Node, ...]
    shared: tuple[Node, ...]
    own: tuple[Node, ...]
    changing: dict[str, tuple[str, Node | None]]  # the type and the first value


def jammed(sight: CudaSight, row: Row, patch: Patch) -> Refusal | None:
    """Write the nest of loops for all rows of a thread at once, and behind it the kernel as it is, row by row."""
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
    refused = _refused(sight, row, found, parts, levels)
    if isinstance(inside, Refusal):
        return inside
    if refused is not None:
        return refused
    first_row(row, patch)
    _write(sight, row, patch, found, parts, levels, [*inside, *(one for level in levels for one in level.inside)])
    return None


def _locals(sight: CudaSight, row: Row, found: Guarded) -> _Locals | Refusal:
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
    return _Locals(tuple(kept), tuple(shared), tuple(own), changing)


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
) -> list[_Level] | Refusal:
    """The loops from the outside in, each of which but the last one does nothing but run the next one."""
    found, loop = list[_Level](), outer
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
) -> _Level | Refusal:
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
    changes, inside = list[Change](), list[str]()
    end = field(loop.condition, "right")
    sign = field(loop.condition, "operator")
    for node, function in ((loop.start, "max"), (end, "min")):
        if node is None or sign is None or sight.content(sign) not in ("<", "<="):
            return Refusal("A loop does not count up to a number.", line)
        fixed = [one for one in _arguments(sight, node, function) if not sight.names.behind(one) & POSITIONS]
        moving = [one for one in _arguments(sight, node, function) if one not in fixed]
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
    return _Level(loop, header, tuple(inside), pragma, tuple(shared), tuple(own))


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


def _refused(sight: CudaSight, row: Row, found: Guarded, parts: _Locals, levels: list[_Level]) -> Refusal | None:
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


def _is_shared(sight: CudaSight, row: Row, indices: tuple[Node, ...], levels: list[_Level]) -> bool:
    """Whether other rows read the same element, in the same turn of the loops or in another one."""
    variables = frozenset(one.loop.variable for one in levels)
    index = Names(sight.file, sight.kernel, variables | {row.name}).polynomial(indices[0])
    step = index.coefficient(row.name)
    return step is not None and (not step.terms or any(index.coefficient(one) == step for one in variables))


def _write(
    sight: CudaSight, row: Row, patch: Patch, found: Guarded, parts: _Locals, levels: list[_Level], inside: list[str]
) -> None:
    source, unit = sight.file.source, unit_of(sight.file.source, sight.kernel)
    each = fresh(sight.file, "r", "row_number")
    own = (*parts.own, *(one for level in levels for one in level.own))
    lines = [line for one in parts.shared for line in _lines(sight, one, {})]
    lines += _arrays(sight, row, parts, own, each, unit)
    margin = ""
    for level in levels:
        pragma = [sight.content(level.pragma).strip()] if level.pragma is not None else []
        lines += [*pragma, *indented([f"{level.header} {{"], margin)]
        margin += unit
        lines += indented([line for one in level.shared for line in _lines(sight, one, {})], margin)
    body = statements_of(levels[-1].loop.body)
    lines += _for_each(sight, row, parts, own, each, body, margin, unit)
    while margin:
        margin = margin[len(unit) :]
        lines.append(f"{margin}}}")
    lines += [*_for_each(sight, row, parts, own, each, found.after, "", unit), "return;"]
    moved = [one for one in sight.kernel.body.named_children if one not in parts.kept]
    rest = [line for one in moved for line in region(source, (one.start_byte, one.end_byte), continued(sight, [one]))]
    text = [
        f"if ({' && '.join(dict.fromkeys(inside))}) {{",
        *indented(lines, unit),
        "}",
        row.loop,
        *indented(rest, unit),
        "}",
    ]
    start = max((one.end_byte for one in parts.kept), default=row.declaration.end_byte)
    ahead = [one for one in moved if one.start_byte < start]
    for one in ahead:
        patch.cut(one)
    text = [line.lstrip() if line.lstrip().startswith("#") else line for line in indented(text, unit)]
    patch.between(start, sight.kernel.body.end_byte - 1, "\n" + "\n".join(text) + "\n")


def _arrays(sight: CudaSight, row: Row, parts: _Locals, own: tuple[Node, ...], each: str, unit: str) -> list[str]:
    """The locals that change, one for each row, with their first values."""
    zero = {
        name: value is not None and plain(sight.file.source, value).rstrip("fF") in ("0", "0.", "0.0", ".0")
        for name, (_, value) in parts.changing.items()
    }
    lines = [
        f"{kind} {name}[{row.count}]{' = {}' if zero[name] else ''};" for name, (kind, _) in parts.changing.items()
    ]
    first = [(name, value) for name, (_, value) in parts.changing.items() if value is not None and not zero[name]]
    if not first:
        return lines
    codes = [f"{name}[{each}] = {_indexed(sight, value, parts, each)};" for name, value in first]
    needed = _needed(sight, row, parts, own, each, [value for _, value in first])
    return [*lines, *_looped(row, each, [*needed, *codes], "", unit)]


def _for_each(
    sight: CudaSight,
    row: Row,
    parts: _Locals,
    own: tuple[Node, ...],
    each: str,
    body: tuple[Node, ...],
    margin: str,
    unit: str,
) -> list[str]:
    codes = [line for one in body for line in _lines(sight, one, parts.changing, each)]
    return _looped(row, each, [*_needed(sight, row, parts, own, each, list(body)), *codes], margin, unit)


def _looped(row: Row, each: str, codes: list[str], margin: str, unit: str) -> list[str]:
    head = f"for (int {each} = 0; {each} < {row.count}; ++{each}) {{"
    return ["#pragma unroll", *indented([head, *indented(codes, unit), "}"], margin)]


def _needed(
    sight: CudaSight, row: Row, parts: _Locals, own: tuple[Node, ...], each: str, nodes: list[Node]
) -> list[str]:
    """The row itself, and the declarations made of it, where some code reads them."""
    used, wanted = list[Node](), list(nodes)
    for one in reversed(own):
        if any(mentions(sight.file.source, node, declared(sight, one)) for node in wanted):
            used.insert(0, one)
            wanted.append(one)
    is_read = any(mentions(sight.file.source, node, frozenset({row.name})) for node in wanted)
    lines = [f"const int {row.name} = {row.first} + {each};"] if is_read else []
    return lines + [line for one in used for line in _lines(sight, one, parts.changing, each)]


def _lines(sight: CudaSight, node: Node, changing: dict[str, tuple[str, Node | None]], each: str = "") -> list[str]:
    """The lines of a statement, with the locals that change as those of one row."""
    places = named(sight.file.source, node, frozenset(changing))
    changes = [(one.end_byte, one.end_byte, f"[{each}]") for one in places]
    return region(sight.file.source, (node.start_byte, node.end_byte), changes)


def _indexed(sight: CudaSight, node: Node, parts: _Locals, each: str) -> str:
    return "\n".join(_lines(sight, node, parts.changing, each))
