"""Values of C++ as terms: integers of a width, pointers into arrays, and what is not modelled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.indices.terms import CONDITIONS, Term, Terms


@dataclass(frozen=True)
class Integer:
    """An integer type."""

    bits: int
    signed: bool


INT, UNSIGNED, LONG = Integer(32, True), Integer(32, False), Integer(64, True)
BOOL = Integer(1, False)

_TYPES: Mapping[str, Integer] = {
    "bool": BOOL,
    **dict.fromkeys(("char", "signed char", "int8_t"), Integer(8, True)),
    **dict.fromkeys(("unsigned char", "uint8_t", "uchar"), Integer(8, False)),
    **dict.fromkeys(("short", "int16_t"), Integer(16, True)),
    **dict.fromkeys(("unsigned short", "uint16_t", "ushort"), Integer(16, False)),
    **dict.fromkeys(("int", "signed", "signed int", "int32_t"), INT),
    **dict.fromkeys(("unsigned", "unsigned int", "uint", "uint32_t"), UNSIGNED),
    **dict.fromkeys(("long", "long int", "long long", "long long int", "int64_t", "ptrdiff_t", "ssize_t"), LONG),
    **dict.fromkeys(
        ("unsigned long", "unsigned long long", "uint64_t", "size_t", "unsigned long int"), Integer(64, False)
    ),
}
_WORDS = re.compile(r"\b(?:const|constexpr|static|volatile|register|std::|__restrict__)\s*|std::")


@dataclass(frozen=True, eq=False)
class Value:
    """What an expression comes to.

    `kind` is None where it is no integer, or not known to be one; then the term only says what the value was computed from. A
    pointer has the array that it leads into as `base`, what it points to as `pointee`, and its distance in bytes as term.
    """

    term: Term
    kind: Integer | None = None
    base: str = ""
    pointee: str = ""

    @property
    def is_pointer(self) -> bool:
        return self.base != ""


def integer_type(written: str, aliases: Mapping[str, str]) -> Integer | None:
    """The integer type of this name; None for all others."""
    kind = " ".join(_WORDS.sub("", written).split())
    kind = " ".join(_WORDS.sub("", aliases.get(kind, kind)).split())
    return _TYPES.get(kind)


def _common(a: Integer, b: Integer) -> Integer:
    """What two operands are converted to."""
    one, other = (kind if kind.bits >= 32 else INT for kind in (a, b))
    if one.bits != other.bits:
        return max(one, other, key=lambda kind: kind.bits)
    return Integer(one.bits, one.signed and other.signed)


class Arithmetic:
    """The operators of C++ on values."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def unknown(self, why: str, *values: Value) -> Value:
        return Value(self.terms.unknown(why, tuple(one.term for one in values)))

    def integer(self, number: int, kind: Integer = INT) -> Value:
        return Value(self.terms.number(number), kind)

    def converted(self, value: Value, kind: Integer) -> Value:
        if value.kind is None or value.is_pointer:
            return Value(
                value.term if not value.term.is_known else self.terms.unknown("converted", (value.term,)), kind
            )
        if kind == BOOL:
            return Value(self.truth(value), BOOL)
        return Value(self.terms.wrapped(_unwrapped(self.terms, value.term, kind), kind.bits, kind.signed), kind)

    def truth(self, value: Value) -> Term:
        """The condition that a value is as one."""
        term = value.term
        if term.operator in CONDITIONS or (value.kind == BOOL and term.number in (0, 1)):
            return term
        if value.kind is None or not term.is_known:
            return term if not term.is_known else self.terms.unknown("truth", (term,))
        return self.terms.negated(self.terms.equal(term, self.terms.number(0)))

    def chosen(self, condition: Term, a: Value, b: Value) -> Value:
        """Join the values of two branches."""
        if a is b or (a.term is b.term and a.kind == b.kind and a.base == b.base):
            return a
        if a.base != b.base or a.pointee != b.pointee or (a.kind is None) != (b.kind is None):
            return Value(self.terms.unknown("either", (condition, a.term, b.term)))
        if a.kind is None and not a.is_pointer:
            return Value(self.terms.unknown("either", (condition, a.term, b.term)))
        kind = a.kind if a.kind == b.kind or a.kind is None or b.kind is None else _common(a.kind, b.kind)
        if not (condition.is_known and a.term.is_known and b.term.is_known):
            return Value(self.terms.unknown("either", (condition, a.term, b.term)), kind, a.base, a.pointee)
        return Value(self.terms.choose(condition, a.term, b.term), kind, a.base, a.pointee)

    def binary(self, sign: str, a: Value, b: Value) -> Value:
        """Apply an operator that is not `&&`, `||` or an assignment; pointers are the caller's business."""
        if a.kind is None or b.kind is None or a.is_pointer or b.is_pointer:
            return self.unknown(sign, a, b)
        kind = _common(a.kind, b.kind)
        if sign in ("<<", ">>"):
            kind = _common(a.kind, INT)
            b = Value(b.term, kind)
        if not (a.term.is_known and b.term.is_known):
            is_condition = sign in ("<", "<=", ">", ">=", "==", "!=")
            return Value(self.terms.unknown(sign, (a.term, b.term)), BOOL if is_condition else kind)
        x, y = self.converted(a, kind).term, self.converted(b, kind).term
        terms = self.terms
        match sign:
            case "<":
                return Value(terms.less(x, y), BOOL)
            case "<=":
                return Value(terms.at_most(x, y), BOOL)
            case ">":
                return Value(terms.less(y, x), BOOL)
            case ">=":
                return Value(terms.at_most(y, x), BOOL)
            case "==":
                return Value(terms.equal(x, y), BOOL)
            case "!=":
                return Value(terms.negated(terms.equal(x, y)), BOOL)
        found = self._computed(sign, x, y)
        if found is None:
            return Value(terms.unknown(sign, (x, y)), kind)
        return self.converted(Value(found, kind), kind)

    def _computed(self, sign: str, x: Term, y: Term) -> Term | None:
        terms, number = self.terms, y.number
        match sign:
            case "+":
                return terms.add(x, y)
            case "-":
                return terms.subtract(x, y)
            case "*":
                return terms.multiply(x, y)
            case "/" if y.low > 0:
                return self._quotient(x, y)
            case "%" if y.low > 0:
                return terms.subtract(x, terms.multiply(self._quotient(x, y), y)) if x.low < 0 else terms.modulo(x, y)
            case "<<" if number is not None and 0 <= number < 63:
                return terms.multiply(x, terms.number(1 << number))
            case ">>" if number is not None and 0 <= number < 63 and x.low >= 0:
                return terms.divide(x, terms.number(1 << number))
            case "&" if x.number is not None and number is None:
                return self._computed(sign, y, x)
            case "&" if number is not None and number >= 0 and x.number is not None:
                return terms.number(x.number & number)
            case "&" if number is not None and number >= 0 and number & (number + 1) == 0:
                return terms.modulo(x, terms.number(number + 1))
            case "^" | "|" if number is not None and x.number is not None:
                return terms.number(x.number ^ number if sign == "^" else x.number | number)
            case "&" | "|" if x.operator in CONDITIONS and y.operator in CONDITIONS:
                return terms.both(x, y) if sign == "&" else terms.either(x, y)
        return None

    def _quotient(self, x: Term, y: Term) -> Term:
        """Divide as C++ does, towards zero."""
        terms = self.terms
        if x.low >= 0:
            return terms.divide(x, y)
        minus = terms.multiply(x, terms.number(-1))
        if x.high <= 0:
            return terms.multiply(terms.divide(minus, y), terms.number(-1))
        zero = terms.number(0)
        above = terms.divide(terms.choose(terms.less(x, zero), zero, _at_least_0(terms, x)), y)
        below = terms.divide(terms.choose(terms.less(x, zero), _at_least_0(terms, minus), zero), y)
        return terms.subtract(above, below)


def _at_least_0(terms: Terms, x: Term) -> Term:
    """A term that is used only where it is not negative: `x` itself in terms of a remainder, which says so of its range."""
    return terms.modulo(x, terms.number(max(x.high, -x.low, 1) + 1))


def _unwrapped(terms: Terms, term: Term, kind: Integer) -> Term:
    """The value before it was held by a type at least as wide, which makes no difference to what this one holds of it."""
    if term.operator == "+" and (shift := term.operands[1].number) is not None:
        inner = term.operands[0]
        if inner.operator == "%" and (size := inner.operands[1].number) is not None and size % (1 << kind.bits) == 0:
            return terms.add(inner.operands[0], terms.number(shift))
    if term.operator == "%" and (size := term.operands[1].number) is not None and size % (1 << kind.bits) == 0:
        return term.operands[0]
    return term
