"""Walking Python's own syntax trees in less than half the time that `ast.walk` takes: rules and rewrites do little else."""

import ast
from collections.abc import Iterator

_NO_NODES = frozenset(("ctx", "op", "ops", "id", "attr", "kind", "type_comment", "n", "s"))
_PLACED = (ast.expr, ast.stmt, ast.keyword, ast.arg, ast.alias, ast.excepthandler, ast.pattern)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class _Parts(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that can hold nodes to walk to."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = self[kind] = tuple(name for name in kind._fields if name not in _NO_NODES)
        return found


_parts = _Parts({ast.Constant: ()})


def walk(node: ast.AST) -> list[ast.AST]:
    """The nodes of a tree in the order of `ast.walk`, without operators and contexts, which their parents tell."""
    found = [node]
    for current in found:  # as `children`, written out: a call for each node takes a fifth longer
        kind = current.__class__
        for name in _parts[kind]:
            part = getattr(current, name, None)
            if part is None:
                continue
            if part.__class__ is list:
                found += [item for item in part if isinstance(item, ast.AST)]
            elif isinstance(part, ast.AST):
                found.append(part)
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, as `walk` knows them."""
    found: list[ast.AST] = []
    kind = node.__class__
    for name in _parts[kind]:
        part = getattr(node, name, None)
        if part is None:
            continue
        if part.__class__ is list:
            found += [item for item in part if isinstance(item, ast.AST)]
        elif isinstance(part, ast.AST):
            found.append(part)
    return found


def inside(body: list[ast.stmt]) -> list[ast.AST]:
    """Every node of a body in order of the text, without those of nested functions and classes."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*reversed(body)]
    while waiting:
        node = waiting.pop()
        found.append(node)
        kind = node.__class__
        for name in reversed(_parts[kind]) if kind not in _DEFINITIONS else ():
            part = getattr(node, name, None)
            if part is None:
                continue
            if part.__class__ is list:
                waiting += [item for item in reversed(part) if isinstance(item, ast.AST)]
            elif isinstance(part, ast.AST):
                waiting.append(part)
    return found


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a body in order of the text, nested ones after the one that holds them."""
    return (node for node in inside(body) if isinstance(node, ast.stmt))


def extent(node: ast.AST) -> tuple[int, int, int, int]:
    """Where a node stands: first line and column, last line and the column it ends before.

    Lines count from 1, columns in UTF-8 bytes. Raises TypeError for a node without a place of its own, such as a module.
    """
    if not isinstance(node, _PLACED):
        raise TypeError(f"{type(node).__name__} has no place in the text")
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def operator(node: ast.AST) -> ast.AST | None:
    """The operator of an operation, such as ast.Mod(); None for any other node, and for comparisons."""
    return getattr(node, "op", None)
