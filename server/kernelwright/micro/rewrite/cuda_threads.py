"""Kernels whose threads each take the elements below a bound: which, under which guard, and what is done with them."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_grid import AXES, Division, Geometry, bare
from kernelwright.source.cuda import File
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, walk
from kernelwright.source.polynomials import Polynomial, name, number
from kernelwright.values import Refusal

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_TYPES = (
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "long long",
    "size_t",
    "int64_t",
    "int32_t",
    "uint32_t",
    "uint64_t",
)


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension of the grid: the local `index` of `type` counts its threads, and those below `bound` do something."""

    axis: str
    index: str
    type: str
    declaration: Node
    bound: Node


@dataclass(frozen=True, eq=False)
class Guarded:
    """A kernel of which each thread takes one element.

    `setup` are the statements in front of the guard, `body` those under it. `returns`: the guard leaves the kernel, as in
    `if (i >= n) return;`, where otherwise `guards` is the one `if` around the body.
    """

    axes: tuple[Axis, ...]
    setup: tuple[Node, ...]
    guards: tuple[Node, ...]
    body: tuple[Node, ...]
    returns: bool

    def axis(self, axis: str) -> Axis | None:
        return next((one for one in self.axes if one.axis == axis), None)


def guarded(names: Names, block: tuple[int, int, int]) -> Guarded | Refusal:
    """The kernel as threads that each take one element. `block`: how many threads it is launched with."""
    file, function = names.file, names.function
    indices = dict(_indices(names, block))
    setup, guards, axes = list[Node](), list[Node](), list[Axis]()
    statements = [one for one in function.body.named_children if one.type != "comment"]
    for place, statement in enumerate(statements):
        bounds = _guard(names, statement, indices)
        if statement.type == "declaration" and not guards and _is_plain(file, statement):
            setup.append(statement)
        elif bounds is None:
            return _closed(names, axes, setup, guards, statements[place:])
        else:
            left, found = bounds
            axes += found
            guards.append(statement)
            if not left:
                if statements[place + 1 :] or len(guards) > 1:
                    return Refusal("Something follows the guard of the kernel.", statement.end_point.row)
                then = field(statement, "consequence")
                assert then is not None
                body = [one for one in then.named_children if one.type != "comment"] if _is_block(then) else [then]
                return _checked(names, Guarded(tuple(axes), tuple(setup), tuple(guards), tuple(body), False))
    return _closed(names, axes, setup, guards, [])


def is_fixed(names: Names, node: Node) -> bool:
    """Whether an expression has one value for all threads from beginning to end: parameters, numbers and constants."""
    file = names.file
    if any(one.type in ("subscript_expression", "call_expression", "pointer_expression") for one in walk(node)):
        return False
    for inner in names.behind(node):
        parameter = names.function.parameter(inner)
        plain = parameter is not None and not parameter.is_pointer and not names.assigned.get(inner)
        if not (plain or inner in names.values or inner in file.constants or inner in names.function.templates):
            return False
    return True


def at_launch(names: Names, found: Geometry, node: Node) -> Polynomial | None:
    """An expression of the kernel's parameters in the names of the launching function."""
    places = {one.name: place for place, one in enumerate(names.function.parameters)}
    total = number(0)
    for term, factor in names.polynomial(node).terms:
        product = number(factor)
        for one in term:
            place = places.get(one, len(found.launch.arguments))
            if place >= len(found.launch.arguments):
                return None
            product = product * found.polynomial(found.launch.arguments[place])
        total = total + product
    return total


def covered(names: Names, found: Geometry, axis: Axis) -> Division | Refusal:
    """The division that covers each element of an axis, and no block more than that."""
    division, line = found.division(axis.axis), found.launch.node.start_point.row
    if division is None:
        return Refusal(f"The grid's {axis.axis} is not a size divided by the block and rounded up.", line)
    if at_launch(names, found, axis.bound) != division.elements:
        bound = names.file.source.content(axis.bound)
        counted = names.file.source.content(division.counted)
        return Refusal(f"The grid covers {counted} elements, the kernel's guard asks for {bound}.", line)
    return division


def is_index(names: Names, node: Node, axis: str, block: tuple[int, int, int]) -> bool:
    """Whether an expression is `blockIdx.x * blockDim.x + threadIdx.x`."""
    size = block[AXES.index(axis)]
    found = names.polynomial(node).at({f"blockDim.{axis}": size})
    return found == name(f"blockIdx.{axis}") * number(size) + name(f"threadIdx.{axis}")


def is_stride(names: Names, node: Node, axis: str, block: tuple[int, int, int]) -> bool:
    """Whether an expression is `blockDim.x * gridDim.x`."""
    size = block[AXES.index(axis)]
    return names.polynomial(node).at({f"blockDim.{axis}": size}) == name(f"gridDim.{axis}") * number(size)


def declared_type(file: File, declaration: Node) -> str:
    kind = field(declaration, "type")
    words = [file.source.content(one) for one in declaration.named_children if one.type == "type_qualifier"]
    written = file.source.content(kind) if kind is not None else ""
    return written if not {"volatile", "__shared__"} & set(words) else ""


def declared_alone(file: File, axis: Axis) -> Refusal | None:
    """Why the declaration of an index cannot go as a whole."""
    declared = [one for one in walk(axis.declaration) if one.type == "init_declarator"]
    if len(declared) == 1 and axis.declaration.named_children[-1] == declared[0]:
        return None
    return Refusal(f"{axis.index} is declared together with other names.", axis.declaration.start_point.row)


def _indices(names: Names, block: tuple[int, int, int]) -> Iterator[tuple[str, tuple[str, Node]]]:
    """The locals that are the index of a thread, with their axis and declaration."""
    for inner, value in names.values.items():
        declaration = value.parent.parent if value.parent is not None else None
        if declaration is None or declaration.type != "declaration":
            continue
        for axis in AXES:
            if is_index(names, value, axis, block) and declared_type(names.file, declaration) in (*_TYPES, "auto"):
                yield inner, (axis, declaration)


def _guard(names: Names, node: Node, indices: dict[str, tuple[str, Node]]) -> tuple[bool, list[Axis]] | None:
    """Whether an `if` leaves the kernel, and the axes that it bounds; None where it is no guard."""
    if node.type != "if_statement" or field(node, "alternative") is not None:
        return None
    then, condition = field(node, "consequence"), field(node, "condition")
    if then is None or condition is None:
        return None
    leaves = _leaves(then)
    joined, sign = ("||", ">=") if leaves else ("&&", "<")
    axes = []
    for part in _parts(names.file, bare(condition.named_children[0]), joined):
        operator, left, right = field(part, "operator"), field(part, "left"), field(part, "right")
        if operator is None or left is None or right is None:
            return None
        left, right, written = bare(left), bare(right), names.file.source.content(operator)
        if names.file.source.content(right) in indices:
            left, right, written = right, left, _FLIPPED.get(written, "")
        index = names.file.source.content(left)
        if index not in indices or written != sign or not is_fixed(names, right):
            return None
        axis, declaration = indices[index]
        axes.append(Axis(axis, index, declared_type(names.file, declaration), declaration, right))
    return leaves, axes


def _parts(file: File, node: Node, joined: str) -> Iterator[Node]:
    operator, left, right = field(node, "operator"), field(node, "left"), field(node, "right")
    if operator is not None and left is not None and right is not None and file.source.content(operator) == joined:
        yield from _parts(file, bare(left), joined)
        yield from _parts(file, bare(right), joined)
    else:
        yield node


def _leaves(then: Node) -> bool:
    inner = [one for one in then.named_children if one.type != "comment"] if _is_block(then) else [then]
    return len(inner) == 1 and inner[0].type == "return_statement"


def _closed(
    names: Names, axes: list[Axis], setup: list[Node], guards: list[Node], body: list[Node]
) -> Guarded | Refusal:
    if not guards:
        line = body[0].start_point.row if body else names.function.name_node.start_point.row
        return Refusal("The kernel does not begin with the index of its thread and a guard like `if (i < n)`.", line)
    return _checked(names, Guarded(tuple(axes), tuple(setup), tuple(guards), tuple(body), True))


def _checked(names: Names, found: Guarded) -> Guarded | Refusal:
    if not found.body:
        return Refusal("The kernel does nothing under its guard.", found.guards[-1].start_point.row)
    if len({one.axis for one in found.axes}) != len(found.axes):
        return Refusal("The kernel's guard asks twice for the same index.", found.guards[0].start_point.row)
    return found


def _is_plain(file: File, declaration: Node) -> bool:
    """Whether a declaration neither reads memory nor calls anything."""
    kind = declared_type(file, declaration)
    busy = ("subscript_expression", "call_expression", "pointer_expression", "update_expression", "array_declarator")
    return bool(kind) and not any(one.type in busy for one in walk(declaration))


def _is_block(node: Node) -> bool:
    return node.type == "compound_statement"


@dataclass(frozen=True, eq=False)
class Elementwise:
    """A kernel that does `body` for each `index` below `bound`, along x alone.

    `whole` are the bytes from the guard, or the head of the loop, to the end of what is done, `inner` those of the body
    without its braces. `loop`: where each thread strides over the elements in a loop; `axis` and `guard`: where it takes one.
    """

    index: str
    type: str
    bound: Node
    setup: tuple[Node, ...]
    body: tuple[Node, ...]
    whole: tuple[int, int]
    inner: tuple[int, int]
    loop: Loop | None
    axis: Axis | None
    guard: Node | None = None


def elementwise(names: Names, block: tuple[int, int, int]) -> Elementwise | Refusal:
    """The kernel as something that is done for each element below a bound."""
    if block[1] > 1 or block[2] > 1:
        return Refusal("The block has more than one dimension.", names.function.name_node.start_point.row)
    statements = [one for one in names.function.body.named_children if one.type != "comment"]
    setup = [one for one in statements[:-1] if one.type == "declaration" and _is_plain(names.file, one)]
    loops = [one for one in names.loops if statements and one.node == statements[-1]]
    if len(setup) == len(statements) - 1 and loops and strides(names, loops[0], "x", block):
        loop, bound = loops[0], field(loops[0].condition, "right")
        assert bound is not None
        declared = loop.start.parent.parent if loop.start.parent is not None else None
        type_ = declared_type(names.file, declared) if declared is not None else ""
        body, inner = _inside(loop.body)
        whole = (loop.node.start_byte, loop.node.end_byte)
        return Elementwise(loop.variable, type_, bound, tuple(setup), body, whole, inner, loop, None)
    found = guarded(names, block)
    if isinstance(found, Refusal):
        return found
    axis = found.axis("x")
    if axis is None or len(found.axes) > 1:
        return Refusal("The kernel's guard bounds more than the index along x.", found.guards[0].start_point.row)
    if found.returns:
        end = names.function.body.end_byte - 1
        inner = (found.guards[-1].end_byte, end)
    else:
        then = field(found.guards[0], "consequence")
        assert then is not None
        inner, end = _inside(then)[1], found.guards[0].end_byte
    whole = (found.guards[0].start_byte, end)
    guard = found.guards[0]
    return Elementwise(axis.index, axis.type, axis.bound, found.setup, found.body, whole, inner, None, axis, guard)


def strides(names: Names, loop: Loop, axis: str, block: tuple[int, int, int]) -> bool:
    """Whether the threads of the grid take every so-manieth element in a loop."""
    step, limit = step_of(names, loop), limit_of(names, loop)
    if step is None or limit is None or not is_index(names, loop.start, axis, block):
        return False
    return is_stride(names, step, axis, block)


def step_of(names: Names, loop: Loop) -> Node | None:
    """What a loop adds to its variable in each turn, where nothing else changes it: `i += step`."""
    update = loop.update
    operator, left, right = field(update, "operator"), field(update, "left"), field(update, "right")
    if operator is None or left is None or names.file.source.content(left) != loop.variable:
        return None
    declared = sum(one.variable == loop.variable for one in names.loops)
    changed = names.assigned.get(loop.variable, 0) > 2 * declared
    return right if names.file.source.content(operator) == "+=" and not changed else None


def limit_of(names: Names, loop: Loop) -> Node | None:
    """The bound of `i < bound`, where it has one value for all threads."""
    operator, left, right = (field(loop.condition, one) for one in ("operator", "left", "right"))
    if operator is None or left is None or right is None or names.file.source.content(left) != loop.variable:
        return None
    return right if names.file.source.content(operator) == "<" and is_fixed(names, right) else None


def _inside(body: Node) -> tuple[tuple[Node, ...], tuple[int, int]]:
    """The statements of a body, and its bytes without braces."""
    if not _is_block(body):
        return (body,), (body.start_byte, body.end_byte)
    return tuple(one for one in body.named_children if one.type != "comment"), (body.start_byte + 1, body.end_byte - 1)
