"""Kernels of one thread a row, which walk along it in loops: what each loop folds or stores, and which rows there are."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import named, plain, unsettled
from kernelwright.micro.rewrite.cuda_extremes import extremes
from kernelwright.micro.rewrite.cuda_folds import CALLS, KINDS, Extreme, Fold
from kernelwright.micro.rewrite.cuda_guarded import declared, guarded, hidden_access, statements_of
from kernelwright.micro.rewrite.cuda_inner_loop import not_movable
from kernelwright.micro.rewrite.cuda_matmul import POSITIONS, counts, limit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda.accesses import Access, flat_index
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.source.polynomials import Polynomial
from kernelwright.values import Refusal

_ZERO, _ONE = ("0", "0.", "0.0", ".0"), ("1", "1.", "1.0")


@dataclass(frozen=True, eq=False)
class RowLoop:
    loop: Loop
    folds: tuple[Fold, ...]
    stores: bool


@dataclass(frozen=True, eq=False)
class Rows:
    """`row` counts the threads up to `extent`; `loops` walk along it, `single` are stores outside of them."""

    row: str
    extent: Node
    loops: tuple[RowLoop, ...]
    single: tuple[Node, ...]
    statements: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class RowWork:
    """What a thread does for the `row` of its own, of which there are `extent`, as statements that follow each other."""

    row: str
    extent: Node
    statements: tuple[Node, ...]


def rows(sight: CudaSight) -> Rows | Refusal:
    """The rows of a kernel; a Refusal where a thread does not walk along one of its own."""
    found = row_work(sight)
    return found if isinstance(found, Refusal) else looked_at(sight, found.row, found.extent, found.statements)


def row_work(sight: CudaSight) -> RowWork | Refusal:
    """What a kernel does for each row; a Refusal where no thread has one of its own."""
    if not sight.names.loops:
        return Refusal("The kernel has no loop that counts.")
    special = not_movable(sight)
    if special is not None:
        return special
    row = next((name for name in sight.names.values if counts(sight, name, "x")), None)
    if row is None or sight.block is None or any(size != 1 for size in sight.block[1:]):
        return Refusal(
            "No local counts the threads of a grid of one dimension, so nothing says which row a thread has."
        )
    first = sight.names.loops[0]
    parts = guarded(sight, _top(sight, first.node))
    if isinstance(parts, Refusal):
        parts = guarded(sight, _first_work(sight))
    if isinstance(parts, Refusal):
        return parts
    extents = [limit for one in parts.bounds if (limit := limit_of(sight, one.node, one.negated, row)) is not None]
    if len(extents) != 1 or len(parts.bounds) != 1 or unsettled(sight.names, parts.bounds[0].node):
        return Refusal(
            f"No guard says alone how many rows there are, as `{row} < rows` would.", first.node.start_point.row
        )
    stray = _stray_position(sight, row)
    if stray is not None:
        return Refusal(f"`{sight.content(stray)}` is used for more than the row.", stray.start_point.row)
    statements = tuple(one for one in (*parts.between, parts.work, *parts.after) if one.type != "comment")
    return RowWork(row, extents[0], statements)


def _top(sight: CudaSight, node: Node) -> Node:
    """The statement around a node that stands directly under the guards."""
    while node.parent is not None and node.parent != sight.kernel.body:
        outer = node.parent
        if outer.type == "compound_statement" and outer.parent is not None and outer.parent.type == "if_statement":
            return node
        node = outer
    return node


def _first_work(sight: CudaSight) -> Node:
    """The first statement under the guards that is no declaration."""
    node = sight.kernel.body
    while True:
        inner = next((one for one in node.named_children if one.type not in ("declaration", "comment", "preproc_call")
                      and not _is_return(one)), node)  # fmt: skip
        inside = field(inner, "consequence")
        if inner.type != "if_statement" or inside is None or field(inner, "alternative") is not None:
            return inner
        if not any(one.type == "for_statement" for one in walk(inside)):
            return inner
        node = inside


def _is_return(node: Node) -> bool:
    inside = field(node, "consequence")
    return inside is not None and [one.type for one in statements_of(inside)] == ["return_statement"]


def _stray_position(sight: CudaSight, row: str) -> Node | None:
    """A use of the thread's place that is not on the way to the row."""
    way = {row, *(name for name in sight.names.behind(sight.names.values[row]) if name in sight.names.values)}
    values = [sight.names.values[name] for name in way]
    inside = (one for one in named(sight.file.source, sight.kernel.body, POSITIONS))
    stray = next((one for one in inside if not any(is_inside(one, value) for value in values)), None)
    if stray is not None:
        return stray
    uses = named(sight.file.source, sight.kernel.body, frozenset(way - {row}))
    return next((one for one in uses if sight.names.behind(one) & POSITIONS and not any(is_inside(one, v) for v in values)
                 and field(one.parent, "declarator") != one), None)  # fmt: skip


def looked_at(sight: CudaSight, row: str, extent: Node, statements: tuple[Node, ...]) -> Rows | Refusal:
    loops: list[RowLoop] = []
    single: list[Node] = []
    for statement in statements:
        line = statement.start_point.row
        hidden = hidden_access(sight, statement)
        if hidden is not None:
            return Refusal(f"`{sight.content(hidden)}` may read and write memory.", hidden.start_point.row)
        if statement.type == "for_statement":
            loop = next((one for one in sight.names.loops if one.node == statement), None)
            found = row_loop(sight, row, loop, loops) if loop is not None else None
            if found is None or isinstance(found, Refusal):
                return found or Refusal("A loop does not count from its start in steps of 1.", line)
            loops.append(found)
        elif statement.type == "declaration":
            if any(name in sight.names.arrays for name in declared(sight, statement)):
                return Refusal("The thread keeps an array of its own.", line)
        elif statement.type == "expression_statement":
            single += [statement] if _writes(sight, statement) else []
        elif statement.type not in ("comment", "preproc_call"):
            return Refusal("Something other than loops and assignments is done for a row.", line)
    if not loops:
        return Refusal("The work of a row is not in loops that follow each other.", statements[0].start_point.row)
    if not any(_is_along(sight, row, one) for one in loops):
        return Refusal(
            "The threads read neighbouring elements already, or none of a row.", loops[0].loop.node.start_point.row
        )
    later = single and any(one.stores for one in loops)
    if later and any(
        one.kind != "store" for statement in single for one in sight.accesses if is_inside(one.node, statement)
    ):
        return Refusal("A single element is read while others are stored.", single[0].start_point.row)
    return Rows(row, extent, tuple(loops), tuple(single), statements)


def _writes(sight: CudaSight, statement: Node) -> bool:
    target = target_of(statement.named_children[0]) if statement.named_children else None
    if target is not None and target.type == "field_expression" and "->" in sight.content(target):
        return True
    return any(one.writes and one.space != "local" for one in sight.accesses if is_inside(one.node, statement))


def _is_along(sight: CudaSight, row: str, one: RowLoop) -> bool:
    """Whether a loop reads elements of the row that lie beside each other, or of a stretch that begins where the row says."""
    starts_by_row = row in sight.names.behind(one.loop.start)
    for access in (access for access in sight.accesses if is_inside(access.node, one.loop.body)):
        place = place_of(sight, row, access)
        along = place[1].coefficient(one.loop.variable) if place is not None else None
        if along is not None and place is not None and along.number == 1 and (row in place[1].names or starts_by_row):
            return True
    return False


def row_loop(sight: CudaSight, row: str, loop: Loop, before: list[RowLoop]) -> RowLoop | Refusal:
    """What a loop along the row does, where its turns may be shared out among threads."""
    source, line, j = sight.file.source, loop.node.start_point.row, loop.variable
    condition, right = loop.condition, field(loop.condition, "right")
    sign = field(condition, "operator")
    if (
        loop.update is None
        or right is None
        or sign is None
        or plain(source, loop.update) not in (f"++{j}", f"{j}++", f"{j}+=1")
        or sight.content(sign) not in ("<", "<=")
        or plain(source, condition.named_children[0] if condition is not None else right) != j
        or unsettled(sight.names, right)
    ):
        return Refusal("A loop does not count from its start in steps of 1.", line)
    own = {name for one in of_type(loop.body, "declaration") for name in declared(sight, one)}
    kept = extremes(sight, loop)
    folds: list[Fold] = [one for _, one in kept]
    begun = (name for one in folds for name in (one.name, *([one.place] if isinstance(one, Extreme) else [])))
    if any(_begun(sight, loop, name) is None for name in begun):
        return Refusal("An extreme is not begun right ahead of the loop.", line)
    for node in walk(loop.body):
        if any(is_inside(node, one) for one, _ in kept):
            continue
        if node.type in ("break_statement", "return_statement", "goto_statement", "while_statement", "do_statement"):
            return Refusal("A loop along the row may end early.", node.start_point.row)
        target = target_of(node)
        if target is None or target.type != "identifier" or sight.content(target) in own:
            continue
        fold = _fold(sight, loop, node, target)
        if isinstance(fold, Refusal):
            return fold
        folds.append(fold)
    stored = _stored(sight, row, loop)
    if isinstance(stored, Refusal):
        return stored
    if not folds and not stored:
        return Refusal("A loop neither folds nor stores anything.", line)
    if len({one.name for one in folds}) != len(folds):
        return Refusal("A loop folds into one local in two ways.", line)
    return RowLoop(loop, tuple(folds), stored)


def target_of(node: Node) -> Node | None:
    if node.type == "assignment_expression":
        return field(node, "left")
    return field(node, "argument") if node.type == "update_expression" else None


def _fold(sight: CudaSight, loop: Loop, node: Node, target: Node) -> Fold | Refusal:
    """`s += e` and the like as the only mention of `s` in the loop, begun with what adds nothing."""
    source, name = sight.file.source, sight.content(target)
    refused = Refusal(f"The turns of the loop follow each other in `{name}`.", node.start_point.row)
    sign, right = field(node, "operator"), field(node, "right")
    if sign is None or right is None or node.type != "assignment_expression" or node.parent is None:
        return refused
    if node.parent.type != "expression_statement" or _type(sight, name) not in KINDS:
        return refused
    operator = {"+=": "+", "-=": "+", "*=": "*"}.get(sight.content(sign))
    mentions = 1
    if sight.content(sign) == "=":
        mentions, operator = 2, operator_of(sight, name, right)
    if operator is None or len(list(named(source, loop.body, frozenset({name})))) != mentions:
        return refused
    begun = _begun(sight, loop, name)
    if operator in "+*" and begun not in (_ZERO if operator == "+" else _ONE):
        return Refusal(
            f"`{name}` does not begin at {'0' if operator == '+' else '1'} right ahead of the loop.",
            loop.node.start_point.row,
        )
    if begun is None:
        return refused
    return Fold(name, operator)


def operator_of(sight: CudaSight, name: str, right: Node) -> str | None:
    """The operator of `s + e` or the function of `fmaxf(s, e)`."""
    source = sight.file.source
    sign, callee, listed = field(right, "operator"), field(right, "function"), field(right, "arguments")
    if right.type == "binary_expression" and sign is not None:
        parts = [plain(source, one) for one in right.named_children]
        return sight.content(sign) if parts.count(name) == 1 and sight.content(sign) in ("+", "*") else None
    if callee is None or listed is None:
        return None
    parts = [plain(source, one) for one in listed.named_children]
    called = sight.content(callee)
    if called in ("fmaf", "fma", "__fmaf_rn") and len(parts) == 3 and parts[2] == name:
        return "+"
    return called if called in CALLS and len(parts) == 2 and parts.count(name) == 1 else None


def _type(sight: CudaSight, name: str) -> str:
    for one in of_type(sight.kernel.body, "declaration"):
        kind = field(one, "type")
        if kind is not None and name in declared(sight, one):
            return sight.content(kind)
    return ""


def _begun(sight: CudaSight, loop: Loop, name: str) -> str | None:
    """The value that a local was given last ahead of a loop, without its suffix; None where it was under a condition."""
    before: list[tuple[Node, Node | None]] = []
    for one in walk(sight.kernel.body):
        if one.start_byte >= loop.node.start_byte:
            break
        if one.type == "init_declarator" and sight.content(one.child_by_field_name("declarator") or one) == name:
            before.append((one, field(one, "value")))
        target = target_of(one)
        if target is not None and sight.content(target) == name:
            plainly = one.type == "assignment_expression" and plain(sight.file.source, one.children[1]) == "="
            before.append((one, field(one, "right") if plainly else None))
    if not before or before[-1][1] is None:
        return None
    node, value = before[-1]
    beside = node.parent is not None and node.parent.parent == loop.node.parent
    outer = node.parent is not None and node.parent.parent == sight.kernel.body
    return plain(sight.file.source, value).rstrip("fF") if (beside or outer) and value is not None else None


def _stored(sight: CudaSight, row: str, loop: Loop) -> bool | Refusal:
    """Whether a loop stores elements, each turn its own, and reads none that another turn stores."""
    uses = [one for one in sight.accesses if is_inside(one.node, loop.body)]
    stores = [one for one in uses if one.writes and one.space != "local"]
    for store in stores:
        line, place = store.node.start_point.row, place_of(sight, row, store)
        step = place[1].coefficient(loop.variable) if place is not None else None
        if place is None or step is None or not step.number or row not in place[1].names:
            return Refusal(f"`{sight.content(store.node)}` may be one element in two turns or rows.", line)
        for other in uses:
            there = place_of(sight, row, other)
            if there is None:
                return Refusal(f"`{sight.content(other.node)}` may be any element.", line)
            apart = there[0] != place[0] and (are_restrict(sight, there[0], place[0]) or row not in there[1].names)
            if there[1] != place[1] and not apart and not (there[0] != place[0] and other.writes):
                return Refusal(f"`{sight.content(other.node)}` may be what another turn stores.", line)
    return bool(stores)


def are_restrict(sight: CudaSight, one: str, other: str) -> bool:
    parameters = [sight.kernel.parameter(name) for name in (one, other)]
    return all(parameter is not None and parameter.is_restrict for parameter in parameters)


def place_of(sight: CudaSight, row: str, access: Access) -> tuple[str, Polynomial] | None:
    """The pointer parameter behind an access and the index from its beginning, in which the row stands for itself."""
    if len(access.indices) != 1 or _is_unsettled(sight, access) or sight.kernel.parameter(access.base) is None:
        return None
    index = flat_index(Names(sight.file, sight.kernel, frozenset({row})), access)
    return (access.base, index) if index is not None else None


def _is_unsettled(sight: CudaSight, access: Access) -> bool:
    """Whether an index goes through a name with more than one value, other than variables of loops."""
    variables = {loop.variable for loop in access.loops}
    parts = (one for one in of_type(access.node, "identifier") if sight.content(one) not in variables)
    return any(unsettled(sight.names, one) not in (None, *variables) for one in parts)
