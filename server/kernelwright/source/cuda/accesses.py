"""Where a kernel reads and writes memory: which pointer or array, at which index, in which loops."""

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source import polynomials
from kernelwright.source.cuda.definitions import File
from kernelwright.source.cuda.expressions import Loop, Names
from kernelwright.source.cuda.text import field, walk
from kernelwright.source.polynomials import Polynomial


@dataclass(frozen=True, eq=False)
class Access:
    """`base[index]`, or `base[i][j]` with two indices; `node` is the whole subscript.

    `space`: "global" behind a pointer parameter, "shared", "local" for an array of the thread, "" for anything else.
    `kind`: "load", "store", "update" for `+=` and `++`, or "atomic". A local pointer that is made once, as in
    `const float* row = x + r * n`, counts as the parameter that it starts from; `start` is that expression.
    """

    base: str
    space: str
    kind: str
    indices: tuple[Node, ...]
    node: Node
    loops: tuple[Loop, ...]
    start: Node | None = None

    @property
    def writes(self) -> bool:
        return self.kind != "load"

    @property
    def reads(self) -> bool:
        return self.kind != "store"


def accesses(names: Names) -> tuple[Access, ...]:
    """The subscripts of a function in order of the text."""
    return tuple(_accesses(names))


def flat_index(names: Names, access: Access) -> Polynomial | None:
    """The index in elements from the beginning of the array; None where a size of the array is not known."""
    found = names.polynomial(access.indices[0])
    if access.start is not None:
        found = found + names.polynomial(access.start) - polynomials.name(access.base)
    sizes = names.arrays.get(access.base, ())
    for place, index in enumerate(access.indices[1:], 1):
        if place >= len(sizes):
            return None
        size = names.file.number(sizes[place])
        if size is None:
            return None
        found = found * Polynomial((((), size),)) + names.polynomial(index)
    return found


def _accesses(names: Names) -> Iterator[Access]:
    content = names.file.source.content
    for node in walk(names.function.body, lambda one: True):
        if node.type != "subscript_expression" or _is_part(node):
            continue
        indices: list[Node] = []
        inner: Node | None = node
        while inner is not None and inner.type == "subscript_expression":
            listed = field(inner, "indices")
            indices[:0] = listed.named_children[:1] if listed is not None else []
            inner = field(inner, "argument")
        if inner is None or not indices:
            continue
        base = content(inner) if inner.type == "identifier" else ""
        start = names.values.get(base)
        parameter = _started_from(names, start) if start is not None else ""
        if parameter:
            base = parameter
        yield Access(
            base=base,
            space=_space(names, base),
            kind=kind_of(names.file, node),
            indices=tuple(indices),
            node=node,
            loops=names.loops_around(node),
            start=start if parameter else None,
        )


def _started_from(names: Names, start: Node) -> str:
    """The pointer parameter that an expression adds an offset to; "" where it does not."""
    found = names.polynomial(start)
    pointers = [one.name for one in names.function.parameters if one.is_pointer and one.name in found.names]
    step = found.coefficient(pointers[0]) if len(pointers) == 1 else None
    return pointers[0] if step is not None and step.number == 1 else ""


def _is_part(node: Node) -> bool:
    """Whether it is `a[i]` of `a[i][j]`."""
    parent = node.parent
    return parent is not None and parent.type == "subscript_expression" and field(parent, "argument") == node


def _space(names: Names, base: str) -> str:
    if base in names.shared:
        return "shared"
    if base in names.arrays:
        return "local"
    parameter = names.function.parameter(base)
    return "global" if parameter is not None and parameter.is_pointer else ""


def kind_of(file: File, node: Node) -> str:
    """What is done with an element: `x[i].y = …` stores too."""
    child, parent = node, node.parent
    while parent is not None and parent.type in ("field_expression", "parenthesized_expression"):
        child, parent = parent, parent.parent
    if parent is None:
        return "load"
    if parent.type == "assignment_expression" and field(parent, "left") == child:
        operator = field(parent, "operator")
        return "store" if operator is None or file.source.content(operator) == "=" else "update"
    if parent.type == "update_expression":
        return "update"
    if parent.type == "pointer_expression" and parent.children[0].type == "&":
        call = parent.parent.parent if parent.parent is not None else None
        callee = field(call, "function")
        if callee is not None and file.source.content(callee).startswith("atomic"):
            return "atomic"
    return "load"
