"""A CUDA kernel or device function as the rules see it: its accesses as index polynomials, its launches as numbers."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.accesses import kind_of
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.flow import VARYING, Flow
from kernelwright.source.cuda.numbers import SIZES, Dims, Number
from kernelwright.source.cuda.text import field
from kernelwright.source.cuda.variables import Guard, Variable, parts
from kernelwright.source.findings.cuda_launches import AXES, LaunchSite
from kernelwright.source.polynomials import Polynomial, number

WARP = 32
SECTOR = 32  # bytes that move together

_PICKED = re.compile(r"==|!(?!=)|<\s*1(?![\w.])|<=\s*0(?![\w.])")
_ELECTS = re.compile(r"elect|leader|master|first|last|single|one_thread|is_thread", re.I)
_OTHERS = re.compile(r"!=|>\s*0(?![\w.])|>=\s*1(?![\w.])")


@dataclass(frozen=True)
class CudaChange:
    """Replace the source of `node` by `new_text`, or put that in front of it."""

    node: Node
    new_text: str
    before: bool = False


@dataclass(frozen=True)
class CudaProblem:
    """What a rule says of a node. "{line}" in the message stands for the line in the file of `line_of`."""

    node: Node
    message: str
    fix: str = ""
    changes: tuple[CudaChange, ...] = ()
    line_of: Node | None = None


@dataclass(frozen=True, eq=False)
class Element:
    """One access to memory: `base` is the pointer parameter or shared array that it leads to, however it is written.

    `index` counts elements from there, `size` is that of one in bytes; `kind` is as in `cuda.accesses`.
    """

    node: Node
    base: str
    space: str
    kind: str
    index: Polynomial
    size: int | None

    @property
    def writes(self) -> bool:
        return self.kind != "load"

    @property
    def is_known(self) -> bool:
        """Whether nothing in the index differs between threads but by `threadIdx` itself."""
        return not any(name.startswith(VARYING) for name in self.index.names)


@dataclass(frozen=True, eq=False)
class Shared:
    """An array in shared memory with its sizes as polynomials, None for one that the launch sizes; or a single value."""

    variable: Variable
    kind: str
    sizes: tuple[Polynomial | None, ...]
    size_nodes: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class CudaUnit:
    """A kernel with its launches, or a device function; the file holds them and what they need of the text, no more.

    `is_checked` says whether the text anywhere asks for errors of launches, `is_first` whether no kernel that is
    launched stands before this one, `raises_shared` whether the text raises the limit of dynamic shared memory.
    """

    file: File
    function: Function
    launches: tuple[LaunchSite, ...]
    is_checked: bool = True
    is_first: bool = False
    raises_shared: bool = False

    @functools.cached_property
    def flow(self) -> Flow:
        return Flow(self.file, self.function)

    def content(self, node: Node) -> str:
        return self.file.source.content(node)

    @functools.cached_property
    def block(self) -> Dims:
        """The size of the block, where all launches agree on it."""
        first, second, third = (self._agreed([site.block[axis] for site in self.launches]) for axis in range(3))
        return first, second, third

    @functools.cached_property
    def known(self) -> dict[str, int]:
        """What stands for the same number in all launches: template parameters, blockDim, scalars of the workload."""
        if not self.launches:
            return {}
        names = set.intersection(*(set(site.values) for site in self.launches))
        agreed = {name: self._agreed([site.values[name] for site in self.launches]) for name in names}
        return {name: value for name, value in agreed.items() if value is not None}

    @functools.cached_property
    def shared(self) -> dict[str, Shared]:
        """What stands in shared memory by name."""
        found = {}
        for variables in self.flow.variables.values():
            for one in variables:
                if one.is_shared:
                    found[one.name] = self._shared(one)
        return found

    @functools.cached_property
    def elements(self) -> tuple[Element, ...]:
        """The accesses to global and shared memory, in order of the text."""
        return tuple(self._elements())

    def index(self, element: Element) -> Polynomial:
        """The index with what is known of all launches put in."""
        return element.index.at(self.known)

    def guards(self, node: Node) -> tuple[Guard, ...]:
        return self.flow.guards(node)

    def is_one_thread(self, node: Node) -> bool:
        """Whether a place is under a condition that picks threads one by one, as `threadIdx.x == 0` does."""
        for guard in self.guards(node):
            text = self.content(guard.condition)
            picks = _PICKED.search(text) is not None
            leaves = guard.holds is False and _OTHERS.search(text) is not None
            if (picks or leaves or guard.holds is None) and self.flow.may_vary(guard.condition):
                return True
            if not guard.is_loop and guard.holds and any(map(self._is_flag, self._parts(guard.condition))):
                return True
            if guard.holds is False and self.flow.unwrapped(guard.condition).type in ("identifier", "field_expression"):
                return True  # if (threadIdx.x) return;
        return False

    def _parts(self, condition: Node) -> Iterator[Node]:
        """The a and b of `a && b`."""
        inner = self.flow.unwrapped(condition)
        sign, sides = field(inner, "operator"), (field(inner, "left"), field(inner, "right"))
        if inner.type == "binary_expression" and sign is not None and self.content(sign) == "&&":
            for one in sides:
                yield from self._parts(one) if one is not None else ()
        else:
            yield inner

    def _is_flag(self, node: Node) -> bool:
        """Whether it is a variable, or a call such as `elect_one()`: what it says of a thread is not followed."""
        if node.type == "call_expression":
            return _ELECTS.search(self.content(node).partition("(")[0]) is not None
        return node.type == "identifier" and self.flow.may_vary(node)

    def lane_axis(self) -> str:
        """The index that neighbouring threads differ in."""
        for axis, size in zip(AXES, self.block, strict=True):
            if size != 1:
                return f"threadIdx.{axis}"
        return "threadIdx.x"

    @functools.cached_property
    def counters(self) -> frozenset[str]:
        """The variables of `for` loops, as they are called in polynomials."""
        found = [one.name for variables in self.flow.variables.values() for one in variables if _counts(one)]
        return frozenset((*found, *(f"{name}'" for name in found)))

    @functools.cached_property
    def types(self) -> dict[str, str]:
        sites = [site.types for site in self.launches]
        return (
            {name: kind for name, kind in sites[0].items() if all(one.get(name) == kind for one in sites)}
            if sites
            else {}
        )

    def size_of(self, kind: str) -> int | None:
        """The bytes of a type as written."""
        kind = self.types.get(kind, kind)
        return SIZES.get(self.file.aliases.get(kind, kind))

    def _agreed(self, values: list[Number | None]) -> int | None:
        first = values[0] if values else None
        return first if isinstance(first, int) and all(one == first for one in values) else None

    def _shared(self, variable: Variable) -> Shared:
        sizes: list[Node | None] = []
        node = variable.node.parent
        while node is not None and node.type == "array_declarator":
            sizes.append(field(node, "size"))
            node = node.parent
        kind = field(variable.declaration, "type")
        polynomials = tuple(self.flow.polynomial(one) if one is not None else None for one in sizes)
        written = self.content(kind) if kind is not None else ""
        return Shared(variable, written, polynomials, tuple(one for one in sizes if one is not None))

    def _elements(self) -> Iterator[Element]:
        for node in self.flow.of_type("subscript_expression", "pointer_expression", "identifier"):
            if node.type == "identifier":
                yield from self._value(node)
            elif node.type == "pointer_expression":
                argument = field(node, "argument")
                if self.content(node).startswith("*") and argument is not None:
                    yield from self._element(node, argument, ())
            elif not _is_part(node):
                base, indices = parts(node)
                if base is not None and indices and not (_is_address(node) and kind_of(self.file, node) == "load"):
                    yield from self._element(node, base, indices)

    def _value(self, node: Node) -> Iterator[Element]:
        """The use of a single value in shared memory."""
        one = self.shared.get(self.content(node))
        if one is None or one.variable.is_array or node == one.variable.node:
            return
        kind = kind_of(self.file, node)
        if self.flow.variable(node) is one.variable and not (_is_address(node) and kind == "load"):
            yield Element(node, one.variable.name, "shared", kind, number(0), self.size_of(one.kind))

    def _element(self, node: Node, base: Node, indices: tuple[Node, ...]) -> Iterator[Element]:
        index = self.flow.polynomial(base)
        named = [name for (*rest, name), times in _named(index) if not rest and times == 1]
        for name in named:
            if name in self.shared and base.type == "identifier":
                flat = self._flat(self.shared[name], indices)
                if flat is not None:
                    yield Element(
                        node, name, "shared", kind_of(self.file, node), flat, self.size_of(self.shared[name].kind)
                    )
                return
            parameter = self.function.parameter(name)
            if parameter is not None and parameter.is_pointer and len(indices) < 2:
                rest = Polynomial(tuple(term for term in index.terms if term[0] != (name,)))
                for one in indices:
                    rest = rest + self.flow.polynomial(one)
                yield Element(node, name, "global", kind_of(self.file, node), rest, self.size_of(parameter.base))
                return

    def _flat(self, array: Shared, indices: tuple[Node, ...]) -> Polynomial | None:
        if not indices or len(indices) != len(array.sizes):
            return None
        found = self.flow.polynomial(indices[0])
        for index, size in zip(indices[1:], array.sizes[1:], strict=True):
            if size is None:
                return None
            found = found * size + self.flow.polynomial(index)
        return found


def _counts(variable: Variable) -> bool:
    return variable.scope.type == "for_statement"


def _named(polynomial: Polynomial) -> Iterator[tuple[tuple[str, ...], int]]:
    return ((term, times) for term, times in polynomial.terms if term)


def _is_part(node: Node) -> bool:
    """Whether it is the `a[i]` of `a[i][j]`."""
    return (
        node.parent is not None
        and node.parent.type == "subscript_expression"
        and field(node.parent, "argument") == node
    )


def _is_address(node: Node) -> bool:
    """Whether it is the `a[i]` of `&a[i]`."""
    parent = node.parent
    return parent is not None and parent.type == "pointer_expression" and parent.children[0].type == "&"
