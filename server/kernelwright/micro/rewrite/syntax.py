"""Expressions compared and rebuilt without being changed: trees are shared, so that a rewrite costs only what differs."""

import ast
from collections.abc import Callable, Mapping
from typing import TypeVar

Syntax = TypeVar("Syntax", bound=ast.AST)
Change = Callable[[ast.AST], ast.AST | None]


def rebuilt(node: Syntax, before: Change, after: Change = lambda node: None) -> Syntax:
    """`node` with what `before` answers in the place of a node, or else what `after` answers once its parts are rebuilt."""
    instead = before(node)
    if instead is not None:
        return instead  # type: ignore[return-value]
    changed: dict[str, object] = {}
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            new = rebuilt(value, before, after)
            if new is not value:
                changed[name] = new
        elif isinstance(value, list):
            items = [rebuilt(item, before, after) if isinstance(item, ast.AST) else item for item in value]
            if any(new is not old for new, old in zip(items, value, strict=True)):
                changed[name] = items
    result = _with(node, changed) if changed else node
    return after(result) or result  # type: ignore[return-value]


def _with(node: Syntax, changed: Mapping[str, object]) -> Syntax:
    fields = {name: getattr(node, name, None) for name in node._fields}
    return ast.copy_location(type(node)(**{**fields, **changed}), node)


def expanded(node: Syntax, values: Mapping[str, ast.expr]) -> Syntax:
    """`node` with each name that is read replaced by its value."""
    return rebuilt(node, lambda part: values.get(part.id) if isinstance(part, ast.Name) and _read(part) else None)


def renamed(node: Syntax, names: Mapping[str, str]) -> Syntax:
    return expanded(node, {old: ast.Name(new, ast.Load()) for old, new in names.items()})


def _read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def same(left: object, right: object, ignored: str | None = None) -> bool:
    """Whether two trees are equal; keyword arguments named `ignored` do not count."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        assert isinstance(right, list)
        if ignored is not None:
            left, right = ([item for item in side if getattr(item, "arg", None) != ignored] for side in (left, right))
        return len(left) == len(right) and all(same(a, b, ignored) for a, b in zip(left, right, strict=True))
    if isinstance(left, ast.AST):
        return all(same(getattr(left, name, None), getattr(right, name, None), ignored) for name in left._fields)
    return left == right


def written(node: ast.AST) -> str:
    """The source of a rebuilt node, with double quotes."""
    return ast.unparse(node).replace("'", '"')
