"""What names are given, and what loops run over."""

import ast
import textwrap

import pytest

from kernelwright.source.bindings import bindings_of, loop_of


def function(body: str) -> ast.FunctionDef:
    (found,) = ast.parse("def f(x, n):\n" + textwrap.indent(textwrap.dedent(body), "    ")).body
    assert isinstance(found, ast.FunctionDef)
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = b = n + 1", [("a", "n + 1"), ("b", "n + 1")]),
        ("a, (b, c) = n, x", [("a", "n"), ("b", "x[0]"), ("c", "x[1]")]),
        ("rows, columns = x.shape", [("rows", "x.shape[0]"), ("columns", "x.shape[1]")]),
        ("a: int = 1\nb: int", [("a", "1")]),
        ("p = x\np += n", [("p", "x"), ("p", "p + n")]),
        ("if (a := n) > 1:\n    b = a", [("a", "n"), ("b", "a")]),
        ("for i, j in pairs:\n    k = i", [("i", "pairs"), ("j", "pairs"), ("k", "i")]),
        ("def g():\n    a = 1\nh = lambda: (b := 2)", [("h", "lambda: (b := 2)")]),
        ("x.a = n\nx[0] = n", []),
    ],
)
def test_bindings(body: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.name, ast.unparse(one.value)) for one in bindings_of(function(body))] == expected


@pytest.mark.parametrize(
    ("over", "is_range", "step"),
    [
        ("range(0, n, 4)", True, "4"),
        ("tl.range(0, n, step=B)", True, "B"),
        ("tl.static_range(n)", True, None),
        ("zip(x, x, x)", False, None),
    ],
)
def test_loops(over: str, is_range: bool, step: str | None) -> None:
    (node,) = function(f"for i in {over}:\n    pass").body
    assert isinstance(node, ast.For)
    loop = loop_of(node)
    assert (loop.range is not None) is is_range
    assert (ast.unparse(loop.step) if loop.step is not None else None) == step
