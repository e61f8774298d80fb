"""Expressions of a function as numbers, once the values of parameters and built-in variables are known."""

import math
import operator
import re
from collections.abc import Callable, Mapping

from tree_sitter import Node

from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.text import field, of_type

Number = int | float
Dims = tuple[int | None, int | None, int | None]

SIZES: Mapping[str, int] = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t", "uchar", "std::byte"), 1),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t", "half", "__half", "__nv_bfloat16", "char2"), 2),
    **dict.fromkeys(("nv_bfloat16", "uchar2"), 2),
    **dict.fromkeys(("int", "unsigned", "unsigned int", "uint", "int32_t", "uint32_t", "float", "half2", "__half2"), 4),
    **dict.fromkeys(("char4", "uchar4", "__nv_bfloat162", "nv_bfloat162", "short2", "ushort2"), 4),
    **dict.fromkeys(("double", "long", "long long", "unsigned long", "unsigned long long", "int64_t", "uint64_t"), 8),
    **dict.fromkeys(("size_t", "ptrdiff_t", "float2", "int2", "uint2", "short4", "std::size_t"), 8),
    **dict.fromkeys(("float3", "int3", "uint3"), 12),
    **dict.fromkeys(("float4", "int4", "uint4", "double2", "longlong2"), 16),
}
"""The bytes of the types that a kernel moves."""

_FLOAT = re.compile(r"[0-9.]+(?:[eE][+-]?[0-9]+)?[fFlL]?$")
_WORDS = {"true": 1, "false": 0, "warpSize": 32}
_DEEPEST = 24


def _divided(one: Number, other: Number) -> Number:
    """As C does: whole numbers are cut towards zero. Raises ZeroDivisionError."""
    if isinstance(one, int) and isinstance(other, int):
        return abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
    return one / other


_BINARY: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_WHOLE: Mapping[str, Callable[[int, int], int]] = {
    "%": lambda one, other: one - other * int(_divided(one, other)),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": lambda one, other: one << min(max(other, 0), 64),
    ">>": lambda one, other: one >> min(max(other, 0), 64),
}
_CALLS: Mapping[str, Callable[..., Number]] = {
    **dict.fromkeys(("min", "std::min", "fminf", "fmin", "umin"), min),
    **dict.fromkeys(("max", "std::max", "fmaxf", "fmax", "umax"), max),
    **dict.fromkeys(("ceil", "ceilf", "std::ceil"), lambda one: float(math.ceil(one))),
    **dict.fromkeys(("floor", "floorf", "std::floor"), lambda one: float(math.floor(one))),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("int", "unsigned", "size_t", "long"), int),
    **dict.fromkeys(("abs", "std::abs"), abs),
}


class Numbers:
    """Numbers in one function. `values` are those of its parameters, template parameters and built-in variables."""

    def __init__(self, flow: Flow, values: Mapping[str, Number]) -> None:
        self.flow = flow
        self.values = values

    def of(self, node: Node | None, depth: int = 0) -> Number | None:
        """The value of an expression; None where it is not known."""
        if node is None or depth > _DEEPEST:
            return None
        try:
            return self._of(node, depth + 1)
        except (ArithmeticError, ValueError):
            return None

    def whole(self, node: Node | None) -> int | None:
        found = self.of(node)
        return found if isinstance(found, int) else None

    def dims(self, node: Node | None, depth: int = 0) -> Dims:
        """The sizes of a grid or block: a number, `dim3(…)`, or a variable that is made with either."""
        if node is None or depth > _DEEPEST:
            return None, None, None
        node = self.flow.unwrapped(node)
        if node.type == "identifier":
            variable = self.flow.variable(node)
            if variable is not None and not variable.is_parameter and "dim3" in self.flow.content(variable.declaration):
                return self._made(node, depth)
        if node.type in ("call_expression", "compound_literal_expression") and self.flow.content(node).startswith(
            "dim3"
        ):
            return self._sizes(field(node, "arguments") or field(node, "value"))
        if node.type in ("argument_list", "initializer_list"):
            return self._sizes(node)
        found = self.of(node, depth)
        return int(found) if found is not None else None, 1, 1

    def _made(self, node: Node, depth: int) -> Dims:
        variable = self.flow.variable(node)
        writes = self.flow.writes(variable) if variable is not None else ()
        if variable is None or len(writes) > 1:
            return None, None, None
        if writes:
            return self.dims(writes[0].value, depth + 1)
        listed = next(of_type(variable.declaration, "parameter_list"), None)  # dim3 grid(m, n); reads as a function
        if listed is None:
            return (1, 1, 1) if variable.declaration.named_child_count == 2 else (None, None, None)
        sizes = [self.named(self.flow.content(one), variable.declaration) for one in listed.named_children]
        return _three(sizes)

    def named(self, name: str, place: Node) -> Number | None:
        """The value of a name where only its text is at hand."""
        seen = [one for one in self.flow.variables.get(name, ()) if one.node.start_byte < place.start_byte]
        return self._variable(seen[-1].node, 0) if seen else self._outside(name)

    def _sizes(self, listed: Node | None) -> Dims:
        return _three([self.of(one) for one in listed.named_children] if listed is not None else [None])

    def _of(self, node: Node, depth: int) -> Number | None:
        content = self.flow.content
        match node.type:
            case "number_literal":
                return _literal(content(node))
            case "true" | "false":
                return _WORDS[node.type]
            case "identifier":
                return self._variable(node, depth)
            case "parenthesized_expression" | "condition_clause" if node.named_child_count == 1:
                return self.of(node.named_children[0], depth)
            case "field_expression":
                return self._field(node, depth)
            case "unary_expression":
                return self._unary(node, depth)
            case "binary_expression":
                return self._binary(node, depth)
            case "conditional_expression":
                test = self.of(field(node, "condition"), depth)
                return None if test is None else self.of(field(node, "consequence" if test else "alternative"), depth)
            case "cast_expression":
                kind = field(node, "type")
                return _cast(content(kind) if kind is not None else "", self.of(field(node, "value"), depth))
            case "sizeof_expression":
                kind = field(node, "type")
                return SIZES.get(content(kind)) if kind is not None else None
            case "call_expression":
                return self._call(node, depth)
        return None

    def _variable(self, node: Node, depth: int) -> Number | None:
        name = self.flow.content(node)
        variable = self.flow.variable(node)
        if variable is None:
            return self._outside(name)
        if variable.is_parameter:
            return None if self.flow.writes(variable) else self.values.get(name)
        value = self.flow.value(variable)
        if value is None:
            return self.values.get(f"{name}@{variable.node.start_byte}")
        found = self.of(value, depth)
        is_float = self.flow.content(variable.declaration).split(name)[0].strip().endswith(("float", "double"))
        return int(found) if isinstance(found, float) and not is_float else found

    def _outside(self, name: str) -> Number | None:
        return self.values.get(name, _WORDS.get(name, self.flow.file.number(name)))

    def _field(self, node: Node, depth: int) -> Number | None:
        text = re.sub(r"\s+", "", self.flow.content(node))
        if text in self.values:
            return self.values[text]
        argument, name = field(node, "argument"), field(node, "field")
        if argument is None or name is None or argument.type != "identifier" or text[-2:] not in (".x", ".y", ".z"):
            return None
        variable = self.flow.variable(argument)
        if variable is None or "dim3" not in self.flow.content(variable.declaration):
            return None
        return self.dims(argument, depth)["xyz".index(text[-1])]

    def _unary(self, node: Node, depth: int) -> Number | None:
        found = self.of(field(node, "argument"), depth)
        if found is None:
            return None
        match self.flow.content(node)[0]:
            case "-":
                return -found
            case "!":
                return int(not found)
            case "+":
                return found
        return None

    def _binary(self, node: Node, depth: int) -> Number | None:
        one = self.of(field(node, "left"), depth)
        sign = field(node, "operator")
        symbol = self.flow.content(sign) if sign is not None else ""
        if symbol in ("&&", "||") and one is not None and bool(one) is (symbol == "||"):
            return int(bool(one))
        other = self.of(field(node, "right"), depth)
        if symbol in ("&&", "||") and other is not None and bool(other) is (symbol == "||"):
            return int(bool(other))
        if one is None or other is None:
            return None
        if symbol in ("&&", "||"):
            return int(bool(other))
        if symbol in _BINARY:
            found = _BINARY[symbol](one, other)
            return int(found) if isinstance(found, bool) else found
        return (
            _WHOLE[symbol](one, other) if symbol in _WHOLE and isinstance(one, int) and isinstance(other, int) else None
        )

    def _call(self, node: Node, depth: int) -> Number | None:
        callee, arguments = field(node, "function"), field(node, "arguments")
        if callee is None or arguments is None:
            return None
        given = [self.of(one, depth) for one in arguments.named_children if one.type != "comment"]
        numbers = [one for one in given if one is not None]
        if not given or len(numbers) < len(given):
            return None
        if callee.type == "template_function":
            name, kinds = field(callee, "name"), field(callee, "arguments")
            if name is not None and kinds is not None and self.flow.content(name) == "static_cast":
                return _cast(self.flow.content(kinds)[1:-1], numbers[0])
        name = field(callee, "name") if callee.type == "template_function" else callee
        text = self.flow.content(name) if name is not None else ""
        if text in _CALLS:
            return _CALLS[text](*numbers)
        return self._helper(text, numbers, depth)

    def _helper(self, name: str, given: list[Number], depth: int) -> Number | None:
        """What a macro stands for, or a function returns that is one `return`."""
        file = self.flow.file if self.flow.file.function(name) is not None else self.flow.file.macros
        function = file.function(name)
        if function is None or len(function.parameters) != len(given):
            return None
        statements = [one for one in function.body.named_children if one.type != "comment"]
        if len(statements) != 1 or statements[0].type != "return_statement" or not statements[0].named_children:
            return None
        values = dict(zip((one.name for one in function.parameters), given, strict=True))
        return Numbers(Flow(file, function), values).of(statements[0].named_children[0], depth)


def _literal(written: str) -> Number | None:
    match = re.match(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*$", written.replace("'", ""))
    if match:
        return int(match[1], 0) if match[1][:1] != "0" or match[1][1:2] in ("x", "X") else int(match[1], 8)
    return float(written.rstrip("fFlL")) if _FLOAT.match(written) else None


def _cast(kind: str, value: Number | None) -> Number | None:
    kind = kind.strip()
    if value is None or kind.endswith("*"):
        return None
    return float(value) if kind in ("float", "double") else int(value)


def _three(sizes: list[Number | None]) -> Dims:
    whole = [int(one) if one is not None else None for one in sizes][:3]
    while len(whole) < 3:
        whole.append(1)
    return whole[0], whole[1], whole[2]
