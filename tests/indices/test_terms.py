"""Terms are what C++ computes: simplified, wrapped, and as z3 has them."""

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.indices.asking import Solver
from kernelwright.indices.terms import Term, Terms, evaluate, variables
from kernelwright.indices.typed import INT, LONG, UNSIGNED, Arithmetic, Integer, Value

TYPES = st.sampled_from([INT, UNSIGNED, LONG, Integer(64, False), Integer(16, False), Integer(8, True)])
SIGNS = ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&")


def held(number: int, kind: Integer) -> int:
    number %= 1 << kind.bits
    return number - (1 << kind.bits) if kind.signed and number >> (kind.bits - 1) else number


def common(a: Integer, b: Integer) -> Integer:
    one, other = (kind if kind.bits >= 32 else INT for kind in (a, b))
    if one.bits == other.bits:
        return Integer(one.bits, one.signed and other.signed)
    return one if one.bits > other.bits else other


def computed(sign: str, a: int, b: int) -> int:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    return int({"+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - quotient * b, "&": a & b, "<": a < b, "<=": a <= b,
                ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[sign])  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(SIGNS), TYPES, TYPES, st.integers(-(1 << 40), 1 << 40), st.integers(-300, 1 << 33), st.booleans()
)
def test_an_operator_comes_to_what_the_language_says(
    sign: str, one: Integer, other: Integer, x: int, y: int, is_symbol: bool
) -> None:
    terms = Terms()
    math = Arithmetic(terms)
    x, y = held(x, one), held(y, other)
    left = terms.variable("x", x - 3, x + 5) if is_symbol else terms.number(x)
    found = math.binary(sign, Value(math.converted(Value(left, one), one).term, one), Value(terms.number(y), other))
    kind = common(one, other)
    a, b = held(x, kind), held(y, kind)
    if not found.term.is_known:
        assert sign in ("/", "%", "&")  # a divisor that may be 0, a mask that is none
        return
    expected = computed(sign, a, b)
    result = held(expected, kind) if sign not in ("<", "<=", ">", ">=", "==", "!=") else expected
    assert evaluate(found.term, {"x": x}) == result
    assert found.term.low <= result <= found.term.high


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_z3_and_python_agree(data: st.DataObject) -> None:
    terms = Terms()
    names = {"a": terms.variable("a", 0, 40), "b": terms.variable("b", -9, 7)}

    def term(depth: int) -> Term:
        if depth == 0 or data.draw(st.booleans()):
            return data.draw(st.sampled_from([*names.values(), terms.number(data.draw(st.integers(-5, 9)))]))
        one, other = term(depth - 1), term(depth - 1)
        modulus = terms.number(data.draw(st.integers(1, 9)))
        kinds = [terms.add, terms.multiply, terms.subtract, lambda x, _: terms.modulo(x, modulus)]
        kinds += [
            lambda x, y: terms.choose(terms.less(x, y), y, x),
            lambda x, _: terms.divide(terms.modulo(x, modulus), modulus),
        ]
        return data.draw(st.sampled_from(kinds))(one, other)

    whole = term(3)
    at = {"a": data.draw(st.integers(0, 40)), "b": data.draw(st.integers(-9, 7))}
    value = evaluate(whole, at)
    assert whole.low <= value <= whole.high
    solver = Solver(60)
    solver.begin()
    fixed = [terms.equal(term_, terms.number(at[name])) for name, term_ in names.items()]
    example = solver.example([*fixed, terms.equal(whole, terms.number(value))])
    assert isinstance(example, dict) or not variables(*fixed)
    assert solver.example([*fixed, terms.negated(terms.equal(whole, terms.number(value)))]) is False


def test_the_same_parts_make_the_same_term() -> None:
    terms = Terms()
    i = terms.variable("i", 0, 9)
    assert terms.add(i, terms.number(1)) is terms.add(i, terms.number(1))
    assert terms.subtract(i, i).number == 0
    assert terms.fresh("x") is not terms.fresh("x")
    assert terms.less(i, terms.number(10)).number == 1
    assert terms.wrapped(i, 32, True) is i


def test_an_answer_that_does_not_hold_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = Terms()
    i = terms.variable("i", 0, 9)
    solver = Solver(60)
    solver.begin()
    assert solver.example([terms.equal(i, terms.number(7))]) == {"i": 7}
    assert solver.example([terms.equal(terms.multiply(i, terms.number(2)), terms.number(7))]) is False
    monkeypatch.setattr(solver, "_condition", lambda term: z3.BoolVal(True, ctx=solver._context))
    assert solver.example([terms.less(i, terms.number(5)), terms.less(terms.number(5), i)]) is True  # said, and not so
