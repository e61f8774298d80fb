"""Scans of a block that walks along a row: several chunks at once, each by shuffles, between one pair of barriers."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, named, plain
from kernelwright.micro.rewrite.cuda_folds import Fold
from kernelwright.micro.rewrite.cuda_guarded import declared, hidden_access, reads_memory, statements_of, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_restrict import aliased
from kernelwright.micro.rewrite.cuda_rows import target_of
from kernelwright.micro.rewrite.cuda_scan_steps import BARRIER, Steps, scan_steps, single_declaration
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.values import Refusal

_WARP = 32
_LEAVES = ("break_statement", "continue_statement", "return_statement", "goto_statement")


@dataclass(frozen=True, eq=False)
class Chunks:
    """The scan in each turn of `outer`: `ahead` are declarations, `value` what a thread adds, `rest` what it does with the sum.

    `sums` and `totals` are the subscripts of the thread's sum and of the chunk's.
    """

    steps: Steps
    outer: Loop
    ahead: tuple[Node, ...]
    value: Node
    rest: tuple[Node, ...]
    sums: tuple[Node, ...]
    totals: tuple[Node, ...]


def chunked_scan(sight: CudaSight) -> Chunks | Refusal:
    """A scan whose chunks can be taken several at a time, or why not."""
    steps = scan_steps(sight)
    if isinstance(steps, Refusal):
        return steps
    line = steps.loop.node.start_point.row
    outer = next((one for one in reversed(sight.names.loops) if steps.loop.node in statements_of(one.body)), None)
    step, right = (field(outer.update, "right"), field(outer.condition, "right")) if outer is not None else (None, None)
    sign, adds = (
        (field(outer.condition, "operator"), field(outer.update, "operator")) if outer is not None else (None, None)
    )
    if outer is None or step is None or right is None or sign is None or adds is None:
        return Refusal("The scan does not go along a row chunk by chunk.", line)
    width = sight.names.polynomial(step).at({"blockDim.x": steps.block}).number
    if width != steps.block or sight.content(sign) != "<" or sight.content(adds) != "+=":
        return Refusal("The loop around the scan does not go on by as many elements as the block has threads.", line)
    statements = [one for one in statements_of(outer.body) if one.type != "preproc_call"]
    place = statements.index(steps.loop.node)
    before, rest = statements[:place], statements[place + 1 :]
    if len(before) < 2 or plain(sight.file.source, before[-1]) != BARRIER:
        return Refusal("No barrier stands right ahead of the scan.", line)
    if rest and plain(sight.file.source, rest[-1]) == BARRIER:
        rest = rest[:-1]
    ahead = [one for one in before[:-2] if not (steps.side and declared(sight, one) == {steps.side})]
    stored = before[-2].named_children[0] if before[-2].type == "expression_statement" else None
    left, value, equals = (field(stored, part) for part in ("left", "right", "operator"))
    side = f"[{steps.side}]" if steps.side else ""
    if value is None or left is None or equals is None or sight.content(equals) != "=":
        return Refusal("Not every thread stores its value right ahead of the scan.", line)
    if plain(sight.file.source, left) != f"{steps.array}{side}[{steps.thread}]":
        return Refusal("Not every thread stores its value right ahead of the scan.", line)
    return _parts(sight, steps, outer, tuple(ahead), value, tuple(rest))


def _parts(
    sight: CudaSight, steps: Steps, outer: Loop, ahead: tuple[Node, ...], value: Node, rest: tuple[Node, ...]
) -> Chunks | Refusal:
    sums, totals = list[Node](), list[Node]()
    for one in ahead:
        if one.type != "declaration" or reads_memory(sight, one):
            return Refusal("Something other than a declaration stands ahead of the scan.", one.start_point.row)
    for access in (one for one in sight.accesses if one.base == steps.array):
        if is_inside(access.node, steps.loop.node) or access.node.end_byte <= value.start_byte:
            continue
        last, line = access.indices[-1], access.node.start_point.row
        if not any(is_inside(access.node, one) for one in rest) or access.kind != "load":
            return Refusal(f"`{sight.content(access.node)}` is used for more than the sum.", line)
        if plain(sight.file.source, last) == steps.thread:
            sums.append(access.node)
        elif sight.names.polynomial(last).at({"blockDim.x": steps.block}).number == steps.block - 1:
            totals.append(access.node)
        else:
            return Refusal(f"`{sight.content(access.node)}` is the sum of another thread.", line)
    for node in (inner for part in (*ahead, value, *rest) for inner in walk(part)):
        if node.type in _LEAVES or plain(sight.file.source, node) == BARRIER:
            return Refusal("A turn of the loop around the scan is cut in two.", node.start_point.row)
    changed = frozenset(
        sight.content(target)
        for part in (value, *rest)
        for node in walk(part)
        if (target := target_of(node)) is not None and target.type == "identifier"
    )
    heads = [one for one in (outer.condition, outer.update) if one is not None]
    early = next((one for part in (*ahead, value, *heads) for one in named(sight.file.source, part, changed)), None)
    if early is not None:
        reason = f"`{sight.content(early)}` is carried from one chunk to what the next one adds up."
        return Refusal(reason, early.start_point.row)
    uses = list(named(sight.file.source, sight.kernel.body, frozenset({steps.array})))
    if any(one.end_byte <= outer.node.start_byte or one.start_byte >= outer.node.end_byte for one in uses[1:]):
        return Refusal(f"`{steps.array}` is used outside of the loop around the scan, too.", outer.node.start_point.row)
    others = frozenset(
        name
        for one in of_type(sight.kernel.body, "declaration")
        if "__shared__" in sight.content(one)
        for name in declared(sight, one) - {steps.array}
    )
    shared = next((one for part in (*ahead, value, *rest) for one in named(sight.file.source, part, others)), None)
    if shared is not None:
        return Refusal(f"`{sight.content(shared)}` is shared from chunk to chunk.", shared.start_point.row)
    return _apart(sight, steps, value, rest) or Chunks(steps, outer, ahead, value, rest, tuple(sums), tuple(totals))


def _apart(sight: CudaSight, steps: Steps, value: Node, rest: tuple[Node, ...]) -> Refusal | None:
    """Why what a turn stores may be what another one loads, or something else may be."""
    hidden = next(filter(None, (hidden_access(sight, one) for one in (value, *rest))), None)
    if hidden is not None:
        return Refusal(f"`{sight.content(hidden)}` may read or write memory.", hidden.start_point.row)
    inside = [one for one in sight.accesses if any(is_inside(one.node, part) for part in (value, *rest))]
    inside = [one for one in inside if one.base != steps.array and one.space != "local"]
    for load, store in ((load, store) for load in inside for store in inside if load.reads and store.writes):
        if store.base == load.base and plain(sight.file.source, store.node) == plain(sight.file.source, load.node):
            continue
        parameter = sight.kernel.parameter(load.base)
        if parameter is None or store.base == load.base:
            return Refusal(f"`{sight.content(load.node)}` may be what another turn stores.", load.node.start_point.row)
        why = aliased(sight, parameter)
        if why is not None:
            return why
    return None


def several_chunks(sight: CudaSight, found: Chunks, count: int) -> Patch:
    """The text with `count` chunks in each turn."""
    patch, source, steps, outer = sight.patch(), sight.file.source, found.steps, found.outer
    margin, unit = indent_of(source, outer.node), unit_of(source, sight.kernel)
    kind, thread = type_of(sight, steps.array), steps.thread
    k, ahead = fresh(sight.file, "k", "turn"), fresh(sight.file, "ahead", "sum_ahead")
    first, sums = (
        fresh(sight.file, "chunk", "chunks", "first_chunk"),
        fresh(sight.file, "sums", "scanned", "sums_so_far"),
    )
    total, other = fresh(sight.file, "total", "chunk_total"), fresh(sight.file, "other", "below")
    totals = fresh(sight.file, "warp_sums" if steps.operator == "+" else "warp_values", "warp_totals")
    counted, right = field(outer.node, "initializer", "type"), field(outer.condition, "right")
    step = field(outer.update, "right")
    assert counted is not None
    assert right is not None
    assert step is not None
    width, own = sight.content(step), f"{sums}[{k}]"
    changes: list[Change] = [
        *((one.start_byte, one.end_byte, own) for one in found.sums),
        *((one.start_byte, one.end_byte, total) for one in found.totals),
    ]
    here = [f"const {sight.content(counted)} {outer.variable} = {first} + {k} * {width};"]
    inside = [line for one in found.ahead for line in _lines(sight, one, changes)]
    value = _lines(sight, found.value, changes)
    value[-1] += ";"
    rest = [line for one in found.rest for line in _lines(sight, one, changes)]
    each = f"for (int {k} = 0; {k} < {count}; ++{k}) {{"
    bound, warps = sight.content(right), steps.block // _WARP
    lines = [
        f"{kind} {sums}[{count}] = {{}};",
        "#pragma unroll",
        each,
        *indented([*here, *inside, f"if ({outer.variable} < {bound}) {own} = {value[0]}", *value[1:]], unit),
        "}",
        "#pragma unroll",
        each,
        *indented(
            [
                *_scanned(found, own, other, kind, _WARP, unit),
                f"if ({thread} % 32 == 31) {totals}[{k}][{thread} / 32] = {own};",
            ],
            unit,
        ),
        "}",
        BARRIER,
        "#pragma unroll",
        each,
        *indented(
            [
                *here,
                f"if ({outer.variable} >= {bound}) break;",
                *inside,
                f"{kind} {total} = {totals}[{k}][{thread} % 32 % {warps}];",
                *_scanned(found, total, other, kind, warps, unit),
                f"const {kind} {ahead} = __shfl_sync(0xffffffff, {total}, {thread} < 32 ? 0 : {thread} / 32 - 1);",
                f"if ({thread} >= 32) {Fold(own, steps.operator).code(ahead)}",
                f"{total} = __shfl_sync(0xffffffff, {total}, {warps - 1});",
                *rest,
            ],
            unit,
        ),
        "}",
        BARRIER,
    ]
    patch.replace(outer.body, "\n".join(["{", *indented(lines, margin + unit), margin + "}"]))
    for part in (outer.node.child_by_field_name("initializer"), outer.condition, outer.update):
        for node in of_type(part, "identifier") if part is not None else ():
            if sight.content(node) == outer.variable:
                patch.replace(node, first)
    patch.replace(step, f"{count} * {width}")
    array, shared = single_declaration(sight, steps.array), f"__shared__ {kind} {totals}[{count}][{warps}];"
    if array is not None:
        return patch.replace(array, shared)
    return patch.before(outer.node, f"{shared}\n{margin}")


def _scanned(found: Chunks, value: str, other: str, kind: str, lanes: int, unit: str) -> list[str]:
    """The running sums of the first lanes of a warp."""
    thread, step = found.steps.thread, found.steps.loop.variable
    return [
        f"for (int {step} = 1; {step} < {lanes}; {step} <<= 1) {{",
        f"{unit}const {kind} {other} = __shfl_up_sync(0xffffffff, {value}, {step});",
        f"{unit}if ({thread} % 32 >= {step}) {Fold(value, found.steps.operator).code(other)}",
        "}",
    ]


def _lines(sight: CudaSight, node: Node, changes: list[Change]) -> list[str]:
    inside = [one for one in changes if node.start_byte <= one[0] and one[1] <= node.end_byte]
    return region(sight.file.source, (node.start_byte, node.end_byte), inside)
