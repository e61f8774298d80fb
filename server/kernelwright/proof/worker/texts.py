"""What a text names, read from its syntax tree: a comment or a docstring is no use of anything. Pure."""

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping

_COMPILER = re.compile(r"torch\.(compile$|_dynamo\b|_inductor\b)")
_TRITON = re.compile(r"^[ \t]*(import|from)\s+triton\b", re.MULTILINE)


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


@functools.lru_cache(maxsize=16)  # asked for every call on poisoned memory
def compiles(text: str) -> bool:
    """Whether the text uses torch.compile, or what is behind it, by name.

    It steps aside under a dispatch mode, and then other code would run.
    """
    return any(_COMPILER.match(name) for name in names_in(parsed(text)))


def listed(names: Iterable[str], most: int) -> str:
    """The first few of these, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def uses_triton(*texts: str) -> bool:
    """Whether one of the texts imports Triton."""
    return any(_TRITON.search(text) for text in texts)
