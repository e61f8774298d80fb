"""What a text names, read from its syntax tree: a comment or a docstring is no use of anything. Pure."""

import ast
from collections.abc import Iterable, Iterator, Mapping


def parsed(text: str) -> ast.Module:
    """The text's tree, an empty one where it cannot be parsed: that is found out when it is loaded."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def names_in(tree: ast.Module) -> Iterator[str]:
    """Dotted names with the modules that they begin with, and imported names."""
    nodes = list(ast.walk(tree))
    imports = [(node, each) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names]
    aliases = {each.asname: each.name for node, each in imports if isinstance(node, ast.Import) and each.asname}
    yield from (f"{node.module}.{each.name}" for node, each in imports if isinstance(node, ast.ImportFrom))
    for node in nodes:
        match node:
            case ast.Name(id=name):
                yield name
            case ast.Attribute():
                yield _dotted(node, aliases)


def _dotted(node: ast.expr, aliases: Mapping[str, str]) -> str:
    """`a.b.c`, with the module that `a` stands for; `.b.c` of what is no name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    owner = node.id if isinstance(node, ast.Name) else ""
    return ".".join((aliases.get(owner, owner), *reversed(parts)))


def listed(names: Iterable[str], most: int) -> str:
    """The first few of these, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
