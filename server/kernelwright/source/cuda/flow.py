"""Where the values in a function come from: variables by scope, what differs between threads, what guards a place."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda import polynomials
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.polynomials import Polynomial
from kernelwright.source.cuda.text import field, walk

VARYING = "?"
"""In front of a name in a polynomial that stands for an expression which may differ between threads."""

_SCOPES = ("compound_statement", "for_statement", "if_statement", "while_statement", "for_range_loop")
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|[0-9][0-9']*)[uUlL]*$")
_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])$")
_CAST = re.compile(
    r"(?:const )?(?:unsigned|signed|size_t|ptrdiff_t|u?int(?:\d+_t)?|u?intptr_t|long|short|auto|std::size_t|unsigned int"
    r"|long long(?: int)?|unsigned long(?: long)?(?: int)?|long int)$"
)
_CASTS = ("static_cast", "const_cast", "reinterpret_cast")
_ACROSS = re.compile(r"__shfl|__ballot|__any|__all|__activemask|__match|__reduce|atomic|thread_rank|clock|printf")
_UNIFORM = re.compile(r"__syncthreads_(?:or|and|count)$")
_MATH = re.compile(
    r"(?:std::)?(?:u?min|u?max|abs|f?m(?:in|ax)f?|(?:__)?[a-z]+f|ceil|floor|exp|log|sqrt|sizeof|int|float|fma)$"
)
_SWAP = re.compile(rb"\b(?:std::)?swap\s*\(")
_JUMPS = ("return_statement", "continue_statement", "break_statement", "goto_statement")
_GIVING = ("init_declarator", "assignment_expression", "update_expression", "pointer_expression", "call_expression")
_DEEPEST = 24  # variables followed on the way to one value


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


class Flow:
    """The variables of one function, each resolved in its scope."""

    def __init__(self, file: File, function: Function) -> None:
        self.file = file
        self.function = function
        self._known: dict[tuple[int, bool], bool] = {}
        self._returned: dict[str, tuple[tuple[str, ...], Polynomial] | None] = {}

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

    def value(self, variable: Variable) -> Node | None:
        """The only value that a variable is ever given."""
        writes = self.writes(variable)
        if len(writes) != 1 or writes[0].operator != "=" or variable.is_parameter or variable.is_shared:
            return None
        return writes[0].value if self._is_always_made(writes[0], variable) else None

    def _is_always_made(self, write: Write, variable: Variable) -> bool:
        """Whether no branch or loop decides if a variable is given this value."""
        return all(one.jump == "return_statement" for one in self._guards(write.node, variable.scope))

    def varies(self, node: Node) -> bool:
        """Whether a value certainly depends on `threadIdx`."""
        return self._varies(node, True)

    def may_vary(self, node: Node) -> bool:
        """Whether a value can differ between the threads of a block."""
        return self._varies(node, False)

    def polynomial(self, node: Node, depth: int = 0) -> Polynomial:
        """An index over thread and block indices, parameters and names of values that are the same in all threads.

        A variable that only advances by steps that all threads share is its first value and a name for the steps made.
        What else may differ between threads becomes a name behind `VARYING`.
        """
        inner = self.unwrapped(node)
        match inner.type:
            case "number_literal":
                match = _INTEGER.match(self.content(inner))
                return polynomials.number(_integer(match[1])) if match else self._opaque(inner)
            case "identifier":
                return self._named(inner, depth)
            case "field_expression" if _BUILT_IN.match(_plain(self.content(inner))):
                return polynomials.name(_plain(self.content(inner)))
            case "binary_expression":
                return self._binary(inner, depth)
            case "unary_expression" if self.content(inner).startswith("-"):
                argument = field(inner, "argument")
                if argument is not None:
                    return polynomials.number(0) - self.polynomial(argument, depth)
            case "pointer_expression" if self.content(inner).startswith("&"):
                place = field(inner, "argument")
                base, indices = parts(place) if place is not None else (None, ())
                if base is not None and len(indices) == 1:
                    return self.polynomial(base, depth) + self.polynomial(indices[0], depth)
            case "call_expression":
                return self._called(inner, depth) or self._opaque(inner)
        return self._opaque(inner)

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
                value = self._cast(node)
                if value is None:
                    return node
                node = value
            else:
                return node

    def guards(self, node: Node) -> tuple[Guard, ...]:
        """The conditions under which a place is reached, the nearest first: branches, loops, and jumps before it."""
        return tuple(self._guards(node))

    @functools.cached_property
    def _by_type(self) -> dict[str, list[tuple[int, Node]]]:
        found: dict[str, list[tuple[int, Node]]] = {}
        for number, node in enumerate(walk(self.function.body)):
            found.setdefault(node.type, []).append((number, node))
        return found

    def of_type(self, *types: str) -> Iterator[Node]:
        """The nodes of the function of these types, in order of the text."""
        found = [one for kind in types for one in self._by_type.get(kind, ())]
        return (node for _, node in (sorted(found, key=lambda one: one[0]) if len(types) > 1 else found))

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
            is_array = is_pointer = False
            while inner is not None and inner.type != "identifier":
                is_array = is_array or inner.type == "array_declarator"
                is_pointer = is_pointer or inner.type == "pointer_declarator"
                inner = field(inner, "declarator") or next(iter(inner.named_children), None)
            if inner is not None:
                yield Variable(self.content(inner), inner, scope, declaration, False, is_array, is_pointer, is_shared)

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
            return
        operator = field(node, "operator")
        sign = self.content(operator) if operator is not None else "="
        match node.type:
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

    @functools.cached_property
    def _swaps(self) -> frozenset[int]:
        """Where calls of `swap` begin."""
        start, end = self.function.body.start_byte, self.function.body.end_byte
        return frozenset(match.start() for match in _SWAP.finditer(self.file.source.source, start, end))

    def _named(self, node: Node, depth: int) -> Polynomial:
        name = self.content(node)
        variable = self.variable(node)
        if variable is None:
            constant = self.file.number(name) if name in self.file.constants else None
            if constant is None and (match := _BUILT_IN.match(self.file.constants.get(name, "").strip("()"))):
                return polynomials.name(match[0])
            return polynomials.number(constant) if constant is not None else self._opaque(node)
        writes = self.writes(variable)
        if variable.is_parameter and not writes:
            return polynomials.name(name)
        if variable.is_array:
            return polynomials.name(name)
        if depth > _DEEPEST or variable.is_shared:
            return self._opaque(node)
        first, steps = (None, writes) if variable.is_parameter else (writes[0] if writes else None, writes[1:])
        start = polynomials.name(name) if variable.is_parameter else None
        if first is not None and first.value is not None and first.operator == "=":
            if not steps and self._is_always_made(first, variable):
                return self.polynomial(first.value, depth + 1)
            if first.node.type == "init_declarator" and all(self._is_shared_step(one, variable) for one in steps):
                start = self.polynomial(first.value, depth + 1)
        if start is not None and all(self._is_shared_step(one, variable) for one in steps):
            return start + polynomials.name(name if start.number == 0 else f"{name}'")
        return self._opaque(node)

    def _is_shared_step(self, write: Write, variable: Variable) -> bool:
        """Whether it is `i += stride`, with the same step in all threads and in no branch that only some of them take."""
        if write.operator not in ("+=", "-=", "++", "--") or (write.value is not None and self.may_vary(write.value)):
            return False
        branches = (
            one
            for one in self._guards(write.node, variable.scope)
            if not one.is_loop and one.jump != "return_statement"
        )
        return not any(self.may_vary(one.condition) for one in branches)

    def _binary(self, node: Node, depth: int) -> Polynomial:
        left, right, sign = field(node, "left"), field(node, "right"), field(node, "operator")
        if left is None or right is None or sign is None:
            return self._opaque(node)
        one, other = self.polynomial(left, depth), self.polynomial(right, depth)
        match self.content(sign):
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
        return self._opaque(node)

    def _called(self, node: Node, depth: int) -> Polynomial | None:
        """What a macro or a function that is one `return` makes of its arguments: `IDX(i, j)`."""
        callee, arguments = field(node, "function"), field(node, "arguments")
        if callee is None or arguments is None or callee.type != "identifier" or depth > _DEEPEST:
            return None
        name = self.content(callee)
        if name not in self._returned:
            self._returned[name] = None  # while it is read: one that calls itself
            self._returned[name] = self._returns(name)
        returned = self._returned[name]
        given = [one for one in arguments.named_children if one.type != "comment"]
        if returned is None or len(returned[0]) != len(given):
            return None
        passed = dict(zip(returned[0], (self.polynomial(one, depth + 1) for one in given), strict=True))
        if any(one.startswith(VARYING) or not (one in passed or self._is_plain(one)) for one in returned[1].names):
            return None
        return returned[1].replaced(passed)

    def _returns(self, name: str) -> tuple[tuple[str, ...], Polynomial] | None:
        """The parameters of a macro or function, and what it returns in terms of these."""
        file = self.file if self.file.function(name) is not None else self.file.macros
        function = file.function(name)
        returned = function.body.named_children[0] if function is not None and function.body.named_children else None
        if function is None or returned is None or returned.type != "return_statement" or not returned.named_children:
            return None
        return tuple(one.name for one in function.parameters), Flow(file, function).polynomial(
            returned.named_children[0]
        )

    def _is_plain(self, name: str) -> bool:
        """Whether a name is a parameter that keeps its value, wherever it stands."""
        variables = self.variables.get(name, ())
        return len(variables) == 1 and variables[0].is_parameter and not self.writes(variables[0])

    def _opaque(self, node: Node) -> Polynomial:
        text = _plain(self.content(node))
        return polynomials.name(VARYING + text if self.may_vary(node) else text)

    def _cast(self, node: Node) -> Node | None:
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

    def _varies(self, node: Node, certain: bool) -> bool:
        key = node.id, certain
        if key not in self._known:
            self._known[key] = False  # while it is worked out: a variable that is made of itself
            self._known[key] = self._differs(node, certain)
        return self._known[key]

    def _differs(self, node: Node, certain: bool) -> bool:
        match node.type:
            case "field_expression":
                if match := _BUILT_IN.match(_plain(self.content(node))):
                    return match[1] == "threadIdx"
                argument = field(node, "argument")
                return argument is not None and self._varies(argument, certain)
            case "identifier":
                variable = self.variable(node)
                if variable is None:
                    return "threadIdx" in self.file.constants.get(self.content(node), "")
                return self._variable_varies(variable, certain)
            case "subscript_expression":
                base, indices = parts(node)
                array = self.variable(base) if base is not None and base.type == "identifier" else None
                if array is not None and array.is_array and not array.is_shared:
                    return not certain
                return any(self._varies(one, certain) for one in (*indices, *([base] if base is not None else [])))
            case "call_expression":
                return self._call_varies(node, certain)
            case "lambda_expression":
                return not certain
        return any(self._varies(one, certain) for one in node.named_children)

    def _call_varies(self, node: Node, certain: bool) -> bool:
        callee, arguments = field(node, "function"), field(node, "arguments")
        given = arguments.named_children if arguments is not None else []
        name = self.content(callee) if callee is not None else ""
        if _UNIFORM.match(name):
            return False
        if _ACROSS.search(name):
            return not certain
        if self._cast(node) is None and certain and not _MATH.match(name):
            return False  # what it makes of its arguments, nobody knows
        if not certain and not given and callee is not None and self.file.function(name) is not None:
            return True
        return any(self._varies(one, certain) for one in given)

    def _variable_varies(self, variable: Variable, certain: bool) -> bool:
        if variable.is_array or variable.is_shared:
            return False  # an address, or one value for all threads
        key = variable.node.id, certain
        if key in self._known:
            return self._known[key]
        self._known[key] = False
        found = False
        for write in self.writes(variable):
            branches = [one for one in self._guards(write.node, variable.scope) if _decides(one, variable)]
            found = (
                found
                or (write.operator == "&" and not certain)
                or (write.value is not None and self._varies(write.value, certain))
                or any(self._varies(one.condition, certain) for one in branches)
            )
        self._known[key] = found
        return found

    def _guards(self, node: Node, within: Node | None = None) -> Iterator[Guard]:
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

    def _jumps_before(self, block: Node, child: Node) -> Iterator[Guard]:
        for one in block.named_children:
            if one.start_byte >= child.start_byte:
                return
            condition = _condition(one)
            if one.type != "if_statement" or condition is None:
                continue
            taken, other = field(one, "consequence"), field(one, "alternative")
            jump = _jump(taken) if taken is not None and other is None else ""
            if jump:
                yield Guard(condition, False, one, jump)


def parts(node: Node) -> tuple[Node | None, tuple[Node, ...]]:
    """The x and the indices i, j of `x[i][j]`."""
    indices: list[Node] = []
    inner: Node | None = node
    while inner is not None and inner.type == "subscript_expression":
        listed = field(inner, "indices")
        indices[:0] = listed.named_children[:1] if listed is not None else []
        inner = field(inner, "argument")
    return inner, tuple(indices)


def _condition(statement: Node) -> Node | None:
    condition = field(statement, "condition")
    if condition is not None and condition.type == "condition_clause":
        return field(condition, "value")
    return condition


def _jump(node: Node) -> str:
    """How a statement leaves, where it always does."""
    while node.type == "compound_statement":
        inner = [one for one in node.named_children if one.type != "comment"]
        if not inner:
            return ""
        node = inner[-1]
    return node.type if node.type in _JUMPS else ""


def _decides(guard: Guard, variable: Variable) -> bool:
    """Whether of two threads that both have the variable only one may have been given a value under this guard."""
    if guard.is_loop or guard.jump == "return_statement":
        return False
    return not guard.jump or guard.statement.start_byte > variable.node.start_byte


def _integer(written: str) -> int:
    digits = written.replace("'", "")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return (
        int(digits, 8)
        if len(digits) > 1 and digits[0] == "0" and digits.isdigit() and set(digits) <= set("01234567")
        else int(digits)
    )


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text)
