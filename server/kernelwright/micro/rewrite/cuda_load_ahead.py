"""Loops that load the elements of several turns before they use them, so that these loads wait for memory together."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, hiding_macro, named, plain
from kernelwright.micro.rewrite.cuda_guarded import declared, hidden_access
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_restrict import aliased
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_vectorise import is_always
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.expressions import Loop
from kernelwright.source.cuda.text import field, is_inside, of_type, walk
from kernelwright.values import Refusal

_SIGNED = ("int", "long", "long long", "int32_t", "int64_t")
_UNSIGNED = ("unsigned", "unsigned int", "size_t", "uint32_t", "uint64_t", "unsigned long", "unsigned long long")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
LEAVES = ("break_statement", "continue_statement", "return_statement", "goto_statement", "labeled_statement")
WAITS = re.compile(
    r"__syncthreads|__\w{1,24}_sync\b|__syncwarp|\bthis_thread_block\b|\basm\b|\batomic\w+|__threadfence"
)
_FEW_TURNS = 16  # that the compiler unrolls, with their loads ahead, where it knows the number


@dataclass(frozen=True, eq=False)
class Ahead:
    """A loop `for (type i = start; i < bound; i += step)` with loads that depend on nothing but `i` and what stays.

    `loads` are the subscripts by their code, which all read the same element of a turn.
    """

    loop: Loop
    type: str
    bound: Node
    step: str
    loads: dict[str, tuple[Access, ...]]


def loads_ahead(sight: CudaSight) -> tuple[Ahead, ...] | Refusal:
    """The loops of a kernel whose loads can be made turns ahead; a Refusal that says why there is none."""
    found, why = list[Ahead](), list[Refusal]()
    for loop in sight.names.loops:
        one = _ahead(sight, loop)
        if isinstance(one, Ahead):
            found.append(one)
        elif one is not None:
            why.append(one)
    return tuple(found) or next(iter(why), Refusal("The kernel has no loop that counts and loads from global memory."))


def loaded_ahead(sight: CudaSight, loops: tuple[Ahead, ...], turns: int) -> Patch:
    """The text with the loads of so many turns made together, and the last turns left one by one."""
    patch, taken = sight.patch(), set[str]()
    for one in loops:
        _write(sight, patch, one, turns, taken)
    return patch


def _ahead(sight: CudaSight, loop: Loop) -> Ahead | Refusal | None:
    """None where there is nothing to load."""
    body, line = loop.body, loop.node.start_point.row
    inside = [one for one in sight.accesses if is_inside(one.node, body)]
    loads = [one for one in inside if one.space == "global" and one.kind == "load"]
    if (
        not loads
        or not sight.is_reached(loop.node)
        or any(one != loop.node for one in of_type(loop.node, *_LOOPS))
        or _is_short(sight, loop)
    ):
        return None
    if loop.node.parent is None or loop.node.parent.type != "compound_statement":
        return Refusal("There is no place for statements in front of the loop.", line)
    head = head_of(sight, loop)
    if isinstance(head, Refusal):
        return head
    kind, bound, step = head
    if loop.start.type == "identifier" and sight.names.assigned.get(sight.content(loop.start), 0) > 1:
        return Refusal("The loop goes on where another one has left off.", line)
    for node in walk(body):
        if node.type in LEAVES:
            return Refusal("A turn of the loop may end early.", node.start_point.row)
    waits = WAITS.search(sight.content(body))
    if waits is not None:
        return Refusal(f"The turns of the loop are kept in order by `{waits[0]}`.", line)
    hidden = hidden_access(sight, body) or hiding_macro(sight.names, loop.node)
    if hidden is not None:
        return Refusal(f"`{sight.content(hidden)}` may read or write memory.", hidden.start_point.row)
    changing = _changing(sight, loop.node) - {loop.variable}
    moved: dict[str, tuple[Access, ...]] = {}
    why: Refusal | None = None
    for access in loads:
        reason = _not_ahead(sight, loop, access, changing, inside)
        if reason is None:
            code = plain(sight.file.source, access.node)
            moved[code] = (*moved.get(code, ()), access)
        else:
            why = why or Refusal(reason, access.node.start_point.row)
    firsts = {code: some for code, some in moved.items() if any(is_certain(loop, one) for one in some)}
    if not firsts:
        return why if why is not None and not moved else Refusal("The loop loads only under a condition.", line)
    return Ahead(loop, kind, bound, step, firsts)


def head_of(sight: CudaSight, loop: Loop) -> tuple[str, Node, str] | Refusal:
    """The type of the variable, its bound and its step, which stay as they are in the loop."""
    source, line, variable = sight.file.source, loop.node.start_point.row, loop.variable
    refused = Refusal("The loop does not count up to a bound in steps that stay the same.", line)
    declaration = loop.start.parent.parent if loop.start.parent is not None else None
    kind = field(declaration, "type")
    operator, left, bound = (field(loop.condition, one) for one in ("operator", "left", "right"))
    if kind is None or loop.update is None or operator is None or left is None or bound is None:
        return refused
    if declaration is None or len(list(of_type(declaration, "init_declarator"))) != 1:
        return refused
    written = sight.content(kind)
    if written not in (*_SIGNED, *_UNSIGNED) or sight.content(operator) != "<" or sight.content(left) != variable:
        return refused
    update = plain(source, loop.update)
    step = "1" if update in (f"++{variable}", f"{variable}++") else _added(sight, loop)
    changed = any(_target(sight, node) == variable for node in walk(loop.body))
    if not step or changed or not _stays(sight, bound, _changing(sight, loop.node)):
        return refused
    return written, bound, step


def _added(sight: CudaSight, loop: Loop) -> str:
    """The step of `i += step`; "" for any other update, and where the step may change."""
    operator, left, right = (field(loop.update, one) for one in ("operator", "left", "right"))
    if operator is None or left is None or right is None or sight.content(operator) != "+=":
        return ""
    stays = sight.content(left) == loop.variable and _stays(sight, right, _changing(sight, loop.node))
    return sight.content(right) if stays else ""


def _stays(sight: CudaSight, node: Node, changing: frozenset[str]) -> bool:
    """Whether an expression has one value in all turns: it reads no memory, and no name that the loop changes."""
    busy = (
        "subscript_expression",
        "call_expression",
        "pointer_expression",
        "update_expression",
        "assignment_expression",
    )
    return not any(one.type in busy for one in walk(node)) and not sight.names.behind(node) & changing


def _changing(sight: CudaSight, loop: Node) -> frozenset[str]:
    """The names that a loop declares or gives a value."""
    found = {name for one in of_type(loop, "declaration") for name in declared(sight, one)}
    return frozenset(found | {name for one in walk(loop) if (name := _target(sight, one))})


def _target(sight: CudaSight, node: Node) -> str:
    target = None
    if node.type == "assignment_expression":
        target = field(node, "left")
    elif node.type == "update_expression" or (node.type == "pointer_expression" and node.children[0].type == "&"):
        target = field(node, "argument")
    while target is not None and target.type == "field_expression":
        target = field(target, "argument")
    return sight.content(target) if target is not None and target.type == "identifier" else ""


def _not_ahead(
    sight: CudaSight, loop: Loop, access: Access, changing: frozenset[str], inside: list[Access]
) -> str | None:
    """Why an element cannot be loaded turns before it is used."""
    code, parameter = sight.content(access.node), sight.kernel.parameter(access.base)
    if place_taken(access):
        return f"The place of `{code}` is taken."
    if parameter is None or parameter.pointers != 1 or "volatile" in sight.content(parameter.node):
        return f"`{code}` is no element of a plain array."
    if len(access.indices) != 1 or not _stays(sight, access.indices[0], changing):
        return f"Where `{code}` lies depends on more than the turn."
    base = field(access.node, "argument")
    if base is None or base.type != "identifier" or sight.content(base) in changing:
        return f"Where `{code}` lies depends on more than the turn."
    step = sight.names.polynomial(access.indices[0]).coefficient(loop.variable)
    if step is None or not step.terms:
        return f"`{code}` is the same element in every turn."
    if all(one.kind == "load" or one.space in ("shared", "local") for one in inside):
        return None
    if any(one.base == access.base and one.writes for one in sight.accesses):
        return f"`{code}` may be what an earlier turn stores."
    why = aliased(sight, parameter)
    return why.reason if why is not None else None


def place_taken(access: Access) -> bool:
    """Whether it is `&x[i]`, or what a reference is made of."""
    parent = access.node.parent
    return parent is not None and parent.type in ("pointer_expression", "reference_declarator")


def is_certain(loop: Loop, access: Access) -> bool:
    """Whether an element is loaded in each turn, whatever the data."""
    statements = loop.body.named_children if loop.body.type == "compound_statement" else [loop.body]
    return is_always(tuple(statements), access.node)


def _is_short(sight: CudaSight, loop: Loop) -> bool:
    """Whether the turns are few and their number is known while compiling."""
    right = field(loop.condition, "right")
    first, last = sight.names.number(loop.start), sight.names.number(right)
    return first is not None and last is not None and last - first <= _FEW_TURNS


def _write(sight: CudaSight, patch: Patch, one: Ahead, turns: int, taken: set[str]) -> None:
    source, loop = sight.file.source, one.loop
    margin, unit = indent_of(source, loop.node), unit_of(source, sight.kernel)
    first = _new(sight, taken, "next", "from", "next_turn")
    k = fresh(sight.file, "k", "turn", "turn_k")
    lines = [f"{one.type} {first} = {sight.content(loop.start)};"]
    step = one.step
    if not re.fullmatch(r"\d+", step):
        step = _new(sight, taken, "stride", "step", "stride_of_loop")
        lines.append(f"const {one.type} {step} = {one.step};")
    reach, whole = _times(turns - 1, step), _times(turns, step)
    own = set[str]()
    arrays = {code: _new(sight, own, f"{_base(sight, some)}_next") for code, some in one.loads.items()}
    here = f"{one.type} {loop.variable} = {first} + {_times(k, step)};"
    changes: list[Change] = [
        (access.node.start_byte, access.node.end_byte, f"{arrays[code]}[{k}]")
        for code, some in one.loads.items()
        for access in some
    ]
    span = loop.body.start_byte, loop.body.end_byte
    if loop.body.type == "compound_statement":
        span = span[0] + 1, span[1] - 1
    body = region(source, span, changes)
    moved = [access.node for some in one.loads.values() for access in some]
    used = any(not any(is_inside(node, each) for each in moved)
               for node in named(source, loop.body, frozenset({loop.variable})))  # fmt: skip
    lines += [
        f"for (; {_fits(sight, one, first, reach)}; {first} += {whole}) {{",
        *indented(
            [
                *(f"{_element(sight, some)} {arrays[code]}[{turns}];" for code, some in one.loads.items()),
                "#pragma unroll",
                f"for (int {k} = 0; {k} < {turns}; ++{k}) {{",
                *indented([here, *(f"{arrays[code]}[{k}] = {sight.content(some[0].node)};"
                                   for code, some in one.loads.items())], unit),
                "}",
                "#pragma unroll",
                f"for (int {k} = 0; {k} < {turns}; ++{k}) {{",
                *indented([here] * used + body, unit),
                "}",
            ],
            unit,
        ),
        "}",
    ]  # fmt: skip
    before = loop.node.prev_named_sibling
    if before is not None and before.type == "preproc_call" and "unroll" in sight.content(before):
        patch.cut(before)
    patch.before(loop.node, "".join(f"{line}\n{margin}" for line in lines))
    patch.replace(loop.start, first)


def _fits(sight: CudaSight, one: Ahead, first: str, reach: str) -> str:
    """Whether all turns are below the bound, without a sum that is too large, or a difference below zero, for its type."""
    bound = sight.content(one.bound)
    parameter = sight.kernel.parameter(bound)
    if one.type in _SIGNED and parameter is not None and parameter.base in _SIGNED:
        return f"{first} < {bound} - {reach}"
    return f"{first} + {reach} < {bound}"


def _element(sight: CudaSight, some: tuple[Access, ...]) -> str:
    parameter = sight.kernel.parameter(some[0].base)
    assert parameter is not None
    return parameter.base


def _base(sight: CudaSight, some: tuple[Access, ...]) -> str:
    base = field(some[0].node, "argument")
    assert base is not None
    return sight.content(base)


def _times(number: int | str, step: str) -> str:
    if step == "1":
        return str(number)
    if isinstance(number, int) and step.isdigit():
        return str(number * int(step))
    return f"{number} * {step}"


def _new(sight: CudaSight, taken: set[str], *wanted: str) -> str:
    """A name of its own, unlike those that were given to other loops."""
    free = _free(sight, wanted)
    found = next(one for one in free if one not in taken)
    taken.add(found)
    return found


def _free(sight: CudaSight, wanted: tuple[str, ...]) -> Iterator[str]:
    for one in wanted:
        if fresh(sight.file, one) == one:
            yield one
    for count in range(2, 1000):
        if fresh(sight.file, f"{wanted[0]}{count}") == f"{wanted[0]}{count}":
            yield f"{wanted[0]}{count}"
