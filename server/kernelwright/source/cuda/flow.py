"""Where the values in a function come from, as polynomials over thread and block indices."""

import re

from tree_sitter import Node

from kernelwright.source import polynomials
from kernelwright.source.cuda.definitions import File, Function
from kernelwright.source.cuda.text import field
from kernelwright.source.cuda.variables import Variable, Write, parts, plain
from kernelwright.source.cuda.varying import Varying
from kernelwright.source.polynomials import Polynomial

VARYING = "?"
"""In front of a name in a polynomial that stands for an expression which may differ between threads."""

_INTEGER = re.compile(r"(-?(?:0[xX][0-9a-fA-F']+|[0-9][0-9']*))[uUlL]*$")
_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])$")
_DEEPEST = 24  # variables followed on the way to one value


class Flow(Varying):
    """The variables of one function, with their values as polynomials."""

    def __init__(self, file: File, function: Function) -> None:
        super().__init__(file, function)
        self._returned: dict[str, tuple[tuple[str, ...], Polynomial] | None] = {}

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
            case "field_expression" if _BUILT_IN.match(plain(self.content(inner))):
                return polynomials.name(plain(self.content(inner)))
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
            if not steps and self.is_always_made(first, variable):
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
            for one in self.guards_within(write.node, variable.scope)
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
        text = plain(self.content(node))
        return polynomials.name(VARYING + text if self.may_vary(node) else text)


def _integer(written: str) -> int:
    if written.startswith("-"):
        return -_integer(written[1:])
    digits = written.replace("'", "")
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return (
        int(digits, 8)
        if len(digits) > 1 and digits[0] == "0" and digits.isdigit() and set(digits) <= set("01234567")
        else int(digits)
    )
