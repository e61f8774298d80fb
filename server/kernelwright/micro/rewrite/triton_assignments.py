"""What the names of a launching function are bound to: its assignments, parameters and defaults."""

import ast
from collections.abc import Iterator

from kernelwright.micro.rewrite.triton_source import statements
from kernelwright.source.calls import defaults, parameters
from kernelwright.source.trees import walk


def assignments(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Every name that the function assigns, with what it gets; the whole right side where that cannot be split."""
    for statement in statements(function.body):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from _split(target, statement.value)
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement.value or ast.Constant(None)
        elif isinstance(statement, ast.For):
            yield from ((n.id, statement.iter) for n in walk(statement.target) if isinstance(n, ast.Name))


def _split(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _split(one, part)
    else:
        yield from ((n.id, value) for n in walk(target) if isinstance(n, ast.Name))


def arguments(function: ast.FunctionDef) -> set[str]:
    return {p.arg for p in parameters(function)}


def defaults_of(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    yield from (default for parameter, default in defaults(function) if parameter == name)
