"""Pointwise kernels that load and store several elements with one instruction: what may be, and the text of it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_grid import Geometry, bare, geometry
from kernelwright.micro.rewrite.cuda_independent import tied, works_together
from kernelwright.micro.rewrite.cuda_kinds import INT, Kinds
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_pointers import READ, UNKNOWN, WRITE, Use, mentions, uses
from kernelwright.micro.rewrite.cuda_region import Change, indented, region, regrid, unit_of, unused
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_threads import Elementwise, covered, elementwise, is_fixed
from kernelwright.source.cuda import Parameter
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

BYTES = {
    **dict.fromkeys(("double", "long long", "int64_t", "uint64_t", "size_t", "unsigned long long"), 8),
    **dict.fromkeys(("float", "int", "unsigned", "unsigned int", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("half", "__half", "__nv_bfloat16", "nv_bfloat16", "short", "int16_t", "uint16_t"), 2),
    **dict.fromkeys(("char", "signed char", "unsigned char", "int8_t", "uint8_t", "bool"), 1),
}
VECTORS = {16: "uint4", 8: "uint2", 4: "unsigned int", 2: "unsigned short"}
_OWN = {"float": {16: "float4", 8: "float2"}, "int": {16: "int4", 8: "int2"}, "double": {16: "double2"}}
_WIDEST = 16  # bytes of one load
_MAYBE = ("if_statement", "for_statement", "while_statement", "do_statement", "switch_statement", "case_statement")


@dataclass(frozen=True, eq=False)
class Vectorisable:
    """`loaded` and `stored` are the parameters that are accessed as vectors, `elements` their subscripts by name."""

    found: Elementwise
    launch: Geometry
    loaded: tuple[Parameter, ...]
    stored: tuple[Parameter, ...]
    elements: dict[str, tuple[Node, ...]]

    @property
    def moved(self) -> tuple[Parameter, ...]:
        return tuple(dict.fromkeys((*self.loaded, *self.stored)))

    @property
    def widths(self) -> tuple[int, ...]:
        """How many elements one thread may take, the most first: the widest of them fill 16 bytes, or 8."""
        widest = max(BYTES[one.base] for one in self.moved)
        return tuple(width for width in (_WIDEST // widest, _WIDEST // widest // 2) if width > 1)


def vectorisable(sight: CudaSight) -> Vectorisable | Refusal:
    """What a vector may be made of, or why nothing."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    shape = geometry(sight.file, launch, sight.numbers_given(launch.function))
    if shape is None:
        return Refusal("The threads of a block are no number that this file says.", launch.node.start_point.row)
    found = elementwise(sight.names, shape.block)
    if isinstance(found, Refusal):
        return found
    covers = covered(sight.names, shape, found.axis) if found.axis is not None else None
    if isinstance(covers, Refusal):
        return covers
    elsewhere = mentions(sight.file, sight.kernel)
    if elsewhere:
        return Refusal("The kernel is used in another place, too.", elsewhere[0].start_point.row)
    why = works_together(sight.file, sight.kernel) or tied(sight.names, found)
    if why is not None:
        return why
    return _moved(sight, shape, found)


def _moved(sight: CudaSight, shape: Geometry, found: Elementwise) -> Vectorisable | Refusal:
    loaded, stored, elements = list[Parameter](), list[Parameter](), dict[str, tuple[Node, ...]]()
    events = list[tuple[int, str, Parameter]]()
    for parameter in sight.kernel.parameters:
        if not parameter.is_pointer:
            continue
        each = uses(sight.file, sight.kernel, parameter.name)
        kinds = {one.kind for one in each}
        events += [(_statement(found, one.node), one.kind, parameter) for one in each]
        if kinds - {READ}:
            why = _not_whole(sight, found, parameter, each)
            if why is not None:
                return why
            stored.append(parameter)
            if READ in kinds:
                loaded.append(parameter)
        elif _may_move(sight, parameter) and any(
            _is_element(sight, found, one) and is_always(found.body, one.node) for one in each
        ):
            loaded.append(parameter)
        else:
            continue
        elements[parameter.name] = tuple(one.node for one in each if _is_element(sight, found, one))
    if not stored:
        return Refusal("The kernel stores nothing.", sight.kernel.name_node.start_point.row)
    events.sort(key=lambda one: one[0])
    return _late(sight, found, events) or Vectorisable(found, shape, tuple(loaded), tuple(stored), elements)


def _not_whole(sight: CudaSight, found: Elementwise, parameter: Parameter, each: tuple[Use, ...]) -> Refusal | None:
    """Why a pointer that the kernel writes through may not be written as vectors."""
    name = parameter.name
    for one in each:
        line = one.node.start_point.row
        if one.kind == UNKNOWN or one.node.type != "subscript_expression":
            return Refusal(f"What is done with {name} cannot be followed.", line)
        if not _is_element(sight, found, one):
            return Refusal(f"{name} is accessed at another index than {found.index}.", line)
        if one.kind == WRITE and not is_always(found.body, one.node):
            return Refusal(f"{name}[{found.index}] is not stored for every element.", line)
    if not _may_move(sight, parameter):
        return Refusal(f"{name} is no plain array of numbers of a known size.", parameter.node.start_point.row)
    return None


def _may_move(sight: CudaSight, parameter: Parameter) -> bool:
    plain = parameter.pointers == 1 and "volatile" not in sight.content(parameter.node)
    return plain and parameter.base in BYTES and not sight.names.assigned.get(parameter.name)


def _is_element(sight: CudaSight, found: Elementwise, use: Use) -> bool:
    """Whether it is `x[i]`, spelled like this."""
    argument = field(use.node, "argument")
    indices = field(use.node, "indices")
    if use.node.type != "subscript_expression" or use.aliases or argument is None or argument.type != "identifier":
        return False
    parent = use.node.parent
    index = indices.named_children if indices is not None else []
    taken = parent is not None and parent.type == "pointer_expression"
    return len(index) == 1 and sight.content(bare(index[0])) == found.index and not taken


def is_always(body: tuple[Node, ...], node: Node) -> bool:
    """Whether it is done whenever the statements of a body are, whatever the data."""
    child, parent = node, node.parent
    while parent is not None and child not in body:
        if parent.type in _MAYBE and parent not in _heads(child):
            return False
        if parent.type == "conditional_expression" and field(parent, "condition") != child:
            return False
        operator = field(parent, "operator") if parent.type == "binary_expression" else None
        if operator is not None and operator.type in ("&&", "||") and field(parent, "right") == child:
            return False
        child, parent = parent, parent.parent
    return True


def _heads(child: Node) -> tuple[Node, ...]:
    """The statement whose condition a node is: that is done in any case."""
    parent = child.parent
    is_head = parent is not None and parent.type == "if_statement" and field(parent, "condition") == child
    return (parent,) if is_head and parent is not None else ()


def _statement(found: Elementwise, node: Node) -> int:
    return next((place for place, one in enumerate(found.body) if is_inside(node, one)), -1)


def _late(sight: CudaSight, found: Elementwise, events: list[tuple[int, str, Parameter]]) -> Refusal | None:
    """Where something is read, or stored again, after a store that may have changed it: all loads come first now."""
    for (place, kind, one), (later, other_kind, other) in itertools.permutations(events, 2):
        if kind != WRITE or one.name == other.name or later <= place or one.is_restrict or other.is_restrict:
            continue
        line = found.body[later].start_point.row
        if other_kind == READ:
            return Refusal(
                f"{other.name} is read after {one.name} is stored, and they may be the same memory: load it before, or "
                "promise with __restrict__ that they are not.",
                line,
            )
        again = any(kind == WRITE and name is one and place > later for place, kind, name in events)
        if again:
            return Refusal(f"{one.name} and {other.name} are stored in turns.", line)
    return None


def vectorised(sight: CudaSight, found: Vectorisable, width: int) -> Patch | Refusal:
    """The text with `width` elements for each thread; whole vectors where all pointers are aligned, one by one elsewhere."""
    patch, shape = sight.patch(), found.found
    start, end = shape.whole
    kernel, source = sight.kernel, sight.file.source
    unit = unit_of(source, kernel)
    outer = indent_of(source, kernel.node) + unit
    body = _lines(sight, found, width, unit)
    if shape.loop is not None:
        condition = shape.loop.condition
        assert condition is not None
        head = source.source[shape.loop.node.start_byte : shape.loop.body.start_byte].decode().rstrip()
        bounded = f"{shape.index} <= {_operand(sight, shape.bound)} / {width}"
        head = head.replace(sight.content(condition), bounded, 1)
        body = [body[0], f"{head} {{", *indented(body[1:], unit), "}"]
    text = "\n".join(indented(body, outer)).lstrip()
    closing = "\n" + indent_of(source, kernel.node) if end == kernel.body.end_byte - 1 else ""
    patch.between(start, end, text + closing)
    division = found.launch.division("x")
    if division is None or shape.loop is not None:
        return patch
    return regrid(patch, sight.file, found.launch, division.node, [division.fewer(sight.content, width)]) or patch


def _lines(sight: CudaSight, found: Vectorisable, width: int, unit: str) -> list[str]:
    shape, file, kernel = found.found, sight.file, sight.kernel
    each = unused(file, kernel, "j", "e", "element")
    lane = unused(file, kernel, "k", "lane", "c")
    arrays = {one.name: unused(file, kernel, array_name(one.name, width)) for one in found.moved}
    aligned = unused(file, kernel, "aligned", "is_aligned")
    index, bound = shape.index, _operand(sight, shape.bound)
    once, divided = _divided(sight, shape, width, lane, each)
    whole = [one for some in found.elements.values() for one in some]
    inside = list(_indices(sight, shape, each, [*whole, *(node for node, _ in divided)]))
    quotients = [(node.start_byte, node.end_byte, text) for node, text in divided]
    inner = region(file.source, shape.inner, [*_elements(found, arrays, lane), *inside, *quotients])
    if inside or divided:
        inner = [f"{shape.type} {each} = {width} * {index} + {lane};", *inner]
    addresses = " | ".join(f"reinterpret_cast<size_t>({one.name})" for one in found.moved)
    either = f"({addresses})" if len(found.moved) > 1 else addresses
    vectors = {one.name: _vector(one, width) for one in found.moved}
    bytes_ = max(BYTES[one.base] for one in found.moved) * width
    return [
        f"bool {aligned} = {either} % {bytes_} == 0;",
        f"if ({aligned} && {index} < {bound} / {width}) {{",
        *indented(
            [
                *(f"alignas({BYTES[one.base] * width}) {one.base} {arrays[one.name]}[{width}];" for one in found.moved),
                *(
                    f"*reinterpret_cast<{vectors[one.name]}*>({arrays[one.name]}) = "
                    f"reinterpret_cast<const {vectors[one.name]}*>({one.name})[{index}];"
                    for one in found.loaded
                ),
                *once,
                "#pragma unroll",
                f"for (int {lane} = 0; {lane} < {width}; ++{lane}) {{",
                *indented(inner, unit),
                "}",
                *(
                    f"reinterpret_cast<{vectors[one.name]}*>({one.name})[{index}] = "
                    f"*reinterpret_cast<const {vectors[one.name]}*>({arrays[one.name]});"
                    for one in found.stored
                ),
            ],
            unit,
        ),
        "} else {" if shape.loop is not None else f"}} else if ({index} <= {bound} / {width}) {{",
        *indented(
            [
                f"for ({shape.type} {each} = {width} * {index}; {each} < {bound} && "
                f"{each} - {width} * {index} < {width}; ++{each}) {{",
                *indented(region(file.source, shape.inner, _indices(sight, shape, each, [])), unit),
                "}",
            ],
            unit,
        ),
        "}",
    ]


def _divided(
    sight: CudaSight, found: Elementwise, width: int, lane: str, each: str
) -> tuple[list[str], list[tuple[Node, str]]]:
    """The index divided by what is the same for all threads, once for a vector: what to declare, and code for each element.

    Where the remainder of the first element and its distance are below the divisor, quotients are the same.
    """
    every = (one for statement in found.body for one in of_type(statement, "binary_expression"))
    nodes = [one for one in every if _is_divided(sight, found, one) and is_always(found.body, one)]
    divisors = dict.fromkeys(sight.content(one.named_children[-1]) for one in nodes)
    if len(divisors) != 1:
        return [], []
    divisor, first = next(iter(divisors)), f"{width} * {found.index}"
    rest = unused(sight.file, sight.kernel, "rest", "remainder", "rest_of_first")
    quotient = unused(sight.file, sight.kernel, "whole", "quotient", "whole_of_first")
    declared, changed = [f"const {found.type} {rest} = {first} % {divisor};"], list[tuple[Node, str]]()
    below = f"{rest} + {lane} < {divisor}"
    for node in nodes:
        is_rest = sight.content(node.children[1]) == "%"
        if not is_rest and len(declared) == 1:
            declared.append(f"const {found.type} {quotient} = {first} / {divisor};")
        near, far = (f"{rest} + {lane}", f"{each} % {divisor}") if is_rest else (quotient, f"{each} / {divisor}")
        code = f"{below} ? {near} : {far}"
        is_value = node.parent is not None and node.parent.type == "init_declarator"
        changed.append((node, code if is_value else f"({code})"))
    return declared, changed


def _is_divided(sight: CudaSight, found: Elementwise, node: Node) -> bool:
    """Whether it is the index divided by a whole number that is the same for all threads and not known while compiling."""
    left, sign, right = (field(node, part) for part in ("left", "operator", "right"))
    if left is None or sign is None or right is None or sight.content(sign) not in "/%":
        return False
    known = sight.names.number(right) is not None or Kinds(sight.file, sight.kernel).of(right) != INT
    return sight.content(bare(left)) == found.index and is_fixed(sight.names, right) and not known


def _elements(found: Vectorisable, arrays: dict[str, str], lane: str) -> Iterator[Change]:
    for name, nodes in found.elements.items():
        for node in {one.start_byte: one for one in nodes}.values():
            yield node.start_byte, node.end_byte, f"{arrays[name]}[{lane}]"


def _indices(sight: CudaSight, found: Elementwise, each: str, outside: list[Node]) -> Iterator[Change]:
    """The index by its new name, apart from where whole subscripts are changed."""
    for statement in found.body:
        for node in of_type(statement, "identifier"):
            if sight.content(node) == found.index and not any(is_inside(node, one) for one in outside):
                yield node.start_byte, node.end_byte, each


def array_name(name: str, width: int) -> str:
    return f"{name}_{width}" if name[-1].isdigit() else f"{name}{width}"


def _vector(parameter: Parameter, width: int) -> str:
    size = BYTES[parameter.base] * width
    return _OWN.get(parameter.base, {}).get(size, VECTORS[size])


def _operand(sight: CudaSight, bound: Node) -> str:
    """An expression as an operand of a division."""
    content = sight.content(bound)
    return content if bound.type in ("identifier", "number_literal", "parenthesized_expression") else f"({content})"
