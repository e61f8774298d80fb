"""Two pointwise launches, one after the other, as one: whether they may be, and the kernel that does both."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_buffers import roots
from kernelwright.micro.rewrite.cuda_grid import Geometry, geometry
from kernelwright.micro.rewrite.cuda_independent import declared_in, tied, works_together
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_pointers import READ, UNKNOWN, Use, mentions, uses
from kernelwright.micro.rewrite.cuda_region import Change, changed, indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_threads import Axis, Elementwise, at_launch, covered, declared_alone, elementwise
from kernelwright.source.cuda import File, Function, Launch, Parameter
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.values import Refusal

_WAITS = ("cudaDeviceSynchronize", "cudaGetLastError", "cudaPeekAtLastError")
_PURE = ("identifier", "number_literal", "binary_expression", "parenthesized_expression", "unary_expression", "true",
         "false", "cast_expression", "type_descriptor", "primitive_type", "abstract_pointer_declarator",
         "type_qualifier", "sized_type_specifier", "type_identifier")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Half:
    """One of the two kernels with its launch."""

    kernel: Function
    names: Names
    launch: Geometry
    found: Elementwise
    axis: Axis

    @property
    def arguments(self) -> dict[str, Node]:
        given = (one.name for one in self.kernel.parameters)
        return dict(zip(given, self.launch.launch.arguments, strict=False))


@dataclass(frozen=True, eq=False)
class Pair:
    first: Half
    second: Half


def pair(sight: CudaSight) -> Pair | Refusal:
    """The kernel with the one that is launched right after it, or right before it, where one may do the work of both."""
    launch = sight.launch
    if isinstance(launch, Refusal):
        return launch
    neighbours = [(launch, _next(sight.file, launch)), (_previous(sight.file, launch), launch)]
    why = Refusal("No other kernel is launched right before or after it.", launch.node.start_point.row)
    for first, second in neighbours:
        if first is None or second is None:
            continue
        found = _pair(sight.file, first, second)
        if not isinstance(found, Refusal):
            return found
        why = found
    return why


def _pair(file: File, first: Launch, second: Launch) -> Pair | Refusal:
    line = second.node.start_point.row
    if first.kernel == second.kernel:
        return Refusal("The same kernel is launched twice in a row.", line)
    one, two = _half(file, first), _half(file, second)
    if isinstance(one, Refusal):
        return one
    if isinstance(two, Refusal):
        return two
    streams = [file.source.content(launch.stream) if launch.stream is not None else "0" for launch in (first, second)]
    if len(set(streams)) > 1:
        return Refusal("The two kernels are launched on different streams.", line)
    if at_launch(one.names, one.launch, one.axis.bound) != at_launch(two.names, two.launch, two.axis.bound):
        return Refusal("The two kernels are launched over different numbers of elements.", line)
    if one.axis.type != two.axis.type:
        return Refusal("The indices of the two kernels differ in type.", line)
    return _conflict(file, one, two) or Pair(one, two)


def _half(file: File, launch: Launch) -> Half | Refusal:
    line, kernel = launch.node.start_point.row, file.kernel(launch.kernel)
    if kernel is None or kernel.templates:
        return Refusal(f"{launch.kernel} is a template, or not in this file.", line)
    if len(file.launches_of(kernel.name)) > 1 or kernel.outer.parent != file.source.tree.root_node:
        return Refusal(f"{kernel.name} is launched in several places, or known outside this file.", line)
    elsewhere = mentions(file, kernel)
    if elsewhere or re.search(rf"workload:.*\b{kernel.name}\s*<<<", file.source.text):
        return Refusal(f"{kernel.name} is used in another place, too.", line)
    shape, names = geometry(file, launch), Names(file, kernel)
    if shape is None or (launch.shared is not None and file.source.content(launch.shared) != "0"):
        return Refusal(f"The block of {kernel.name} is no number that this file says, or has shared memory.", line)
    if any(one.type not in _PURE for argument in launch.arguments for one in walk(argument)):
        return Refusal(f"What {kernel.name} is launched with is more than names and numbers.", line)
    found = elementwise(names, shape.block)
    if isinstance(found, Refusal):
        return found
    if found.axis is None:
        return Refusal(f"{kernel.name} strides over its elements.", kernel.name_node.start_point.row)
    covers = covered(names, shape, found.axis)
    if isinstance(covers, Refusal):
        return covers
    why = works_together(file, kernel) or tied(names, found) or declared_alone(file, found.axis)
    local = sorted(declared_in(names, (*found.setup, *found.body)) & {one.name for one in kernel.parameters})
    if why is None and local:
        return Refusal(f"A local of {kernel.name} hides its parameter {local[0]}.", kernel.name_node.start_point.row)
    return why or Half(kernel, names, shape, found, found.axis)


def _conflict(file: File, one: Half, two: Half) -> Refusal | None:
    """Where an element of the second kernel depends on another element of the first, or takes away what it reads."""
    for p, q in ((p, q) for p in _pointers(one) for q in _pointers(two)):
        first, second = uses(file, one.kernel, p.name), uses(file, two.kernel, q.name)
        if all(use.kind == READ for use in (*first, *second)):
            continue
        unknown = next((use for use in (*first, *second) if use.kind == UNKNOWN), None)
        if unknown is not None:
            return Refusal("What is done with a pointer cannot be followed here.", unknown.node.start_point.row)
        here, there = one.arguments.get(p.name), two.arguments.get(q.name)
        if here is None or there is None:
            return Refusal("A launch has fewer arguments than its kernel.", two.launch.launch.node.start_point.row)
        same = roots(file, one.launch.launch.function, here) & roots(file, two.launch.launch.function, there)
        strangers = [(half, use) for half, some in ((one, first), (two, second)) for use in some
                     if not _is_element(file, half, use) and (same or _moves(file, half, use))]  # fmt: skip
        if strangers:
            half, use = strangers[0]
            return Refusal(
                f"{half.kernel.name} accesses another element than its own here, which the other kernel may write or need.",
                use.node.start_point.row,
            )
        if same and (file.source.content(here), p.base, p.pointers) != (file.source.content(there), q.base, q.pointers):
            return Refusal(
                f"{p.name} and {q.name} are different parts of {min(same)}, or of other types.",
                two.launch.launch.node.start_point.row,
            )
    return None


def _pointers(half: Half) -> list[Parameter]:
    return [one for one in half.kernel.parameters if one.is_pointer]


def _is_element(file: File, half: Half, use: Use) -> bool:
    """Whether it is `x[i]`."""
    indices = field(use.node, "indices")
    if use.node.type != "subscript_expression" or indices is None or use.aliases or len(indices.named_children) != 1:
        return False
    argument, parent = field(use.node, "argument"), use.node.parent
    taken = parent is not None and parent.type == "pointer_expression"
    plain = argument is not None and argument.type == "identifier" and not taken
    return plain and file.source.content(indices.named_children[0]) == half.found.index


def _moves(file: File, half: Half, use: Use) -> bool:
    """Whether an access goes to neighbours of an element, or nobody can tell where to.

    One that does not depend on the index, or only by a remainder or quotient, is to a small table.
    """
    indices = field(use.node, "indices")
    if use.kind != READ or use.node.type != "subscript_expression" or indices is None or use.aliases:
        return True
    if any(one.type == "subscript_expression" for one in walk(indices)):
        return True
    index = half.names.polynomial(indices.named_children[0])
    made = half.names.polynomial(half.names.values[half.found.index])
    return bool(index.names & (made.names | {half.found.index}))


def _next(file: File, launch: Launch) -> Launch | None:
    node = _statement(launch.node)
    after = node.next_named_sibling if node is not None else None
    while after is not None and (after.type == "comment" or _waits(file, after)):
        after = after.next_named_sibling
    return next((one for one in file.launches if after is not None and _statement(one.node) == after), None)


def _previous(file: File, launch: Launch) -> Launch | None:
    for one in file.launches:
        after = _next(file, one)
        if after is not None and after.node.start_byte == launch.node.start_byte:
            return one
    return None


def _statement(launch: Node) -> Node | None:
    """The statement that is nothing but a launch, in a block."""
    statement = launch.parent
    if statement is None or statement.type != "expression_statement" or statement.parent is None:
        return None
    return statement if statement.parent.type == "compound_statement" else None


def _waits(file: File, node: Node) -> bool:
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    callee = field(inner, "function")
    return callee is not None and file.source.content(callee) in _WAITS


@dataclass(frozen=True)
class _Merged:
    """The parameters and arguments of the new kernel, and what names of the second one become in it."""

    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    renamed: dict[str, str]


def fused(sight: CudaSight, found: Pair) -> Patch:
    """The text with one kernel and one launch in the place of two."""
    file, patch, one, two = sight.file, sight.patch(), found.first, found.second
    name, merged = fused_name(file, found), _merged(file, found)
    early, late = sorted((one.kernel, two.kernel), key=lambda kernel: kernel.outer.start_byte)
    comment = _comment_above(file, early)
    start = comment.start_byte if comment is not None else early.outer.start_byte
    above = file.source.source[start : early.outer.start_byte].decode()
    patch.between(start, _after_blank(file, early.outer.end_byte), "")
    new = _kernel(file, found, name, merged)
    own = _comment_above(file, late)
    patch.between(
        own.start_byte if own is not None else late.outer.start_byte,
        late.outer.end_byte,
        above + (file.source.source[own.start_byte : late.outer.start_byte].decode() if own is not None else "") + new,
    )
    launch = one.launch.launch
    configuration = changed(file.source, (launch.configuration.start_byte, launch.configuration.end_byte), ())
    patch.replace(launch.node, f"{name}{configuration}({', '.join(merged.arguments)})")
    gone = _statement(two.launch.launch.node)
    assert gone is not None
    line = file.source.source.rfind(b"\n", 0, gone.start_byte)
    alone = not file.source.source[line : gone.start_byte].strip()
    return patch.between(line if alone else gone.start_byte, gone.end_byte, "")


def fused_name(file: File, found: Pair) -> str:
    """`scale_kernel` and `add_kernel` become `scale_add_kernel`."""
    first, second = found.first.kernel.name, found.second.kernel.name
    suffix = next((one for one in ("_kernel", "Kernel") if first.endswith(one) and second.endswith(one)), "")
    stem = first.removesuffix(suffix)
    joined = f"{stem}{second[0].upper()}{second[1:]}" if suffix == "Kernel" else f"{stem}_{second}"
    taken = {file.source.content(one) for one in of_type(file.source.tree.root_node, "identifier")}
    return joined if joined not in taken else f"{joined}_fused"


def _kernel(file: File, found: Pair, name: str, merged: _Merged) -> str:
    one, two = found.first, found.second
    source, kernel = file.source, one.kernel
    declarator = kernel.name_node.parent
    assert declarator is not None
    head = source.source[kernel.node.start_byte : kernel.name_node.start_byte].decode()
    opening = source.source[declarator.end_byte : kernel.body.start_byte].decode()
    unit, outer = unit_of(source, kernel), indent_of(source, kernel.node)
    changes = [change for span in (two.found.setup, two.found.body) for change in _renames(file, two, span, merged)]
    more = [
        line
        for statement in two.found.setup
        if statement != two.axis.declaration
        for line in region(source, (statement.start_byte, statement.end_byte), _inside(changes, statement))
    ]
    inner = [*more, *region(source, two.found.inner, [c for c in changes if _is_in(c, two.found.inner)])]
    start, end = one.found.whole
    if end == kernel.body.end_byte - 1:  # the guard returns
        text = source.source[kernel.body.start_byte : one.found.inner[1]].decode().rstrip()
        body = f"{text}\n" + "\n".join(indented(inner, outer + unit)) + f"\n{outer}}}"
    else:
        lines = [*region(source, one.found.inner), *inner]
        guard = source.source[start : _condition(one.found).end_byte].decode()
        before = source.source[kernel.body.start_byte : start].decode()
        after = source.source[end : kernel.body.end_byte].decode()
        text = "\n".join([guard + " {", *indented(lines, outer + unit + unit), outer + unit + "}"])
        body = before + text + after
    return f"{head}{name}({', '.join(merged.parameters)}){opening}{body}"


def _condition(found: Elementwise) -> Node:
    """The condition of the guard."""
    assert found.guard is not None
    condition = field(found.guard, "condition")
    assert condition is not None
    return condition


def _merged(file: File, found: Pair) -> _Merged:
    one, two = found.first, found.second
    content = file.source.content
    parameters = {p.name: _declared(file, p, p.name) for p in one.kernel.parameters}
    arguments = [content(node) for node in one.launch.launch.arguments]
    taken = {content(node) for node in walk(one.kernel.node) if node.type in ("identifier", "type_identifier")}
    taken |= {content(node) for node in walk(two.kernel.node) if node.type in ("identifier", "type_identifier")}
    renamed = {two.axis.index: one.axis.index}
    for q in two.kernel.parameters:
        given = content(two.arguments[q.name])
        same = next(
            (p for p in one.kernel.parameters if content(one.arguments[p.name]) == given and _alike(p, q)), None
        )
        if same is not None:
            renamed[q.name] = same.name
            if q.is_pointer and not q.is_const:
                parameters[same.name] = _declared(file, q, same.name)
            continue
        name = q.name
        if name in parameters or any(_is_named(file, one, name)):
            name = next(n for n in (f"{q.name}{count}" for count in range(2, 1000)) if n not in taken)
        renamed[q.name] = name
        parameters[name] = _declared(file, q, name)
        arguments.append(given)
    used = {*parameters, *(content(node) for node in of_type(one.kernel.body, "identifier"))}
    for local in sorted(declared_in(two.names, (*two.found.body, *two.found.setup)) - {two.axis.index}):
        if local in used:
            renamed[local] = next(n for n in (f"{local}{count}" for count in range(2, 1000)) if n not in taken)
    return _Merged(tuple(parameters.values()), tuple(arguments), renamed)


def _is_named(file: File, half: Half, name: str) -> Iterator[bool]:
    return (file.source.content(node) == name for node in of_type(half.kernel.body, "identifier"))


def _alike(p: Parameter, q: Parameter) -> bool:
    return (p.base, p.pointers) == (q.base, q.pointers)


def _declared(file: File, parameter: Parameter, name: str) -> str:
    """A parameter as written, by another name, and without a promise that held for its own kernel alone."""
    text = re.sub(r"\s*\b__restrict(?:__)?\b", "", file.source.content(parameter.node))
    return re.sub(rf"\b{parameter.name}\b(?=\W*$)", name, " ".join(text.split()))


def _renames(file: File, half: Half, statements: tuple[Node, ...], merged: _Merged) -> Iterator[Change]:
    for statement in statements:
        for node in of_type(statement, "identifier"):
            name = merged.renamed.get(file.source.content(node))
            if name is not None and name != file.source.content(node):
                yield node.start_byte, node.end_byte, name


def _inside(changes: list[Change], node: Node) -> list[Change]:
    return [one for one in changes if _is_in(one, (node.start_byte, node.end_byte))]


def _is_in(change: Change, span: tuple[int, int]) -> bool:
    return span[0] <= change[0] and change[1] <= span[1]


def _comment_above(file: File, kernel: Function) -> Node | None:
    """The first of the comments that stand right above a kernel."""
    found, below = None, kernel.outer
    node = below.prev_named_sibling
    while node is not None and node.type == "comment" and node.end_point.row + 1 >= below.start_point.row:
        line = file.source.source[file.source.source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
        if line.strip() or "workload:" in file.source.content(node):
            break
        found = below = node
        node = node.prev_named_sibling
    return found


def _after_blank(file: File, end: int) -> int:
    """The end of a piece with the blank lines behind it."""
    source = file.source.source
    while end < len(source) and source[end : end + 1].isspace():
        end += 1
    return source.rfind(b"\n", 0, end) + 1 if b"\n" in source[:end] else end
