"""Names, parameters and calls in Python's own syntax trees."""

import ast

import pytest

from kernelwright.source.calls import argument, bound, constexprs, defaults, dotted


def definition(parameters: str) -> ast.FunctionDef:
    (found,) = ast.parse(f"def f({parameters}): pass").body
    assert isinstance(found, ast.FunctionDef)
    return found


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def written(named: dict[str, ast.expr]) -> dict[str, str]:
    return {name: ast.unparse(value) for name, value in named.items()}


@pytest.mark.parametrize(
    ("text", "expected"), [("tl", "tl"), ("tl.math.exp", "tl.math.exp"), ("f().x", ""), ("a[0].x", ""), ("1", "")]
)
def test_dotted(text: str, expected: str) -> None:
    assert dotted(expression(text)) == expected


def test_constexprs() -> None:
    kernel = definition("x, A: tl.constexpr, B: 'tl.constexpr', n: tl.int32, /, C: constexpr = 1, *, D: 'constexpr'")
    assert constexprs(kernel) == ("A", "B", "C", "D")


def test_defaults() -> None:
    assert written(dict(defaults(definition("a, b=1, /, c=2, *rest, d, e=3")))) == {"b": "1", "c": "2", "e": "3"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(1, 2, d=3)", {"a": "1", "b": "2", "d": "3"}),
        ("f(1, *rest, d=3)", {"a": "1", "d": "3"}),
        ("f(b=1, num_warps=4)", {"b": "1"}),
    ],
)
def test_bound(call: str, expected: dict[str, str]) -> None:
    node = expression(call)
    assert isinstance(node, ast.Call)
    assert written(bound(definition("a, b, *, d"), node)) == expected


@pytest.mark.parametrize(
    ("call", "expected"), [("f(1, 2)", "2"), ("f(1, mask=3)", "3"), ("f(*given, 2)", None), ("f(1)", None)]
)
def test_argument(call: str, expected: str | None) -> None:
    node = expression(call)
    assert isinstance(node, ast.Call)
    found = argument(node, 1, "mask")
    assert (found and ast.unparse(found)) == expected
