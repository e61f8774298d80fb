"""What expressions of a kernel come to, and the accesses to memory that they make on the way."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from kernelwright.indices.memory import Access, Array, Launched, TooMuch
from kernelwright.indices.terms import Term, Terms
from kernelwright.indices.typed import BOOL, INT, LONG, UNSIGNED, Arithmetic, Integer, Value, integer_type
from kernelwright.source.cuda.definitions import File
from kernelwright.source.cuda.numbers import SIZES
from kernelwright.source.cuda.text import field, walk
from kernelwright.source.cuda.variables import parts, plain

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)$")
_BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])$")
_POINTER = re.compile(r"(.*[^*&\s])\s*\*(?:\s*(?:const|__restrict__|__restrict|volatile))*$")
_CASTS = ("static_cast", "const_cast", "reinterpret_cast")
_MOST = 20_000  # nodes evaluated for one kernel

LOCAL = "of the thread"
"""What an array that each thread has for itself points to: nothing that others see."""

_NONE = Value(Terms().number(0))

Place = tuple[Array, Term, str, int]  # the array, the distance in bytes, the type of the element, its size


class Expressions:
    """Evaluates expressions in order, with the variables as they are at this point.

    `env` holds the variables by name, `path` the conditions under which this point is reached, `phase` how many barriers
    lie before it.
    """

    def __init__(self, file: File, launched: Launched) -> None:
        self.file = file
        self.launched = launched
        self.terms = Terms()
        self.math = Arithmetic(self.terms)
        self.env: dict[str, Value] = {}
        self.kinds: dict[str, str] = {}  # the types of variables as declared
        self.arrays: dict[str, Array] = {}
        self.sizes: dict[str, tuple[int, ...]] = {}  # of shared arrays with several dimensions
        self.path: tuple[Term, ...] = ()
        self.phase: Term = self.terms.number(0)
        self.accesses: list[Access] = []
        self.missed: set[int] = set()  # where accesses begin whose array is not known
        self.is_partial = False  # something was not read that may access memory
        self.is_quiet = False
        self._left = _MOST

    def content(self, node: Node) -> str:
        return self.file.source.content(node)

    def value(self, node: Node) -> Value:
        """The value of an expression; its accesses are recorded."""
        self._left -= 1
        if self._left < 0:
            raise TooMuch
        match node.type:
            case "number_literal":
                return self._literal(self.content(node))
            case "true" | "false":
                return self.math.integer(int(node.type == "true"), BOOL)
            case "identifier":
                single = self.place(node)
                return self.record(node, single, "load") if single is not None else self._named(self.content(node))
            case "parenthesized_expression" | "condition_clause" if node.named_child_count == 1:
                return self.value(node.named_children[0])
            case "field_expression":
                return self._field(node)
            case "binary_expression":
                return self._binary(node)
            case "unary_expression":
                return self._unary(node)
            case "update_expression":
                return self._update(node)
            case "assignment_expression":
                return self._assignment(node)
            case "conditional_expression":
                return self._conditional(node)
            case "cast_expression":
                return self._cast(field(node, "type"), self._part(node, "value"))
            case "sizeof_expression":
                return self._sizeof(node)
            case "subscript_expression":
                return self._loaded(node)
            case "pointer_expression":
                return self._pointer(node)
            case "call_expression":
                return self.call(node)
            case "gnu_asm_expression":
                self.is_partial = True
                self.forget(*(self.content(one) for one in walk(node) if one.type == "identifier"))
                self.phase = self.terms.fresh("phase")
                return Value(self.terms.fresh("assembly"))
            case "lambda_expression":
                self.is_partial = True
                return Value(self.terms.fresh("lambda"))
        values = [self.value(one) for one in node.named_children if one.type != "comment"]
        return self.math.unknown(node.type, *values)

    def condition(self, node: Node) -> Term:
        return self.math.truth(self.value(node))

    def under(self, condition: Term, node: Node) -> Value:
        """The value of an expression that is evaluated only where a condition holds."""
        before, path = dict(self.env), self.path
        self.path = (*path, condition)
        found = self.value(node)
        self.path = path
        for name, value in self.env.items():
            if before.get(name) is not value:
                self.env[name] = self.math.chosen(condition, value, before.get(name, value))
        return found

    def kind_of(self, written: str) -> Integer | None:
        return integer_type(self.launched.types.get(written, written), self.file.aliases)

    def size_of(self, written: str) -> int | None:
        written = " ".join(re.sub(r"\b(?:const|volatile|__restrict__)\b", "", written).split())
        written = self.launched.types.get(written, written)
        return SIZES.get(self.file.aliases.get(written, written))

    def declared_as(self, value: Value, written: str) -> Value:
        """The value as a variable of this type holds it; "" and `auto` keep it."""
        if written in ("", "auto", "const auto"):
            return value
        kind = self.kind_of(written)
        if kind is not None:
            return self.math.converted(value, kind)
        return Value(value.term if not value.term.is_known else self.terms.unknown("converted", (value.term,)))

    def place(self, node: Node) -> Place | None:
        """The memory that an expression stands for, None where it is a variable or not followed."""
        match node.type:
            case "parenthesized_expression" if node.named_child_count == 1:
                return self.place(node.named_children[0])
            case "subscript_expression":
                return self._subscripted(node)
            case "pointer_expression" if node.children[0].type == "*":
                return self.pointed(self._part(node, "argument"))
            case "identifier" if self.content(node) in self.sizes and not self.sizes[self.content(node)]:
                return self.pointed(self.env[self.content(node)])
        return None

    def pointed(self, pointer: Value) -> Place | None:
        size = self.size_of(pointer.pointee) if pointer.is_pointer else None
        return (self.arrays[pointer.base], pointer.term, pointer.pointee, size) if size is not None else None

    def record(self, node: Node, place: Place | None, kind: str, value: Value | None = None) -> Value:
        """Note an access and give what it reads."""
        if place is None:
            self.missed |= set() if self._is_local(node) else {node.start_byte}
            return Value(self.terms.fresh("not followed"))
        array, offset, pointee, size = place
        if not self.is_quiet:
            self.accesses.append(
                Access(
                    node, array, kind, offset, size, self.path, self.phase, value.term if value is not None else None
                )
            )
        return Value(self.terms.unknown(f"load {array.name}", (offset,)), self.kind_of(pointee))

    def _is_local(self, node: Node) -> bool:
        """Whether it is an element of an array of the thread's own."""
        base, _ = parts(node)
        return base is not None and base != node and self.env.get(self.content(base), _NONE).pointee == LOCAL

    def stored(self, node: Node, kind: str, value: Value) -> bool:
        """Give what an expression stands for a value; whether it is memory."""
        if node.type == "parenthesized_expression" and node.named_child_count == 1:
            return self.stored(node.named_children[0], kind, value)
        if node.type == "field_expression" and (argument := field(node, "argument")) is not None:
            return self.stored(argument, "store" if kind == "store" else kind, self.math.unknown("part", value))
        if node.type == "identifier" and self.content(node) not in self.sizes:
            name = self.content(node)
            self.env[name] = self.declared_as(value, self.kinds.get(name, ""))
            return False
        place = self.place(node)
        self.record(node, place, kind, value)
        return True

    def forget(self, *names: str) -> None:
        """Variables that something which is not followed may have changed."""
        for name in names:
            if name in self.env:
                self.env[name] = Value(self.terms.fresh(name), self.env[name].kind)

    def call(self, node: Node) -> Value:
        """Evaluate a call; see `calls.py`, whose class builds on this one."""
        raise NotImplementedError

    def _part(self, node: Node, name: str) -> Value:
        found = field(node, name)
        return self.value(found) if found is not None else Value(self.terms.fresh("missing"))

    def _literal(self, written: str) -> Value:
        match = _INTEGER.match(written.replace("'", ""))
        if match is None:
            return self.math.unknown(f"number {written}")
        digits, suffix = match[1], match[2].lower()
        number = int(digits, 8 if len(digits) > 1 and digits.isdigit() and digits[0] == "0" else 0)
        bits = 64 if "l" in suffix or number >= 1 << 32 else 32
        signed = "u" not in suffix and number < 1 << (bits - 1)
        return self.math.integer(number, Integer(bits, signed))

    def _named(self, name: str) -> Value:
        if name in self.env:
            return self.env[name]
        if name == "warpSize":
            return self.math.integer(32)
        match = _BUILT_IN.match(plain(self.file.constants.get(name, "").strip("()")))
        if match is not None:
            return self._built_in(match[1], match[2])
        number = self.file.number(name) if name in self.file.constants else None
        return self.math.integer(number) if number is not None and abs(number) < 1 << 31 else self.math.unknown(name)

    def _built_in(self, name: str, axis: str) -> Value:
        number = "xyz".index(axis)
        dims = self.launched.grid if name in ("blockIdx", "gridDim") else self.launched.block
        if name.endswith("Dim"):
            return self.math.integer(dims[number], UNSIGNED)
        return Value(self.terms.variable(f"{name}.{axis}", 0, dims[number] - 1), UNSIGNED)

    def _field(self, node: Node) -> Value:
        written = plain(self.content(node))
        match = _BUILT_IN.match(written)
        if match is not None:
            return self._built_in(match[1], match[2])
        return self.math.unknown(f"field {written.rpartition('.')[2]}", self._part(node, "argument"))

    def _binary(self, node: Node) -> Value:
        left, right, operator = field(node, "left"), field(node, "right"), field(node, "operator")
        if left is None or right is None or operator is None:
            return Value(self.terms.fresh("missing"))
        sign, one = self.content(operator), self.value(left)
        if sign in ("&&", "||"):
            first = self.math.truth(one)
            second = self.math.truth(self.under(first if sign == "&&" else self.terms.negated(first), right))
            join = self.terms.both if sign == "&&" else self.terms.either
            return Value(join(first, second), BOOL)
        return self._computed(sign, one, self.value(right))

    def _computed(self, sign: str, one: Value, other: Value) -> Value:
        if sign == "+" and other.is_pointer and not one.is_pointer:
            one, other = other, one
        if one.is_pointer and sign in ("+", "-") and other.kind is not None and not other.is_pointer:
            return self.moved(one, other, -1 if sign == "-" else 1)
        return self.math.binary(sign, one, other)

    def moved(self, pointer: Value, by: Value, direction: int = 1) -> Value:
        """The pointer some elements further on."""
        size = self.size_of(pointer.pointee)
        if size is None or by.kind is None or not by.term.is_known or not pointer.term.is_known:
            return Value(self.terms.unknown("+", (pointer.term, by.term)), None, pointer.base, pointer.pointee)
        distance = self.terms.multiply(by.term, self.terms.number(size * direction))
        return Value(self.terms.add(pointer.term, distance), None, pointer.base, pointer.pointee)

    def _unary(self, node: Node) -> Value:
        found, sign = self._part(node, "argument"), self.content(node)[0]
        if sign == "!":
            return Value(self.terms.negated(self.math.truth(found)), BOOL)
        if sign == "-" and found.kind is not None:
            return self.math.binary("-", self.math.integer(0), found)
        return found if sign == "+" else self.math.unknown(sign, found)

    def _update(self, node: Node) -> Value:
        argument = field(node, "argument")
        if argument is None:
            return Value(self.terms.fresh("missing"))
        sign, is_before = ("+" if "++" in self.content(node) else "-"), node.children[0] != argument
        if argument.type != "identifier" or self.content(argument) in self.sizes:
            self.stored(argument, "update", self.math.unknown("updated"))
            return Value(self.terms.fresh("updated"))
        old = self.value(argument)
        new = self._computed(sign, old, self.math.integer(1))
        self.stored(argument, "store", new)
        return self.env[self.content(argument)] if is_before else old

    def _assignment(self, node: Node) -> Value:
        left, right, operator = field(node, "left"), field(node, "right"), field(node, "operator")
        if left is None or right is None:
            return Value(self.terms.fresh("missing"))
        sign = self.content(operator) if operator is not None else "="
        value = self.value(right)
        if sign == "=":
            self.stored(left, "store", value)
            return value
        if left.type == "identifier" and self.content(left) not in self.sizes:
            value = self._computed(sign[:-1], self.value(left), value)
            self.stored(left, "store", value)
            return value
        self.stored(left, "update", value)
        return Value(self.terms.fresh("updated"))

    def _conditional(self, node: Node) -> Value:
        test, one, other = (field(node, name) for name in ("condition", "consequence", "alternative"))
        if test is None or one is None or other is None:
            return Value(self.terms.fresh("missing"))
        condition = self.condition(test)
        first, second = self.under(condition, one), self.under(self.terms.negated(condition), other)
        if first.kind is not None and second.kind is not None and first.kind != second.kind:
            zero = self.math.integer(0)
            kind = self.math.binary("+", self.math.binary("+", first, zero), self.math.binary("+", second, zero)).kind
            first, second = (self.math.converted(value, kind or INT) for value in (first, second))
        return self.math.chosen(condition, first, second)

    def _cast(self, kind: Node | None, value: Value) -> Value:
        return self.cast(self.content(kind) if kind is not None else "", value)

    def cast(self, written: str, value: Value) -> Value:
        match = _POINTER.match(written)
        if match is not None:
            if not value.is_pointer:
                return self.math.unknown("cast", value)
            return Value(
                value.term, None, value.base, " ".join(re.sub(r"\b(?:const|volatile)\b", "", match[1]).split())
            )
        return value if value.is_pointer and "intptr" in written else self.declared_as(value, written)

    def _sizeof(self, node: Node) -> Value:
        kind = field(node, "type")
        if kind is None and (inner := field(node, "value")) is not None:
            kind = inner.named_children[0] if inner.type == "parenthesized_expression" else inner
        size = self.size_of(self.content(kind)) if kind is not None else None
        return self.math.integer(size, Integer(64, False)) if size is not None else self.math.unknown("sizeof")

    def _loaded(self, node: Node) -> Value:
        base, indices = parts(node)
        name = self.content(base) if base is not None else ""
        if base is not None and len(self.sizes.get(name, ())) == len(indices) + 1 and name in self.sizes:
            place = self._of_array(name, [*map(self.value, indices), self.math.integer(0)])
            return Value(place[1], None, name, place[2]) if place else Value(self.terms.fresh("row"))
        return self.record(node, self.place(node), "load")

    def _subscripted(self, node: Node) -> Place | None:
        base, indices = parts(node)
        if base is None or not indices:
            return None
        name = self.content(base)
        if base.type == "identifier" and name in self.sizes:
            return self._of_array(name, [self.value(one) for one in indices])
        pointer = self.value(base)
        values = [self.value(one) for one in indices]
        return self.pointed(self.moved(pointer, values[0])) if pointer.is_pointer and len(values) == 1 else None

    def _of_array(self, name: str, indices: Sequence[Value]) -> Place | None:
        """An element of a shared array, whose rows lie in one piece."""
        array, sizes = self.env[name], self.sizes[name]
        if len(indices) != len(sizes) or not array.is_pointer:
            return None
        flat = self.math.converted(indices[0], LONG)
        for index, size in zip(indices[1:], sizes[1:], strict=True):
            flat = self.math.binary("*", flat, self.math.integer(size, LONG))
            flat = self.math.binary("+", flat, self.math.converted(index, LONG))
        return self.pointed(self.moved(array, flat))

    def _pointer(self, node: Node) -> Value:
        argument = field(node, "argument")
        if argument is None:
            return Value(self.terms.fresh("missing"))
        if node.children[0].type == "*":
            return self.record(node, self.place(node), "load")
        place = self.place(argument)
        if place is not None:
            return Value(place[1], None, place[0].name, place[2])
        if argument.type == "identifier":
            self.forget(self.content(argument))
            self.is_partial = self.is_partial or node.parent is None or node.parent.type != "argument_list"
        return Value(self.terms.fresh("address"))
