"""What the names in a function stand for: locals that are assigned once, loop variables, macros and constants."""

import functools
import re
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source import polynomials
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.source.polynomials import Polynomial

BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_INTEGER = re.compile(r"(-?(?:0[xX][0-9a-fA-F]+|\d+))[uUlL]*$")
_CASTS = frozenset(
    ("size_t", "int", "unsigned", "unsigned int", "long", "long long", "int64_t", "uint32_t", "int32_t", "uint64_t")
)
_MOST = 64  # names followed on the way to one polynomial


@dataclass(frozen=True, eq=False)
class Loop:
    """A `for` loop over one variable that is declared in its head, as nodes; None for what it does not have."""

    node: Node
    variable: str
    start: Node
    condition: Node | None
    update: Node | None
    body: Node


class Names:
    """The names of one function. Locals in `kept` stand for themselves in polynomials, whatever they were made of."""

    def __init__(self, file: File, function: Function, kept: frozenset[str] = frozenset()) -> None:
        self.file = file
        self.function = function
        self.kept = kept

    @functools.cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The counted loops, outer ones before those inside of them."""
        found = (self._loop(node) for node in of_type(self.function.body, "for_statement"))
        return tuple(loop for loop in found if loop is not None)

    def loops_around(self, node: Node) -> tuple[Loop, ...]:
        """The counted loops whose body a node stands in, the outermost first."""
        return tuple(
            one for one in self.loops if one.body.start_byte <= node.start_byte and node.end_byte <= one.body.end_byte
        )

    @functools.cached_property
    def assigned(self) -> dict[str, int]:
        """How often each name is given a value: declarations with one, assignments, `++`, and `&name`."""
        found: dict[str, int] = {}
        for node in walk(self.function.body):
            target = None
            if node.type == "init_declarator":
                target = _declared(node)
            elif node.type == "assignment_expression":
                target = field(node, "left")
            elif node.type in ("update_expression", "pointer_expression") and not _reads_through(node):
                target = field(node, "argument")
            if target is not None and target.type == "identifier":
                name = self._content(target)
                found[name] = found.get(name, 0) + 1
        return found

    @functools.cached_property
    def values(self) -> dict[str, Node]:
        """The locals that are given a value once, where they are declared, with it."""
        found = {}
        for node in of_type(self.function.body, "init_declarator"):
            target, value = _declared(node), field(node, "value")
            if target is not None and target.type == "identifier" and value is not None:
                name = self._content(target)
                if self.assigned.get(name) == 1 and value.type not in ("argument_list", "initializer_list"):
                    found[name] = value
        return found

    @functools.cached_property
    def arrays(self) -> dict[str, tuple[str, ...]]:
        """The arrays of the function with their sizes as written; `__shared__` ones are `shared`."""
        return {name: sizes for name, sizes, _ in self._declared_arrays}

    @functools.cached_property
    def shared(self) -> dict[str, tuple[str, ...]]:
        """The arrays in shared memory with their sizes as written; "" for one that the launch sizes."""
        return {name: sizes for name, sizes, is_shared in self._declared_arrays if is_shared}

    def polynomial(self, node: Node, depth: int = 0) -> Polynomial:
        """An integer expression over thread and block indices, parameters and loop variables.

        What is no sum or product (`i / 32`, `x[i]`, a call) counts as one name, its own text.
        """
        inner = self._unwrapped(node)
        match inner.type:
            case "number_literal":
                match = _INTEGER.match(self._content(inner))
                return polynomials.number(int(match[1], 0)) if match else polynomials.name(self._content(inner))
            case "identifier" | "type_identifier" | "parameter_declaration":  # a size that reads as a type
                return self._named(self._content(inner), depth)
            case "binary_expression":
                return self._binary(inner, depth)
            case "unary_expression" if self._operator(inner) == "-":
                argument = field(inner, "argument")
                if argument is not None:
                    return polynomials.number(0) - self.polynomial(argument, depth)
        return polynomials.name(plain(self._content(inner)))

    def number(self, node: Node | None) -> int | None:
        """The value of an expression over numbers, macros and constants."""
        return self.polynomial(node).number if node is not None else None

    def behind(self, node: Node) -> frozenset[str]:
        """All names that an expression reads, and those that its locals were made of."""
        found: set[str] = set()
        waiting = [node]
        while waiting and len(found) < _MOST:
            for one in walk(waiting.pop()):
                if one.type == "field_expression" and self._content(one).split(".")[0] in BUILT_IN:
                    found.add(plain(self._content(one)))
                elif one.type == "identifier" and (name := self._content(one)) not in found:
                    found.add(name)
                    waiting += [self.values[name]] if name in self.values else []
        return frozenset(found)

    @functools.cached_property
    def _declared_arrays(self) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
        found = []
        for declaration in of_type(self.function.body, "declaration"):
            is_shared = b"__shared__" in (declaration.text or b"")[:80]
            for node in declaration.named_children:
                inner = field(node, "declarator") if node.type == "init_declarator" else node
                sizes: list[str] = []
                while inner is not None and inner.type == "array_declarator":
                    size = field(inner, "size")
                    sizes.insert(0, self._content(size) if size is not None else "")
                    inner = field(inner, "declarator")
                if sizes and inner is not None and inner.type == "identifier":
                    found.append((self._content(inner), tuple(sizes), is_shared))
        return tuple(found)

    def _named(self, name: str, depth: int) -> Polynomial:
        if name in self.values and name not in self.kept and depth < _MOST:
            return self.polynomial(self.values[name], depth + 1)
        if self.assigned.get(name) or self.function.parameter(name) is not None:
            return polynomials.name(name)
        constant = self.file.number(name) if name in self.file.constants else None
        return polynomials.number(constant) if constant is not None else polynomials.name(name)

    def _binary(self, node: Node, depth: int) -> Polynomial:
        left, right, operator = field(node, "left"), field(node, "right"), self._operator(node)
        if left is None or right is None:
            return polynomials.name(plain(self._content(node)))
        one, other = self.polynomial(left, depth), self.polynomial(right, depth)
        match operator:
            case "+":
                return one + other
            case "-":
                return one - other
            case "*":
                return one * other
            case "<<" if other.number is not None and 0 <= other.number < 32:
                return one * polynomials.number(1 << other.number)
            case "/" if one.number is not None and other.number:
                return polynomials.number(one.number // other.number)
            case "%" if one.number is not None and other.number:
                return polynomials.number(one.number % other.number)
        return polynomials.name(plain(self._content(node)))

    def _operator(self, node: Node) -> str:
        operator = field(node, "operator")
        return self._content(operator) if operator is not None else ""

    def _unwrapped(self, node: Node) -> Node:
        """Without parentheses and casts to integers."""
        while True:
            if node.type in ("parenthesized_expression", "condition_clause") and node.named_child_count == 1:
                node = node.named_children[0]
            elif node.type == "cast_expression" and (kind := field(node, "type")) is not None:
                value = field(node, "value")
                if value is None or self._content(kind) not in _CASTS:
                    return node
                node = value
            else:
                return node

    def _loop(self, node: Node) -> Loop | None:
        first, body = field(node, "initializer"), field(node, "body")
        declared = next(iter(of_type(first, "init_declarator")), None) if first is not None else None
        variable, start = field(declared, "declarator"), field(declared, "value")
        if variable is None or start is None or body is None:
            return None
        return Loop(node, self._content(variable), start, field(node, "condition"), field(node, "update"), body)

    def _content(self, node: Node) -> str:
        return self.file.source.content(node)


def _declared(node: Node) -> Node | None:
    """The name that an `init_declarator` gives a value, without the stars in front of it."""
    target = field(node, "declarator")
    while target is not None and target.type == "pointer_declarator":
        target = field(target, "declarator")
    return target


def _reads_through(node: Node) -> bool:
    """Whether it is `*p`, which gives p no value, rather than `&x`."""
    return node.type == "pointer_expression" and bool(node.children) and node.children[0].type == "*"


def plain(text: str) -> str:
    """Without white space, as a part of an expression is named."""
    return re.sub(r"\s+", "", text)
