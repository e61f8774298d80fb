"""Integer expressions with the ranges of their values: what indices and conditions of a kernel are made of.

A term is an integer, or 0 and 1 for a condition. `unknown` stands for a value that is not modelled, and keeps the terms that
it was computed from.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Environment = Mapping[str, int]

_ENDLESS = 1 << 80


@dataclass(frozen=True, eq=False)
class Term:
    """An operator with its operands. `low` and `high` bound its value; `is_known` is False where an unknown is part of it.

    Two terms that were made of the same parts are the same object, if the same `Terms` made them. Conditions are terms of
    `CONDITIONS`, or the constants 0 and 1.
    """

    operator: str
    operands: tuple["Term", ...]
    value: int
    name: str
    low: int
    high: int
    is_known: bool

    @property
    def number(self) -> int | None:
        return self.value if self.operator == "number" else None


CONDITIONS = frozenset(("<", "<=", "==", "&&", "||", "!"))


class Terms:
    """Makes terms, simplified where their operands are numbers or their ranges decide."""

    def __init__(self) -> None:
        self._made: dict[tuple[object, ...], Term] = {}
        self._count = 0

    def number(self, value: int) -> Term:
        return self._make("number", (), value, "", value, value)

    def variable(self, name: str, low: int, high: int) -> Term:
        """A name that stands for each of the numbers from `low` to `high`."""
        return self.number(low) if low == high else self._make("variable", (), 0, name, low, high)

    def unknown(self, why: str, operands: tuple[Term, ...] = ()) -> Term:
        """A value that is the same wherever `why` and the operands are."""
        return self._make(f"unknown {why}", operands, 0, "", -_ENDLESS, _ENDLESS)

    def fresh(self, why: str) -> Term:
        """A value that is never taken for the same as another one."""
        self._count += 1
        return self.unknown(f"{why} #{self._count}")

    def add(self, a: Term, b: Term) -> Term:
        if a.number is not None and b.number is not None:
            return self.number(a.number + b.number)
        if a.number is not None:
            a, b = b, a
        if b.number == 0:
            return a
        if b.number is not None and a.operator == "+" and (inner := a.operands[1].number) is not None:
            return self.add(a.operands[0], self.number(inner + b.number))
        return self._make("+", (a, b), 0, "", a.low + b.low, a.high + b.high)

    def subtract(self, a: Term, b: Term) -> Term:
        if a is b:
            return self.number(0)
        return (
            self.add(a, self.number(-b.number))
            if b.number is not None
            else self.add(a, self.multiply(b, self.number(-1)))
        )

    def multiply(self, a: Term, b: Term) -> Term:
        if a.number is not None and b.number is not None:
            return self.number(a.number * b.number)
        if a.number is not None:
            a, b = b, a
        if b.number in (0, 1):
            return self.number(0) if b.number == 0 else a
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return self._make("*", (a, b), 0, "", min(ends), max(ends))

    def divide(self, a: Term, b: Term) -> Term:
        """The quotient of numbers that are not negative, `b` being positive."""
        if a.number is not None and b.number is not None:
            return self.number(a.number // b.number)
        return a if b.number == 1 else self._make("/", (a, b), 0, "", a.low // b.high, a.high // b.low)

    def modulo(self, a: Term, b: Term) -> Term:
        """What the quotient leaves, from 0 up to `b`; `a` may be negative, `b` is positive."""
        if a.number is not None and b.number is not None:
            return self.number(a.number % b.number)
        if a.low >= 0 and a.high < b.low:
            return a
        return self._make("%", (a, b), 0, "", 0, b.high - 1)

    def less(self, a: Term, b: Term) -> Term:
        if a.high < b.low or a.low >= b.high:
            return self.number(int(a.high < b.low))
        return self._make("<", (a, b), 0, "", 0, 1)

    def at_most(self, a: Term, b: Term) -> Term:
        if a.high <= b.low or a.low > b.high:
            return self.number(int(a.high <= b.low))
        return self._make("<=", (a, b), 0, "", 0, 1)

    def equal(self, a: Term, b: Term) -> Term:
        if a is b or (a.number is not None and a.number == b.number):
            return self.number(1)
        if a.high < b.low or b.high < a.low:
            return self.number(0)
        return self._make("==", (a, b), 0, "", 0, 1)

    def both(self, a: Term, b: Term) -> Term:
        if a.number is not None:
            return b if a.number else a
        if b.number is not None:
            return a if b.number else b
        return a if a is b else self._make("&&", (a, b), 0, "", 0, 1)

    def either(self, a: Term, b: Term) -> Term:
        if a.number is not None:
            return a if a.number else b
        if b.number is not None:
            return b if b.number else a
        return a if a is b else self._make("||", (a, b), 0, "", 0, 1)

    def negated(self, a: Term) -> Term:
        if a.number is not None:
            return self.number(int(not a.number))
        return a.operands[0] if a.operator == "!" else self._make("!", (a,), 0, "", 0, 1)

    def choose(self, condition: Term, a: Term, b: Term) -> Term:
        """`a` where the condition holds, else `b`."""
        if condition.number is not None:
            return a if condition.number else b
        if a is b:
            return a
        return self._make("?", (condition, a, b), 0, "", min(a.low, b.low), max(a.high, b.high))

    def wrapped(self, a: Term, bits: int, signed: bool) -> Term:
        """The value as an integer type holds it."""
        low = -(1 << bits - 1) if signed else 0
        high = low + (1 << bits) - 1
        if low <= a.low and a.high <= high:
            return a
        size, shift = self.number(1 << bits), self.number(-low)
        return self.subtract(self.modulo(self.add(a, shift), size), shift)

    def replaced(self, term: Term, names: Mapping[str, Term], seen: dict[int, Term] | None = None) -> Term:
        """The term with others in the place of variables."""
        seen = {} if seen is None else seen
        if id(term) not in seen:
            operands = tuple(self.replaced(one, names, seen) for one in term.operands)
            if term.operator == "variable":
                seen[id(term)] = names.get(term.name, term)
            elif all(one is other for one, other in zip(operands, term.operands, strict=True)):
                seen[id(term)] = term
            else:
                seen[id(term)] = self._make(term.operator, operands, term.value, term.name, term.low, term.high)
        return seen[id(term)]

    def _make(self, operator: str, operands: tuple[Term, ...], value: int, name: str, low: int, high: int) -> Term:
        key = (operator, value, name, *(id(one) for one in operands))
        if key not in self._made:
            is_known = not operator.startswith("unknown") and all(one.is_known for one in operands)
            self._made[key] = Term(operator, operands, value, name, low, high, is_known)
        return self._made[key]


def variables(*terms: Term) -> dict[str, Term]:
    """The variables in terms by name."""
    found, seen, waiting = dict[str, Term](), set[int](), list(terms)
    while waiting:
        term = waiting.pop()
        if id(term) not in seen:
            seen.add(id(term))
            waiting += term.operands
            if term.operator == "variable":
                found[term.name] = term
    return found


def evaluate(term: Term, at: Environment, seen: dict[int, int] | None = None) -> int:
    """The value of a known term with numbers for its variables. Raises KeyError without one, ZeroDivisionError."""
    seen = {} if seen is None else seen
    if id(term) in seen:
        return seen[id(term)]
    if term.operator == "number":
        return term.value
    if term.operator == "variable":
        return at[term.name]
    if term.operator == "?":
        condition, one, other = term.operands
        found = evaluate(one if evaluate(condition, at, seen) else other, at, seen)
    else:
        found = _EVALUATED[term.operator](*(evaluate(one, at, seen) for one in term.operands))
    seen[id(term)] = int(found)
    return seen[id(term)]


_EVALUATED: Mapping[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
    "!": lambda a: not a,
}
