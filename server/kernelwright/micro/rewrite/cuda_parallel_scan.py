"""A running sum that a block makes, by shuffles within its warps, in the place of one thread's."""

import dataclasses
import functools
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, mentions, named
from kernelwright.micro.rewrite.cuda_folds import Fold
from kernelwright.micro.rewrite.cuda_guarded import declared, reads_memory
from kernelwright.micro.rewrite.cuda_new_launch import regridded
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import indented, region, unit_of
from kernelwright.micro.rewrite.cuda_scan import Scan, scan
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.text import field
from kernelwright.values import Refusal

_WARP, _MOST = 32, 1024
_OF_ONE, _OF_ROWS = (8, 4, 16, 1), (1, 4, 8)  # elements that a thread takes in a turn
_BARRIER = "__syncthreads();"


@dataclass(frozen=True)
class _Words:
    """The names that a scan needs, none of which the file uses."""

    lane: str
    warp: str
    totals: str
    start: str
    own: str
    upto: str
    before: str
    base: str
    other: str
    step: str
    each: str
    turn: str
    total: str


def _words(sight: CudaSight, found: Scan) -> _Words:
    pick = functools.partial(fresh, sight.file)
    return _Words(
        lane=pick("lane", "lane_id"),
        warp=pick("warp", "warp_id"),
        totals=pick(f"warp_{found.sum.name}s", "warp_totals"),
        start=pick("start", "first", "chunk"),
        own=pick("own", "value", "element"),
        upto=pick("upto", "sum_here", "running"),
        before=pick("before", "sum_before", "ahead"),
        base=pick("base", "warp_base", "sum_of_warps"),
        other=pick("other", "below", "neighbour"),
        step=pick("offset", "distance", "lanes"),
        each=pick("w", "each_warp", "warp_at"),
        turn=pick("k", "turn", "each_chunk"),
        total=pick("total", "chunk_total", "total_so_far"),
    )


def shared_scan(sight: CudaSight) -> tuple[tuple[tuple[int, Patch], ...], Scan] | Refusal:
    """The kernel with each running sum made by a block, and the launch that starts one for each.

    The texts come with how many elements a thread takes in a turn, best guess first.
    """
    found = scan(sight)
    if isinstance(found, Refusal):
        return found
    launch, line = sight.launch, found.loop.node.start_point.row
    if isinstance(launch, Refusal) or launch.block is None:
        return Refusal("The launch has no block.", line)
    assert sight.block is not None
    size = sight.block[0] if found.row else _MOST
    if size % _WARP:
        return Refusal(f"The blocks have {size} threads, which are no whole warps.", line)
    if not found.row and sight.kernel.bounds:
        return Refusal("__launch_bounds__ says that there is one thread.", sight.kernel.name_node.start_point.row)
    patches = list[tuple[int, Patch]]()
    for count in _OF_ROWS if found.row else _OF_ONE:
        patch = sight.patch()
        _write(sight, patch, found, size, count)
        if found.extent is None:
            patch.replace(launch.block, str(size))
        elif (refused := regridded(sight, patch, found.extent, 1)) is not None:
            return refused
        patches.append((count, patch))
    return tuple(patches), found


def _write(sight: CudaSight, patch: Patch, found: Scan, size: int, count: int) -> None:
    source = sight.file.source
    first: Node = found.statements[0]
    if found.row:
        value = sight.names.values[found.row]
        patch.replace(value, "blockIdx.x")
        first = value
        while first.type != "declaration" and first.parent is not None:
            first = first.parent
    margin = indent_of(source, first)
    words = _words(sight, found)
    chunks = f"[{count}]" if count > 1 else ""
    patch.before(
        first,
        f"__shared__ {found.element} {words.totals}{chunks}[{size // _WARP}];\n{margin}"
        f"const int {words.lane} = threadIdx.x % 32, {words.warp} = threadIdx.x / 32;\n{margin}",
    )
    outer = indent_of(source, found.loop.node)
    unit = unit_of(source, sight.kernel)
    lines = _several(sight, found, size, words, unit, count) if count > 1 else _turns(sight, found, size, words, unit)
    patch.replace(found.loop.node, f"\n{outer}".join(lines))
    for statement in found.single:
        is_ahead = statement.start_byte < found.loop.node.start_byte
        before = found.statements[: found.statements.index(statement)]
        waits = is_ahead and any(reads_memory(sight, one) for one in before)
        inner = indent_of(source, statement)
        patch.before(statement, (f"{_BARRIER}\n{inner}" if waits else "") + "if (threadIdx.x == 0) ")
        if is_ahead:
            patch.after(statement, f"\n{inner}{_BARRIER}")


def _turns(sight: CudaSight, found: Scan, size: int, words: _Words, unit: str) -> list[str]:
    """The loop over as many elements as the block has threads: load, fold across the lanes and warps, use."""
    loop, name, kind = found.loop, found.sum.name, found.element
    counter, until = _counted(sight, found)
    inside, w = f"{loop.variable} {until}", words
    own, loads = _loads(sight, found, inside, w.own)
    rest, uses = _rest(sight, found, w)
    lines = [
        f"const {counter} {loop.variable} = {w.start} + threadIdx.x;",
        *loads,
        f"{kind} {w.upto} = {own};",
        *_by_lanes(found, w, w.upto, _WARP, unit),
        f"if ({w.lane} == 31) {w.totals}[{w.warp}] = {w.upto};",
        _BARRIER,
        f"{kind} {w.base} = {name};",
        f"for (int {w.each} = 0; {w.each} < {size // _WARP}; ++{w.each}) {{",
        f"{unit}if ({w.each} == {w.warp}) {w.base} = {name};",
        f"{unit}{_folded(found, name, f'{w.totals}[{w.each}]')}",
        "}",
        _folded(found, w.upto, w.base),
    ]
    if w.before in uses:
        lines.append(f"{kind} {w.before} = __shfl_up_sync(0xffffffff, {w.upto}, 1);")
        lines.append(f"if ({w.lane} == 0) {w.before} = {w.base};")
    lines += [f"if ({inside}) {rest[0]}"] if len(rest) == 1 else [f"if ({inside}) {{", *indented(rest, unit), "}"]
    head = f"for ({counter} {w.start} = {sight.content(loop.start)}; {w.start} {until}; {w.start} += {size}) {{"
    return [head, *indented([*lines, _BARRIER], unit), "}"]


def _counted(sight: CudaSight, found: Scan) -> tuple[str, str]:
    """The type of the loop's variable, and what follows it in the condition."""
    sign, right = field(found.loop.condition, "operator"), field(found.loop.condition, "right")
    counted = field(found.loop.node, "initializer", "type")
    assert sign is not None
    assert right is not None
    assert counted is not None
    return sight.content(counted), f"{sight.content(sign)} {sight.content(right)}"


def _by_lanes(found: Scan, w: _Words, value: str, lanes: int, unit: str) -> list[str]:
    """The running sums of the first lanes of a warp."""
    return [
        f"for (int {w.step} = 1; {w.step} < {lanes}; {w.step} <<= 1) {{",
        f"{unit}const {found.element} {w.other} = __shfl_up_sync(0xffffffff, {value}, {w.step});",
        f"{unit}if ({w.lane} >= {w.step}) {_folded(found, value, w.other)}",
        "}",
    ]


def _several(sight: CudaSight, found: Scan, size: int, words: _Words, unit: str, count: int) -> list[str]:
    """As `_turns`, with several chunks in a turn: their loads wait for memory together, and they share the barriers."""
    loop, name, kind, source = found.loop, found.sum.name, found.element, sight.file.source
    counter, until = _counted(sight, found)
    k, warps, upto = words.turn, size // _WARP, f"{words.upto}[{words.turn}]"
    w = dataclasses.replace(words, upto=upto)
    inside = f"{loop.variable} {until}"
    own, loads = _loads(sight, found, inside, w.own)
    rest, uses = _rest(sight, found, w)
    kept = [(local, one) for one in found.early for local in declared(sight, one)
            if any(mentions(source, part, frozenset({local})) for part in found.rest)]  # fmt: skip
    again = {local: fresh(sight.file, f"{local}_{k}", f"{local}_of_chunks") for local, _ in kept}
    here = f"const {counter} {loop.variable} = {w.start} + {k} * {size} + threadIdx.x;"
    each = f"for (int {k} = 0; {k} < {count}; ++{k}) {{"
    types = {local: sight.content(kind_node) for local, one in kept if (kind_node := field(one, "type")) is not None}
    rest = [f"if ({inside}) {rest[0]}"] if len(rest) == 1 else [f"if ({inside}) {{", *indented(rest, unit), "}"]
    if w.before in uses:
        rest = [
            f"{kind} {w.before} = __shfl_up_sync(0xffffffff, {upto}, 1);",
            f"if ({w.lane} == 0) {w.before} = {w.base};",
            *rest,
        ]
    lines = [
        f"{kind} {words.upto}[{count}];",
        *(f"{types[local]} {array}[{count}];" for local, array in again.items()),
        "#pragma unroll",
        each,
        *indented([here, *loads, f"{upto} = {own};", *(f"{a}[{k}] = {local};" for local, a in again.items())], unit),
        "}",
        "#pragma unroll",
        each,
        *indented([*_by_lanes(found, w, upto, _WARP, unit), f"if ({w.lane} == 31) {w.totals}[{k}][{w.warp}] = {upto};"], unit),
        "}",
        _BARRIER,
        *_totals(found, w, count, warps, unit),
        _BARRIER,
        "#pragma unroll",
        each,
        *indented(
            [
                here,
                *(f"const {types[local]} {local} = {array}[{k}];" for local, array in again.items()),
                f"{kind} {w.base} = {name};",
                f"if ({w.warp} > 0) {_folded(found, w.base, f'{w.totals}[{k}][{w.warp} - 1]')}",
                _folded(found, upto, w.base),
                *rest,
                _folded(found, name, f"{w.totals}[{k}][{warps - 1}]"),
            ],
            unit,
        ),
        "}",
        _BARRIER,
    ]  # fmt: skip
    head = f"for ({counter} {w.start} = {sight.content(loop.start)}; {w.start} {until}; {w.start} += {count * size}) {{"
    return [head, *indented(lines, unit), "}"]


def _totals(found: Scan, w: _Words, count: int, warps: int, unit: str) -> list[str]:
    """The running sums of the sums of warps, of each chunk by a warp."""
    k, place = w.turn, f"{w.totals}[{w.turn}][{w.lane} % {warps}]"
    lines = [
        f"{found.element} {w.total} = {place};",
        *_by_lanes(found, w, w.total, warps, unit),
        f"if ({w.lane} < {warps}) {w.totals}[{k}][{w.lane}] = {w.total};",
    ]
    return [f"for (int {k} = {w.warp}; {k} < {count}; {k} += {warps}) {{", *indented(lines, unit), "}"]


def _folded(found: Scan, into: str, other: str) -> str:
    return Fold(into, found.sum.operator).code(other)


def _loads(sight: CudaSight, found: Scan, inside: str, wanted: str) -> tuple[str, list[str]]:
    """The thread's own element and what it is made of: nothing beyond the end is read, and what stands there adds nothing."""
    source, lines = sight.file.source, []
    for one in found.early:
        value, kind = field(one, "declarator", "value"), field(one, "type")
        assert value is not None
        assert kind is not None
        is_own = sight.content(found.value) in sight.content(field(one, "declarator", "declarator") or one).split()
        neutral = _neutral(found) if is_own and sight.content(kind) == found.element else "0"
        written = _guarded(sight, value, inside, neutral)
        lines.append(f"{source.source[one.start_byte : value.start_byte].decode()}{written};")
    last = found.early[-1] if found.early else None
    kind = field(last, "type")
    name = field(last, "declarator", "declarator")
    is_named = name is not None and sight.content(name) == sight.content(found.value)
    if is_named and kind is not None and sight.content(kind) == found.element:
        return sight.content(found.value), lines
    neutral = _guarded(sight, found.value, inside, _neutral(found))
    return wanted, [*lines, f"const {found.element} {wanted} = {neutral};"]


def _guarded(sight: CudaSight, value: Node, inside: str, neutral: str) -> str:
    code = sight.content(value)
    loose = value.type in ("conditional_expression", "assignment_expression", "comma_expression")
    return f"{inside} ? {f'({code})' if loose else code} : {neutral}"


def _neutral(found: Scan) -> str:
    """What changes no sum: of maxima and minima, the one so far."""
    if found.sum.operator not in "+*":
        return found.sum.name
    suffix = {"float": ".0f", "double": ".0"}.get(found.element, "")
    return f"{'0' if found.sum.operator == '+' else '1'}{suffix}"


def _rest(sight: CudaSight, found: Scan, words: _Words) -> tuple[list[str], set[str]]:
    """What a turn does with the sum, and which of the two sums it uses: the one ahead of its element or the one with it."""
    lines, uses = list[str](), set[str]()
    for one in found.rest:
        name = words.before if one.start_byte < found.update.start_byte else words.upto
        places = list(named(sight.file.source, one, frozenset({found.sum.name})))
        uses |= {name} if places else set()
        changes = [(place.start_byte, place.end_byte, name) for place in places]
        lines += region(sight.file.source, (one.start_byte, one.end_byte), changes)
    return lines, uses
