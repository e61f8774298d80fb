"""Asks z3 for numbers that fulfil conditions. The only file that loads it."""

import time
from collections.abc import Iterable
from typing import Any

import z3

from kernelwright.indices.terms import CONDITIONS, Environment, Term, evaluate, variables

_PER_QUESTION = 100  # milliseconds
_PER_KERNEL = 1.5  # seconds


class Solver:
    """Answers questions until the time of a kernel, or that of the whole text, is up."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._pause = self._end
        self._context = z3.Context()
        self._made: dict[int, Any] = {}
        self._kept: list[Term] = []  # what ids of terms stand for

    def begin(self) -> None:
        """Give the next kernel its share of the time."""
        self._made, self._kept, self._context = {}, [], z3.Context()
        self._pause = min(self._end, time.monotonic() + _PER_KERNEL)

    def example(self, conditions: Iterable[Term]) -> Environment | bool:
        """Numbers for the variables for which all conditions hold, looked over in plain arithmetic.

        False where there are none, True where that is not decided in time.
        """
        asked = tuple(conditions)
        left = int((self._pause - time.monotonic()) * 1000)
        if left <= 0:
            return True
        solver = z3.Solver(ctx=self._context)
        solver.set("timeout", min(left, _PER_QUESTION))
        named = variables(*asked)
        for term in named.values():
            solver.add(self._of(term) >= term.low, self._of(term) <= term.high)
        for one in asked:
            solver.add(self._condition(one))
        answer = solver.check()
        if answer == z3.unsat:
            return False
        if answer != z3.sat:
            return True
        model = solver.model()
        found = {name: model.eval(self._of(term), model_completion=True).as_long() for name, term in named.items()}
        return found if _holds(asked, named, found) else True

    def _condition(self, term: Term) -> Any:
        if term.operator == "number":
            return z3.BoolVal(bool(term.value), ctx=self._context)
        return self._of(term) if term.operator in CONDITIONS else self._of(term) != 0

    def _number(self, term: Term) -> Any:
        return z3.If(self._of(term), *self._ends) if term.operator in CONDITIONS else self._of(term)

    @property
    def _ends(self) -> tuple[Any, Any]:
        return z3.IntVal(1, ctx=self._context), z3.IntVal(0, ctx=self._context)

    def _of(self, term: Term) -> Any:
        if id(term) not in self._made:
            self._kept.append(term)
            self._made[id(term)] = self._make(term)
        return self._made[id(term)]

    def _make(self, term: Term) -> Any:
        match term.operator:
            case "number":
                return z3.IntVal(term.value, ctx=self._context)
            case "variable":
                return z3.Int(term.name, ctx=self._context)
            case "&&":
                return z3.And(*map(self._condition, term.operands))
            case "||":
                return z3.Or(*map(self._condition, term.operands))
            case "!":
                return z3.Not(self._condition(term.operands[0]))
            case "?":
                return z3.If(self._condition(term.operands[0]), *map(self._number, term.operands[1:]))
        a, b = map(self._number, term.operands)
        match term.operator:
            case "+":
                return a + b
            case "*":
                return a * b
            case "/":
                return a / b  # of integers: the floor, as `divisor` is positive
            case "%":
                return a % b
            case "<":
                return a < b
            case "<=":
                return a <= b
        return a == b


def _holds(conditions: Iterable[Term], named: dict[str, Term], found: Environment) -> bool:
    """Whether an example is one, by arithmetic in Python: an answer of z3 is never taken on trust."""
    if any(not term.low <= found[name] <= term.high for name, term in named.items()):
        return False
    try:
        return all(evaluate(one, found) for one in conditions)
    except (KeyError, ZeroDivisionError):
        return False
