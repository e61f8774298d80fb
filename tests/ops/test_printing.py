"""Meanings as text: brackets where they are needed, and the numbers of torch's signatures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.ops import canonical_name, flops, signature
from kernelwright.ops.expression import Apply, Const, Expr, Var, parse
from kernelwright.ops.primitives import ATOM, PRIMITIVES, torch_text, triton_text, truths

SIGNS = sorted(name for name, primitive in PRIMITIVES.items() if primitive.precedence != ATOM)


def nodes(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    count = {name: PRIMITIVES[name].triton.count("{") for name in SIGNS}
    return st.sampled_from(SIGNS).flatmap(
        lambda name: st.tuples(*[children] * count[name]).map(lambda arguments: Apply(name, arguments))
    )


EXPRESSIONS = st.recursive(st.sampled_from([Var("a"), Var("b"), Const(2.0)]), nodes, max_leaves=12)


@given(EXPRESSIONS)
def test_printed_operators_read_as_the_same_expression(expr: Expr) -> None:
    text = triton_text(expr, {"a": "a", "b": "b"})
    assert parse(text) == expr
    assert torch_text(expr, {"a": "a", "b": "b"}) == text


@pytest.mark.parametrize(
    ("meaning", "triton", "torch"),
    [
        ("a - (b - a)", "a - (b - a)", "a - (b - a)"),
        ("(a * b) * (a * b)", "(a * b) * (a * b)", "(a * b) * (a * b)"),
        ("-exp(a) / 2.0", "-tl.exp(a) / 2.0", "-torch.exp(a) / 2.0"),
        ("where(a == inf, 0.0, a)", 'tl.where(a == float("inf"), 0.0, a)', 'torch.where(a == float("inf"), 0.0, a)'),
    ],
)
def test_text(meaning: str, triton: str, torch: str) -> None:
    names = {"a": "a", "b": "b"}
    assert (triton_text(parse(meaning), names), torch_text(parse(meaning), names)) == (triton, torch)


@pytest.mark.parametrize("text", ["a if b else c", "a[0]", "f(x=1)", "a < b < c", "'text'"])
def test_other_python_is_no_meaning(text: str) -> None:
    with pytest.raises(ValueError, match="not a meaning"):
        parse(text)


def test_booleans_are_those_under_logic_and_in_conditions() -> None:
    assert truths(parse("where(c, a & (b | ~d), x > y)")) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("__radd__", ("add", True, False)),
        ("__itruediv__", ("div", False, True)),
        ("__rxor__", ("bitwise_xor", True, False)),
        ("rsub", ("sub", True, False)),
        ("clip_", ("clamp", False, True)),
        ("special_expit", ("sigmoid", False, False)),
        ("_threshold", ("threshold", False, False)),
        ("no_such_thing", ("no_such_thing", False, False)),
    ],
)
def test_one_name_for_each_operator(raw: str, expected: tuple[str, bool, bool]) -> None:
    assert canonical_name(raw) == expected


def test_signatures() -> None:
    assert signature("add") == ((("input", ...), ("other", ...), ("alpha", 1)), 2)
    assert signature("conv2d") is None  # a Node keeps the arguments as they were given
    assert signature("no_such_thing") is None


@pytest.mark.parametrize(
    ("op", "inputs", "output", "expected"),
    [
        ("addmm", [(4,), (2, 3), (3, 4)], (2, 4), 2 * 2 * 4 * 3),
        ("conv2d", [(1, 3, 8, 8), (5, 3, 2, 2)], (1, 5, 7, 7), 2 * 5 * 49 * 12),
        ("scaled_dot_product_attention", [(2, 8, 4), (2, 6, 4)], (2, 8, 4), 4 * 64 * 6),
        ("gelu", [(10,)], (10,), 80),
        ("sum", [(10, 10)], (10,), 100),
        ("transpose", [(10, 10)], (10, 10), 0),
        ("no_such_thing", [(10,)], (10,), 10),
    ],
)
def test_flops(op: str, inputs: list[tuple[int, ...]], output: tuple[int, ...], expected: int) -> None:
    assert flops(op, inputs, [output]) == expected
