"""Loops that read the same elements of a row one after the other: loaded once, into registers, where the row fits."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, hiding_macro, plain, unsettled
from kernelwright.micro.rewrite.cuda_guarded import hidden_access
from kernelwright.micro.rewrite.cuda_load_ahead import LEAVES, WAITS, head_of, is_certain, place_taken
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_pointers import UNKNOWN, uses
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_restrict import aliased
from kernelwright.micro.rewrite.cuda_rows import are_restrict
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_threads import is_fixed
from kernelwright.micro.rewrite.cuda_vectorise import BYTES
from kernelwright.source import polynomials
from kernelwright.source.cuda import Parameter
from kernelwright.source.cuda.accesses import Access, flat_index
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_LANES = ("threadIdx.x", "threadIdx.x%32", "threadIdx.x&31", "threadIdx.x%warpSize")
_MOST = 64  # registers for what is kept
_TURN = "the turn of the loop"  # its variable, whatever its name
_WAIT = ("__syncthreads", "__syncwarp")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_Key = tuple[str, Polynomial]


@dataclass(frozen=True, eq=False)
class Kept:
    """The element of a turn that several loops read: its `places`, in order of the text."""

    parameter: Parameter
    places: tuple[tuple[Loop, Access], ...]

    @property
    def first(self) -> Loop:
        return self.places[0][0]

    @property
    def last(self) -> Loop:
        return self.places[-1][0]


@dataclass(frozen=True, eq=False)
class KeptRow:
    """`loops` beside each other with the same turns, which read what is `kept`: as many turns a thread as `turns`, at most.

    `length` is how many elements the row of the workload has.
    """

    loops: tuple[Loop, ...]
    kept: tuple[Kept, ...]
    type: str
    bound: Node
    step: str
    stride: int
    length: int

    @property
    def turns(self) -> int:
        return -(-self.length // self.stride)


def kept_row(sight: CudaSight) -> KeptRow | Refusal:
    """The loops of a kernel whose row stays in registers; a Refusal that says why there are none."""
    why = Refusal("No loops that follow each other take the same turns, from the number of the thread on.")
    for loops in _alike(sight):
        found = _kept_row(sight, loops)
        if isinstance(found, KeptRow):
            return found
        why = found
    return why


def _alike(sight: CudaSight) -> Iterator[tuple[Loop, ...]]:
    """Loops beside each other with the same start, bound and step."""
    groups: dict[tuple[int, str, str, str, str], list[Loop]] = {}
    for loop in sight.names.loops:
        head, parent = head_of(sight, loop), loop.node.parent
        if isinstance(head, Refusal) or parent is None or parent.type != "compound_statement":
            continue
        start = _meaning(sight, loop.start)
        if start in _LANES and head[2] != "1":
            kind, bound, step = head
            groups.setdefault((parent.start_byte, kind, start, plain(sight.file.source, bound), step), []).append(loop)
    yield from (tuple(loops) for loops in groups.values() if len(loops) > 1)


def _meaning(sight: CudaSight, node: Node) -> str:
    """The code of an expression, or of what a name stands for."""
    code = plain(sight.file.source, node)
    while code in sight.names.values and code not in _LANES:
        code = plain(sight.file.source, sight.names.values[code])
    return code


def _kept_row(sight: CudaSight, loops: tuple[Loop, ...]) -> KeptRow | Refusal:
    line = loops[0].node.start_point.row
    head = head_of(sight, loops[0])
    assert not isinstance(head, Refusal)
    kind, bound, step = head
    if not is_fixed(sight.names, bound):
        return Refusal("The threads may have rows of different lengths.", line)
    if not sight.is_reached(loops[0].node):
        return Refusal("The loops are for rows of other lengths than the workload's.", line)
    why = next(filter(None, (_tied(sight, one) for one in loops)), None) or _hidden(sight, loops[0])
    if why is not None:
        return why
    found = list[Kept]()
    for places in _read(sight, loops).values():
        one = _kept(sight, places)
        if isinstance(one, Kept):
            found.append(one)
        else:
            why = why or one
    if not found:
        return why or Refusal("The loops read nothing that a loop before them has read.", line)
    length, stride = sight.number(bound), _stride(sight, loops[0])
    if length is None or stride is None or length <= 0:
        return Refusal("The workload does not say how many elements a row has for how many threads.", line)
    used = tuple(loop for loop in loops if any(loop == place for one in found for place, _ in one.places))
    row = KeptRow(used, tuple(found), kind, bound, step, stride, length)
    if row.turns * sum(max(4, BYTES[one.parameter.base]) // 4 for one in found) > _MOST:
        return Refusal(f"A thread has {row.turns} elements of a row, too many for its registers.", line)
    return row


def _tied(sight: CudaSight, loop: Loop) -> Refusal | None:
    """Why the turns of a loop cannot be unrolled."""
    inner = next(of_type(loop.body, *_LOOPS, *LEAVES), None)
    if inner is not None:
        return Refusal("A turn of the loop holds another loop, or may end early.", inner.start_point.row)
    waits = WAITS.search(sight.content(loop.body))
    if waits is not None:
        return Refusal(f"The turns of the loop are kept in order by `{waits[0]}`.", loop.node.start_point.row)
    hiding = hiding_macro(sight.names, loop.node)
    if hiding is not None:
        return Refusal(f"`{sight.content(hiding)}` may read or write memory.", hiding.start_point.row)
    return None


def _hidden(sight: CudaSight, first: Loop) -> Refusal | None:
    """What stands behind the first loop and may touch memory, or cannot stand there twice."""
    for statement in _behind(first):
        for one in of_type(statement, "goto_statement", "labeled_statement", "preproc_if", "preproc_ifdef"):
            return Refusal("The loops stand between labels or directives.", one.start_point.row)
        if any("__shared__" in sight.content(one) for one in of_type(statement, "declaration")):
            return Refusal("Shared memory is declared between the loops.", statement.start_point.row)
        callee = field(next(iter(statement.named_children), None), "function")
        if callee is not None and sight.content(callee) in _WAIT:
            continue
        hidden = hidden_access(sight, statement)
        if hidden is not None:
            return Refusal(f"`{sight.content(hidden)}` may read and write memory.", hidden.start_point.row)
    return None


def _behind(first: Loop) -> tuple[Node, ...]:
    """A loop and the statements behind it under the same braces."""
    assert first.node.parent is not None
    return tuple(one for one in first.node.parent.named_children if one.start_byte >= first.node.start_byte)


def _read(sight: CudaSight, loops: tuple[Loop, ...]) -> dict[_Key, list[tuple[Loop, Access]]]:
    """What the loops load, by the array and the place in it."""
    found: dict[_Key, list[tuple[Loop, Access]]] = {}
    for loop in loops:
        for access in sight.accesses:
            if is_inside(access.node, loop.body) and access.space == "global" and access.kind == "load":
                place = _place(sight, loop, access)
                if place is not None and not place_taken(access):
                    found.setdefault((access.base, place), []).append((loop, access))
    return {key: places for key, places in found.items() if len({one.node.start_byte for one, _ in places}) > 1}


def _place(sight: CudaSight, loop: Loop, access: Access) -> Polynomial | None:
    """How far from its parameter an element lies, in the turn of the loop and what stays as it is between the loops."""
    outer = {one.variable for one in sight.names.loops_around(loop.node)}
    known = {loop.variable, *outer}
    parts = (one for index in access.indices for one in (index, *([access.start] if access.start else [])))
    if len(access.indices) != 1 or any(unsettled(sight.names, one) not in (None, *known) for one in parts):
        return None
    if any(sight.names.assigned.get(one, 0) > 2 * _declared(sight, one) for one in known):
        return None
    index = flat_index(Names(sight.file, sight.kernel, frozenset(known)), access)
    if index is None or any("[" in name or "(" in name for name in index.names):
        return None
    step = index.coefficient(loop.variable)
    moved = index.replaced({loop.variable: polynomials.name(_TURN)})
    return moved if step is not None and step.terms else None


def _declared(sight: CudaSight, variable: str) -> int:
    return sum(one.variable == variable for one in sight.names.loops)


def _kept(sight: CudaSight, places: list[tuple[Loop, Access]]) -> Kept | Refusal:
    """What is read at these places, from the first loop on that reads it in any case."""
    parameter = sight.kernel.parameter(places[0][1].base)
    node = places[0][1].node
    code, line = sight.content(node), node.start_point.row
    if parameter is None or parameter.pointers != 1 or "volatile" in sight.content(parameter.node):
        return Refusal(f"`{code}` is no element of a plain array.", line)
    if parameter.base not in BYTES:
        return Refusal(f"`{code}` is no number of a known size.", line)
    certain = next((loop for loop, access in places if is_certain(loop, access)), None)
    rest = tuple(one for one in places if certain is not None and one[0].node.start_byte >= certain.node.start_byte)
    if len({loop.node.start_byte for loop, _ in rest}) < 2:
        return Refusal(f"`{code}` is read under a condition.", line)
    kept = Kept(parameter, rest)
    return _overwritten(sight, kept) or kept


def _overwritten(sight: CudaSight, kept: Kept) -> Refusal | None:
    """What is stored between the first and the last read, apart from the same element behind its last read."""
    last, name = kept.last, kept.parameter.name
    inside = [access for loop, access in kept.places if loop == last]
    place = _place(sight, last, inside[0])
    pointers = [one.name for one in sight.kernel.parameters if one.is_pointer]
    for other in pointers:
        for use in uses(sight.file, sight.kernel, other):
            if use.kind == UNKNOWN and not are_restrict(sight, other, name):
                return Refusal(f"What is done with `{other}` cannot be followed.", use.node.start_point.row)
    for store in sight.accesses:
        if not store.writes or store.space not in ("global", ""):
            continue
        start = store.node.start_byte
        if start < kept.first.node.start_byte or start > last.node.end_byte:
            continue
        if (
            store.base != name
            and store.space
            and (are_restrict(sight, store.base, name) or _is_apart(sight, kept, store))
        ):
            continue
        is_last = is_inside(store.node, last.body) and _place(sight, last, store) == place
        if not is_last or any(one.node.start_byte > _statement(store.node).end_byte for one in inside):
            return Refusal(
                f"`{sight.content(store.node)}` may be what is read again as {name}.", store.node.start_point.row
            )
    return None


def _is_apart(sight: CudaSight, kept: Kept, store: Access) -> bool:
    """Whether it is a result of the row in a buffer that holds nothing else, and is another one as far as the file shows."""
    outside = len(sight.names.loops_around(kept.first.node))
    places = [one.node for one in sight.accesses if one.base == store.base]
    is_single = all(len(sight.names.loops_around(one)) == outside for one in places)
    return is_single and aliased(sight, kept.parameter) is None


def _statement(node: Node) -> Node:
    while node.parent is not None and node.type != "expression_statement":
        node = node.parent
    return node


def _stride(sight: CudaSight, loop: Loop) -> int | None:
    """How many threads share a row, as a number."""
    step = field(loop.update, "right")
    block = sight.any_block
    if step is None:
        return None
    known = {} if isinstance(block, Refusal) else {"blockDim.x": block[0]}
    return sight.names.polynomial(step).at({**known, "warpSize": 32}).number


def row_kept(sight: CudaSight, found: KeptRow, *, whole: bool) -> Patch:
    """The text with the row in registers, for rows that fit; `whole`: for rows of the length in the workload alone.

    Then the threads that share a row must have as many elements each.
    """
    source, patch = sight.file.source, sight.patch()
    first = found.loops[0].node
    statements = _behind(found.loops[0])
    span = first.start_byte, statements[-1].end_byte
    margin, unit = indent_of(source, first), unit_of(source, sight.kernel)
    writer = _Writer(sight, found, whole)
    changes: list[Change] = []
    for loop in found.loops:
        start, before = loop.node.start_byte, loop.node.prev_named_sibling
        if before is not None and before.type == "preproc_call" and before.start_byte > span[0]:
            changes.append((before.start_byte, before.end_byte, "\n"))
        text = ("\n" + margin).join(writer.lines(loop))
        changes.append((start, loop.node.end_byte, text))
    kept, plainly = region(source, span, changes), region(source, span)
    sign = "==" if whole else "<="
    fits = f"{sight.content(found.bound)} {sign} {writer.length}"
    lines = [f"if ({fits}) {{", *indented(kept, unit), "} else {", *indented(plainly, unit), "}"]
    patch.between(*span, "\n".join(indented(lines, margin)).lstrip())
    return patch


class _Writer:
    """The lines of a loop whose turns are known in number."""

    def __init__(self, sight: CudaSight, found: KeptRow, whole: bool) -> None:
        self._sight = sight
        self._row = found
        self._whole = whole
        self._unit = unit_of(sight.file.source, sight.kernel)
        self._k = fresh(sight.file, "k", "turn", "turn_k")
        step = found.step
        self.length = str(found.turns * int(step)) if step.isdigit() else f"{found.turns} * {_operand(step)}"
        taken = set[str]()
        self._arrays = {one: self._array(one, taken) for one in found.kept}

    def _array(self, one: Kept, taken: set[str]) -> str:
        base = field(one.places[0][1].node, "argument")
        assert base is not None
        name = f"{self._sight.content(base)}_row"
        free = (fresh(self._sight.file, each) for each in (name, *(f"{name}{count}" for count in range(2, 100))))
        found = next(each for each in free if each not in taken)
        taken.add(found)
        return found

    def lines(self, loop: Loop) -> list[str]:
        """Loads of what is read here for the first time, and the turns of the loop."""
        source, lines = self._sight.file.source, list[str]()
        begins = [one for one in self._row.kept if one.first == loop]
        lines += [f"{one.parameter.base} {self._arrays[one]}[{self._row.turns}];" for one in begins]
        changes = list[Change]()
        for one in self._row.kept:
            places = [access.node for each, access in one.places if each == loop]
            changes += [(node.start_byte, node.end_byte, f"{self._arrays[one]}[{self._k}]") for node in places]
            if one in begins:
                load = f"{self._arrays[one]}[{self._k}] = {self._sight.content(places[0])};"
                lines += self._turns(loop, [load], f"{self._unit}{load}")
        span = loop.body.start_byte, loop.body.end_byte
        if loop.body.type == "compound_statement":
            span = span[0] + 1, span[1] - 1
        return lines + self._turns(loop, region(source, span, changes))

    def _turns(self, loop: Loop, body: list[str], alone: str = "") -> list[str]:
        row, k = self._row, self._k
        bound = self._sight.content(row.bound)
        here = f"{row.type} {loop.variable} = {self._sight.content(loop.start)} + {k} * {_operand(row.step)};"
        if not self._whole:
            test = f"if ({loop.variable} < {bound})"
            body = [f"{test} {alone.strip()}"] if alone else [f"{test} {{", *indented(body, self._unit), "}"]
        head = f"for (int {k} = 0; {k} < {row.turns}; ++{k}) {{"
        return ["#pragma unroll", head, *indented([here, *body], self._unit), "}"]


def _operand(step: str) -> str:
    return step if step.replace(".", "").replace("_", "").isalnum() else f"({step})"
