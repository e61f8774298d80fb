"""The variables of a function, each resolved in its scope: what gives them values, and what guards a place."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field, walk

_SCOPES = ("compound_statement", "for_statement", "if_statement", "while_statement", "for_range_loop")
_CAST = re.compile(
    r"(?:const )?(?:unsigned|signed|size_t|ptrdiff_t|u?int(?:\d+_t)?|u?intptr_t|long|short|auto|std::size_t|unsigned int"
    r"|long long(?: int)?|unsigned long(?: long)?(?: int)?|long int)$"
)
_CASTS = ("static_cast", "const_cast", "reinterpret_cast")
_SWAP = re.compile(rb"\b(?:std::)?swap\s*\(")
_BLOCK = re.compile(rb"\b(\w+)\s*\(([^;{}]{0,200})\)\s*\{")
_STATEMENTS = (b"if", b"for", b"while", b"switch", b"catch", b"constexpr")
_JUMPS = ("return_statement", "continue_statement", "break_statement", "goto_statement")
_GIVING = (
    "init_declarator",
    "assignment_expression",
    "update_expression",
    "pointer_expression",
    "call_expression",
    "binary_expression",
)


@dataclass(frozen=True, eq=False)
class Write:
    """A value given to a variable: `operator` is "=", "+=", "++", ..., "&" where its address is taken."""

    operator: str
    value: Node | None
    node: Node


@dataclass(frozen=True, eq=False)
class Variable:
    """A parameter or a local. `node` is its name where it is declared, `scope` is where it can be seen."""

    name: str
    node: Node
    scope: Node
    declaration: Node
    is_parameter: bool
    is_array: bool
    is_pointer: bool
    is_shared: bool = False
    is_reference: bool = False


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition that a place stands under; `holds` says with which outcome, None for a case of a switch.

    `jump` is how threads leave that have another outcome, as "return_statement", where it stands before the place.
    """

    condition: Node
    holds: bool | None
    statement: Node
    jump: str = ""

    @property
    def is_loop(self) -> bool:
        return self.statement.type in ("for_statement", "while_statement", "do_statement")


class Variables:
    """The variables of one function."""

    def __init__(self, file: File, function: Function) -> None:
        self.file = file
        self.function = function

    def content(self, node: Node) -> str:
        return self.file.source.content(node)

    @functools.cached_property
    def variables(self) -> dict[str, list[Variable]]:
        """Parameters and locals by name, in order of the text."""
        found: dict[str, list[Variable]] = {}
        for parameter in self.function.parameters:
            names = [one for one in walk(parameter.node) if one.type == "identifier"]
            node = next((one for one in names if self.content(one) == parameter.name), parameter.node)
            one = Variable(
                parameter.name, node, self.function.body, parameter.node, True, False, parameter.pointers > 0
            )
            found.setdefault(one.name, []).append(one)
        for declaration in self.of_type("declaration"):
            for one in self._declared(declaration):
                found.setdefault(one.name, []).append(one)
        return found

    def variable(self, node: Node) -> Variable | None:
        """What an identifier stands for: the innermost declaration that it is in the scope of."""
        best = None
        for one in self.variables.get(self.content(node), ()):
            seen = one.is_parameter or one.node.start_byte <= node.start_byte
            inside = one.scope.start_byte <= node.start_byte < one.scope.end_byte or one.node == node
            if seen and inside:
                best = one
        return best

    def writes(self, variable: Variable) -> tuple[Write, ...]:
        """All that gives a variable a value, its declaration first."""
        return tuple(self._writes.get(variable.node.id, ()))

    @functools.cached_property
    def unfollowed(self) -> frozenset[str]:
        """The names that are declared by what is not followed: range loops, lambdas, `KERNEL_LOOP(i, n) {`."""
        found = set()
        for node in self.of_type("for_range_loop", "structured_binding_declarator", "parameter_declaration"):
            declared = field(node, "declarator") if node.type == "for_range_loop" else node
            found |= {self.content(one) for one in walk(declared or node) if one.type == "identifier"}
        start, end = self.function.body.start_byte, self.function.body.end_byte
        for match in _BLOCK.finditer(self.file.source.source, start, end):
            if match[1] not in _STATEMENTS:
                found |= {one.strip().decode("utf-8", "replace") for one in match[2].split(b",")}
        return frozenset(found)

    def value(self, variable: Variable) -> Node | None:
        """The only value that a variable is ever given."""
        writes = self.writes(variable)
        if len(writes) != 1 or writes[0].operator != "=" or variable.is_parameter or variable.is_shared:
            return None
        return writes[0].value if self.is_always_made(writes[0], variable) else None

    def is_always_made(self, write: Write, variable: Variable) -> bool:
        """Whether no branch or loop decides if a variable is given this value."""
        return all(one.jump == "return_statement" for one in self.guards_within(write.node, variable.scope))

    def unwrapped(self, node: Node) -> Node:
        """Without parentheses and casts."""
        while True:
            if node.type in ("parenthesized_expression", "condition_clause") and node.named_child_count == 1:
                node = node.named_children[0]
            elif node.type == "cast_expression":
                kind, value = field(node, "type"), field(node, "value")
                if kind is None or value is None or not _CAST.match(self.content(kind)):
                    return node
                node = value
            elif node.type == "call_expression":
                value = self.cast(node)
                if value is None:
                    return node
                node = value
            else:
                return node

    def guards(self, node: Node) -> tuple[Guard, ...]:
        """The conditions under which a place is reached, the nearest first: branches, loops, and jumps before it."""
        return tuple(self.guards_within(node))

    def guards_within(self, node: Node, within: Node | None = None) -> Iterator[Guard]:
        last = within if within is not None else self.function.body
        child, parent = node, node.parent
        while parent is not None and child != last:
            condition = _condition(parent)
            match parent.type:
                case "if_statement" | "conditional_expression" if condition is not None and child != field(
                    parent, "condition"
                ):
                    yield Guard(condition, child == field(parent, "consequence"), parent)
                case "for_statement" if condition is not None and child == field(parent, "body"):
                    yield Guard(condition, True, parent)
                case "while_statement" if condition is not None and child == field(parent, "body"):
                    yield Guard(condition, True, parent)
                case "binary_expression" if child == field(parent, "right"):
                    left, sign = field(parent, "left"), field(parent, "operator")
                    if left is not None and sign is not None and self.content(sign) in ("&&", "||"):
                        yield Guard(left, self.content(sign) == "&&", parent)
                case "switch_statement" if condition is not None and child == field(parent, "body"):
                    yield Guard(condition, None, parent)
                case "compound_statement" | "case_statement":
                    yield from self._jumps_before(parent, child)
            child, parent = parent, parent.parent

    def of_type(self, *types: str) -> Iterator[Node]:
        """The nodes of the function of these types, in order of the text."""
        found = [one for kind in types for one in self._by_type.get(kind, ())]
        return (node for _, node in (sorted(found, key=lambda one: one[0]) if len(types) > 1 else found))

    def cast(self, node: Node) -> Node | None:
        """The x of `static_cast<int>(x)` or `int(x)`."""
        callee, arguments = field(node, "function"), field(node, "arguments")
        if callee is None or arguments is None or arguments.named_child_count != 1:
            return None
        name = (
            self.content(field(callee, "name") or callee)
            if callee.type == "template_function"
            else self.content(callee)
        )
        kinds = field(callee, "arguments")
        if callee.type == "template_function" and name in _CASTS and kinds is not None:
            return arguments.named_children[0] if _CAST.match(self.content(kinds)[1:-1].strip()) else None
        return arguments.named_children[0] if callee.type != "template_function" and _CAST.match(name) else None

    @functools.cached_property
    def _by_type(self) -> dict[str, list[tuple[int, Node]]]:
        found: dict[str, list[tuple[int, Node]]] = {}
        for number, node in enumerate(walk(self.function.body)):
            found.setdefault(node.type, []).append((number, node))
        return found

    def _declared(self, declaration: Node) -> Iterator[Variable]:
        scope: Node = self.function.body
        above = declaration.parent
        while above is not None and above != self.function.body:
            if above.type in _SCOPES:
                scope = above
                break
            above = above.parent
        is_shared = "__shared__" in self.content(declaration)[:80]
        for node in declaration.children_by_field_name("declarator"):
            inner = field(node, "declarator") if node.type == "init_declarator" else node
            is_array = is_pointer = is_reference = False
            while inner is not None and inner.type != "identifier":
                is_array = is_array or inner.type == "array_declarator"
                is_pointer = is_pointer or inner.type == "pointer_declarator"
                is_reference = is_reference or inner.type == "reference_declarator"
                inner = field(inner, "declarator") or next(iter(inner.named_children), None)
            if inner is not None:
                yield Variable(
                    self.content(inner), inner, scope, declaration, False, is_array, is_pointer, is_shared, is_reference
                )

    @functools.cached_property
    def _writes(self) -> dict[int, list[Write]]:
        found: dict[int, list[Write]] = {}
        for node in self.of_type(*_GIVING):
            for target, operator, value in self._given(node):
                variable = self.variable(target)
                if variable is not None:
                    found.setdefault(variable.node.id, []).append(Write(operator, value, node))
        return found

    def _given(self, node: Node) -> Iterator[tuple[Node, str, Node | None]]:
        if node.type == "call_expression" and node.start_byte not in self._swaps:
            yield from ((one, "&", None) for one in self._by_reference(node))
            return
        operator = field(node, "operator")
        sign = self.content(operator) if operator is not None else "="
        if node.type == "binary_expression" and (sign != ">>" or not _is_read(node)):
            return
        match node.type:
            case "binary_expression":  # stream >> x
                target, sign, value = field(node, "right"), "&", None
            case "init_declarator":
                target = field(node, "declarator")
                while target is not None and target.type in ("pointer_declarator", "reference_declarator"):
                    target = field(target, "declarator") or next(iter(target.named_children), None)
                value = field(node, "value")
            case "assignment_expression":
                target, value = field(node, "left"), field(node, "right")
                if (
                    target is not None and target.type == "field_expression"
                ):  # block.x = 32: what it is after, nobody knows
                    target, sign, value = field(target, "argument"), "&", None
            case "update_expression":
                target, value = field(node, "argument"), None
            case "pointer_expression" if sign == "&":
                target, value = field(node, "argument"), None
            case "call_expression":
                arguments = field(node, "arguments")
                yield from ((one, "&", None) for one in (arguments.named_children if arguments else ()))
                return
            case _:
                return
        if target is not None and target.type == "identifier":
            yield target, sign, value

    def _by_reference(self, call: Node) -> Iterator[Node]:
        """The variables that a function of the file or a method may change, since it takes references to them."""
        callee, arguments = field(call, "function"), field(call, "arguments")
        if callee is not None and arguments is not None and callee.type == "field_expression":
            yield from (one for one in arguments.named_children if one.type == "identifier" and self._may_change(one))
            return
        function = self.file.function(self.content(callee)) if callee is not None and arguments is not None else None
        if function is None or arguments is None:
            return
        given = [one for one in arguments.named_children if one.type != "comment"]
        for parameter, one in zip(function.parameters, given, strict=False):
            if one.type == "identifier" and not parameter.is_const and "&" in self.content(parameter.node):
                yield one

    def _may_change(self, node: Node) -> bool:
        """Whether it is a local that is neither constant nor the variable of a loop."""
        variable = self.variable(node)
        return (
            variable is not None
            and not variable.is_parameter
            and variable.scope.type != "for_statement"
            and "const" not in self.content(variable.declaration).split()[:2]
        )

    @functools.cached_property
    def _swaps(self) -> frozenset[int]:
        """Where calls of `swap` begin."""
        start, end = self.function.body.start_byte, self.function.body.end_byte
        return frozenset(match.start() for match in _SWAP.finditer(self.file.source.source, start, end))

    def _jumps_before(self, block: Node, child: Node) -> Iterator[Guard]:
        for one in block.named_children:
            if one.start_byte >= child.start_byte:
                return
            condition = _condition(one)
            if one.type != "if_statement" or condition is None:
                continue
            taken, other = field(one, "consequence"), field(one, "alternative")
            jump = jump_of(taken) if taken is not None and other is None else ""
            if jump:
                yield Guard(condition, False, one, jump)


def _is_read(node: Node) -> bool:
    """Whether it is the `stream >> x` of a statement such as `stream >> x >> y;`."""
    above = node.parent
    while above is not None and above.type == "binary_expression":
        above = above.parent
    return above is not None and above.type == "expression_statement"


def parts(node: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """The x and the indices i, j of `x[i][j]`."""
    indices: list[Node] = []
    inner: Node | None = node
    while inner is not None and inner.type == "subscript_expression":
        listed = field(inner, "indices")
        indices[:0] = listed.named_children[:1] if listed is not None else []
        inner = field(inner, "argument")
    return inner, tuple(indices)


def decides(guard: Guard, variable: Variable) -> bool:
    """Whether of two threads that both have the variable only one may have been given a value under this guard."""
    if guard.is_loop or guard.jump == "return_statement":
        return False
    return not guard.jump or guard.statement.start_byte > variable.node.start_byte


def plain(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _condition(statement: Node) -> Node | None:
    condition = field(statement, "condition")
    if condition is not None and condition.type == "condition_clause":
        return field(condition, "value")
    return condition


def jump_of(node: Node) -> str:
    """How a statement leaves, where it always does."""
    while node.type == "compound_statement":
        inner = [one for one in node.named_children if one.type != "comment"]
        if not inner:
            return ""
        node = inner[-1]
    return node.type if node.type in _JUMPS else ""
