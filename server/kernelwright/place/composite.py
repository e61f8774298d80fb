"""The call of one of torch's composite modules as the statements of its forward."""

import ast
import re
from collections.abc import Iterator, Sequence

from kernelwright.ops.composites import COMPOSITES, Composite
from kernelwright.place.lines import Lines, Span
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap, attribute_text, module_path
from kernelwright.source.trees import children, walk
from kernelwright.values import Node


def composite_lines(source: SourceMap, call: ast.Call, path: str, name: str) -> Lines:
    """The call of the module at `path` written out, with `name` for its answer. Raises NotEditable."""
    made = source.nodes_at[source.span(call)]
    words = {n.id for n in walk(source.tree) if isinstance(n, ast.Name)}
    words |= {n.attr for n in walk(source.tree) if isinstance(n, ast.Attribute)}
    argument = call.args[0]
    for row in COMPOSITES:
        head = [] if isinstance(argument, ast.Name) else [f"{name} = {source.segment(argument)}"]
        given = argument.id if isinstance(argument, ast.Name) else name
        texts = [*head, *_statements(source, row, path, given, name)]
        places = _places(texts, len(head), made, path, row)
        if row.module in words and places is not None:
            at = (0, len(f"{name} = ")) if head else (0, texts[0].index(f"({given}") + 1)
            return Lines(name, tuple(texts), places, at)
    line = call.lineno - 1
    raise NotEditable(f"`{attribute_text(path)}` runs several operations, and its class is not in this file.", line)


def _statements(source: SourceMap, row: Composite, path: str, given: str, name: str) -> Iterator[str]:
    """The statements of the row for the module at `path`, called with `given`."""
    taken = {n.id for n in walk(source.tree) if isinstance(n, ast.Name)}
    names = {"x": given}
    for statement in row.forward:
        target, value = statement.split(" = ", 1)
        written = _renamed(value, names, attribute_text(path))
        names[target] = name if target == "x" else _free(target, taken)
        yield f"{names[target]} = {written}"


def _free(wanted: str, taken: set[str]) -> str:
    return next(n for n in (wanted, *(f"{wanted}_{i}" for i in range(2, 99))) if n not in taken)


def _renamed(value: str, names: dict[str, str], owner: str) -> str:
    """An expression of a row with the module `owner` for `self`, and the names that its own have here."""
    return re.sub(
        r"(?<![\w.])[A-Za-z_]\w*(?!\w|=)", lambda m: owner if m[0] == "self" else names.get(m[0], m[0]), value
    )


def _places(
    texts: Sequence[str], head: int, made: Sequence[Node], path: str, row: Composite
) -> dict[int, tuple[int, Span]] | None:
    """Where the expression of each node stands; None unless the lines behind the first `head` do just what was made."""
    places: dict[int, tuple[int, Span]] = {}
    rest = list(made)
    for number, text in enumerate(texts):
        if number < head:
            continue
        for tree in _in_order(ast.parse(text).body[0]):
            took = _taken(tree, rest, path, row)
            if took is None:
                return None
            places |= dict.fromkeys(
                (node.id for node in rest[:took]), (number, (tree.col_offset, tree.end_col_offset or 0))
            )
            rest = rest[took:]
    return None if rest else places


def _taken(tree: ast.expr, rest: Sequence[Node], path: str, row: Composite) -> int | None:
    """How many of the nodes, the next ones first, an expression made; None where it made others."""
    own = 1 if rest and rest[0].module == path else None
    if isinstance(tree, ast.BinOp):
        return own
    called = module_path(tree.func) if isinstance(tree, ast.Call) else ""
    count = next((i for i, n in enumerate(rest) if not f"{n.module}.".startswith(f"{called}.")), len(rest))
    if count:
        return count
    return own if called in {f"{path}.{function}" for function in row.functions} else None


def _in_order(tree: ast.AST) -> Iterator[ast.expr]:
    """The calls and arithmetic in a statement, in the order in which they are evaluated."""
    for part in children(tree):
        yield from _in_order(part)
    if isinstance(tree, ast.Call | ast.BinOp):
        yield tree
