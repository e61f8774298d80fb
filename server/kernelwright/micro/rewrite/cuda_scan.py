"""Running sums that one thread makes: which loop adds up what, and what each of its turns does with the sum so far."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import mentions, named, plain, unsettled
from kernelwright.micro.rewrite.cuda_folds import Fold
from kernelwright.micro.rewrite.cuda_guarded import declared, hidden_access, reads_memory, statements_of, type_of
from kernelwright.micro.rewrite.cuda_inner_loop import not_movable
from kernelwright.micro.rewrite.cuda_matmul import POSITIONS
from kernelwright.micro.rewrite.cuda_rows import are_restrict, operator_of, place_of, row_work, target_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.values import Refusal

TYPES = ("float", "double", "int", "unsigned", "unsigned int", "long long", "unsigned long long")
FLOATS = ("float", "double")
_COUNTERS = ("int", "unsigned", "unsigned int", "long", "long long", "unsigned long long", "size_t", "int32_t", "uint32_t",
             "int64_t", "uint64_t")  # fmt: skip
_SMALL = ("bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t", "short", "unsigned short")
_JUMPS = ("break_statement", "continue_statement", "return_statement", "goto_statement", "lambda_expression")


@dataclass(frozen=True, eq=False)
class Scan:
    """A loop that adds `value` to a sum in the statement `update` of each turn.

    `row` counts the threads that each do that up to `extent`, or is "" where one thread does it all. `early` are the
    declarations that the value is made of, `rest` what a turn does besides. `single` are stores outside of the loop.
    """

    row: str
    extent: Node | None
    loop: Loop
    sum: Fold
    element: str
    update: Node
    value: Node
    early: tuple[Node, ...]
    rest: tuple[Node, ...]
    single: tuple[Node, ...]
    statements: tuple[Node, ...]


def scan(sight: CudaSight) -> Scan | Refusal:
    """The running sum of a kernel; a Refusal where a thread makes none, or none that threads can share."""
    if not sight.names.loops:
        return Refusal("The kernel has no loop that counts.")
    special = not_movable(sight)
    if special is not None:
        return special
    if sight.names.arrays:
        return Refusal("The kernel keeps an array of its own.", sight.kernel.body.start_point.row)
    if _is_single_thread(sight):
        used = next(named(sight.file.source, sight.kernel.body, POSITIONS), None)
        if used is not None:
            return Refusal(f"`{sight.content(used)}` is used, though there is one thread.", used.start_point.row)
        return _scanned(sight, "", None, statements_of(sight.kernel.body))
    work = row_work(sight)
    if isinstance(work, Refusal):
        return work
    return _scanned(sight, work.row, work.extent, work.statements)


def _is_single_thread(sight: CudaSight) -> bool:
    """Whether the one launch starts a single thread."""
    launch = sight.launch
    if isinstance(launch, Refusal) or launch.grid is None or sight.block is None:
        return False
    blocks = [sight.names_at_launch.number(one) for one in sight.sizes(launch.grid)]
    return {*blocks, *sight.block} == {1}


def _scanned(sight: CudaSight, row: str, extent: Node | None, statements: tuple[Node, ...]) -> Scan | Refusal:
    loops = [one for one in sight.names.loops if one.node in statements]
    if len(loops) != 1:
        how = "no loop that counts" if not loops else "more than one loop"
        return Refusal(f"A thread does its work in {how}, and one running sum is known here.")
    single = []
    for statement in statements:
        line = statement.start_point.row
        hidden = hidden_access(sight, statement) if statement != loops[0].node else None
        if hidden is not None and not _is_store(sight, statement):
            return Refusal(f"`{sight.content(hidden)}` may read and write memory.", hidden.start_point.row)
        if statement.type == "expression_statement" and _is_store(sight, statement):
            if any(t is not None and t.type == "identifier" for t in map(target_of, walk(statement))):
                return Refusal("A store changes a local as well.", line)
            single.append(statement)
        elif statement.type not in ("declaration", "comment", "expression_statement") and statement != loops[0].node:
            return Refusal("Something other than a loop and assignments is done.", line)
    return _looked_at(sight, row, extent, loops[0], tuple(single), statements)


def _is_store(sight: CudaSight, statement: Node) -> bool:
    """Whether a statement stores to more than a local: to an element, or to what a pointer points to."""
    target = target_of(statement.named_children[0]) if statement.named_children else None
    return target is not None and target.type != "identifier"


def _looked_at(
    sight: CudaSight,
    row: str,
    extent: Node | None,
    loop: Loop,
    single: tuple[Node, ...],
    statements: tuple[Node, ...],
) -> Scan | Refusal:
    line = loop.node.start_point.row
    if not _counts(sight, loop):
        return Refusal("The loop does not count from its start in steps of 1.", line)
    body = statements_of(loop.body)
    own = {name for one in of_type(loop.body, "declaration") for name in declared(sight, one)}
    updates = []
    for node in walk(loop.body):
        if node.type in _JUMPS or node.type in ("for_statement", "while_statement", "do_statement"):
            return Refusal("A turn of the loop may end early, or has a loop of its own.", node.start_point.row)
        target = target_of(node)
        if target is not None and target.type == "identifier" and sight.content(target) not in own:
            updates.append(node)
    if len(updates) != 1 or updates[0].parent not in body:
        return Refusal("The loop does not add to one local in each of its turns.", line)
    added = added_to(sight, updates[0])
    if added is None:
        return Refusal(f"`{sight.content(updates[0])}` is no sum, product, maximum or minimum so far.", line)
    fold, value = added
    if type_of(sight, fold.name) not in TYPES:
        return Refusal(f"`{fold.name}` is no local number that lanes of a warp can pass on.", line)
    uses = named(sight.file.source, loop.body, frozenset({fold.name}))
    if not any(not is_inside(one, updates[0]) for one in uses):
        return Refusal(f"No turn uses what `{fold.name}` has come to so far; `cuda.parallel-rows` is for sums.", line)
    if type_of(sight, fold.name) not in FLOATS and not _is_whole(sight, value):
        return Refusal(f"`{sight.content(value)}` may be no whole number, and `{fold.name}` rounds in each turn.", line)
    update = updates[0].parent
    assert update is not None
    early = _early(sight, body, update, value, fold.name)
    if isinstance(early, Refusal):
        return early
    rest = tuple(one for one in body if one != update and one not in early and one.type != "comment")
    found = Scan(row, extent, loop, fold, type_of(sight, fold.name), update, value, early, rest, single, statements)
    return _apart(sight, found) or found


def _counts(sight: CudaSight, loop: Loop) -> bool:
    """Whether it is `for (int j = …; j < n; ++j)` with limits that all threads know."""
    source, j, kind = sight.file.source, loop.variable, field(loop.node, "initializer", "type")
    sign, left, right = (field(loop.condition, part) for part in ("operator", "left", "right"))
    return (
        loop.update is not None
        and sign is not None
        and left is not None
        and right is not None
        and sight.content(sign) in ("<", "<=")
        and plain(source, left) == j
        and plain(source, loop.update) in (f"++{j}", f"{j}++", f"{j}+=1")
        and not any(unsettled(sight.names, one) or reads_memory(sight, one) for one in (right, loop.start))
        and kind is not None
        and sight.content(kind) in _COUNTERS
        and len(list(of_type(field(loop.node, "initializer") or loop.node, "init_declarator"))) == 1
        and not any(t is not None and plain(source, t) == j for t in map(target_of, walk(loop.body)))
    )


def added_to(sight: CudaSight, update: Node) -> tuple[Fold, Node] | None:
    """What `s += e`, `s = s + e` or `s = fmaxf(s, e)` folds into which local, and `e`."""
    source = sight.file.source
    target, sign, right = target_of(update), field(update, "operator"), field(update, "right")
    if target is None or sign is None or right is None or update.type != "assignment_expression":
        return None
    name, operator, value = sight.content(target), {"+=": "+", "*=": "*"}.get(sight.content(sign)), right
    if sight.content(sign) == "=":
        operator = operator_of(sight, name, right)
        listed = field(right, "arguments") or right
        parts = [one for one in listed.named_children if plain(source, one) != name]
        if operator is None or len(parts) != 1:
            return None
        value = parts[0]
    if operator is None or mentions(source, value, frozenset({name})):
        return None
    return Fold(name, operator), value


def _is_whole(sight: CudaSight, value: Node) -> bool:
    """Whether an expression is of a type of integers: a comparison, a choice between two, or made of such numbers."""
    sign, inner = field(value, "operator"), value
    if value.type == "parenthesized_expression":
        return _is_whole(sight, value.named_children[0])
    if value.type == "conditional_expression":
        parts = (field(value, "consequence"), field(value, "alternative"))
        return all(one is not None and _is_whole(sight, one) for one in parts)
    if sign is not None and value.type == "binary_expression":
        listed = (field(value, "left"), field(value, "right"))
        compares = sight.content(sign) in ("<", ">", "<=", ">=", "==", "!=", "&&", "||")
        return compares or all(one is not None and _is_whole(sight, one) for one in listed)
    if value.type == "number_literal":
        return not set(sight.content(value)) & set(".fF")
    if value.type == "subscript_expression":
        inner = field(value, "argument") or value
    parameter = sight.kernel.parameter(sight.content(inner))
    kind = parameter.base if parameter is not None else type_of(sight, sight.content(inner))
    return inner.type == "identifier" and sight.file.aliases.get(kind, kind) in (*_COUNTERS, *_SMALL)


def _early(
    sight: CudaSight, body: tuple[Node, ...], update: Node, value: Node, name: str
) -> tuple[Node, ...] | Refusal:
    """The declarations ahead of the update that its value is made of, in order."""
    source, found, waiting = sight.file.source, set[int](), [value]
    while waiting:
        node = waiting.pop()
        for one in body:
            if one.type != "declaration" or one.id in found or not mentions(source, node, declared(sight, one)):
                continue
            inner = field(one, "declarator", "value")
            plain_one = len(declared(sight, one)) == 1 and inner is not None and one.start_byte < update.start_byte
            changed = any(sight.names.assigned.get(local, 0) != 1 for local in declared(sight, one))
            if not plain_one or changed or mentions(source, one, frozenset({name})):
                reason = f"What is added to `{name}` follows from more than the element of the turn."
                return Refusal(reason, one.start_point.row)
            found.add(one.id)
            waiting.append(one)
    early = tuple(one for one in body if one.id in found)
    for one in early:
        kind = field(one, "type")
        if kind is None or sight.content(kind) not in (*FLOATS, *_COUNTERS, *_SMALL):
            return Refusal(f"`{sight.content(one)}` declares no plain number.", one.start_point.row)
    return early


def _apart(sight: CudaSight, found: Scan) -> Refusal | None:
    """Why turns that are made side by side would not do the same: a store that another turn reads or repeats."""
    uses = [one for one in sight.accesses if is_inside(one.node, found.loop.body) and one.space != "local"]
    first = [*found.early, found.value]
    for node in walk(found.loop.body):
        through = node.type == "field_expression" and "->" in sight.content(node)
        hidden = node.type == "call_expression" and hidden_access(sight, node) is not None
        if node.type == "pointer_expression" or through or hidden:
            return Refusal(f"`{sight.content(node)}` may read and write memory.", node.start_point.row)
    for store in (one for one in uses if one.writes):
        code, line, place = sight.content(store.node), store.node.start_point.row, place_of(sight, found.row, store)
        step = place[1].coefficient(found.loop.variable) if place is not None else None
        if place is None or step is None or not step.number:
            return Refusal(f"`{code}` may be one element in two turns.", line)
        if found.row and found.row not in place[1].names:
            return Refusal(f"`{code}` may be one element in two rows.", line)
        for other in uses:
            there, read = place_of(sight, found.row, other), sight.content(other.node)
            if there is None:
                return Refusal(f"`{read}` may be any element.", line)
            if there[0] != place[0] and (other.writes or are_restrict(sight, there[0], place[0])):
                continue
            elsewhere = there[0] != place[0] and found.row and found.row not in there[1].names
            if there[1] != place[1] and not elsewhere:
                return Refusal(f"`{read}` may be what another turn stores.", line)
            is_first = any(is_inside(other.node, one) for one in first)
            if is_first and store.node.start_byte < other.node.start_byte:
                reason = f"`{read}` is read behind the store of `{code}`, which may be the same element without __restrict__."
                return Refusal(reason, line)
    return None
