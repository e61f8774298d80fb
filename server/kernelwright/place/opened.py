"""The source with the call of a module written out that runs modules of its own, so that one of them can be replaced.

`x = self.block(x)` of a container becomes `x = self.block[0](x)`, `x = self.block[1](x)`, …, that of one of torch's
composite modules what its forward does. The parameters stay where they are, and every module that is not replaced is
called as before.
"""

import ast
import functools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from kernelwright.place.composite import composite_lines
from kernelwright.place.container import child, container_lines
from kernelwright.place.layout import newline_of
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap, attribute_text, module_path, source_map
from kernelwright.source.trees import walk
from kernelwright.values import CodeSpan, Graph, Refusal, TextEdit, digest

_HOOK = re.compile(r"\bregister_\w*hook\b")


@dataclass(frozen=True)
class Opened:
    """A source after `edits` of the text that it was opened from."""

    source: SourceMap
    edits: tuple[TextEdit, ...]


def outer_call(source: SourceMap, nodes: Collection[int]) -> ast.Call | None:
    """The first call of a module in which one of the nodes was made by a module that it holds, or beside such nodes."""
    for id_ in sorted(nodes):
        node = source.graph.nodes[id_]
        tree = source.expression(node)
        path = module_path(tree.func) if isinstance(tree, ast.Call) else None
        if isinstance(tree, ast.Call) and path and f"{node.module}.".startswith(f"{path}."):
            made = source.nodes_at[source.span(tree)]
            if any(other.module.startswith(f"{path}.") for other in made):
                return tree
    return None


@functools.lru_cache(maxsize=64)
def opened(source: SourceMap, call: ast.Call) -> Opened:
    """The source with `call`, one of a module that holds others, written out. Raises NotEditable."""
    path = module_path(call.func)
    assert path is not None
    line = call.lineno - 1
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        raise NotEditable(f"`{attribute_text(path)}` is called with more than one argument.", line)
    if _HOOK.search(source.text):
        raise NotEditable(f"A hook may be registered on `{attribute_text(path)}`, which would no longer run.", line)
    statement = source.statement(call)
    start, end = source.offsets(statement)
    indent = source.text[source.starts[statement.lineno - 1] : start]
    if indent.strip() or not _evaluated_first(statement, call):
        raise NotEditable("The container is not called on a line of its own.", line)
    made = source.nodes_at[source.span(call)]
    write = container_lines if all(child(node, path) is not None for node in made) else composite_lines
    lines = write(source, call, path, _target(source, statement, call))
    if isinstance(statement, ast.Return) and statement.value is call:
        lines = lines.returned()
    separator = newline_of(source.text) + indent
    text = separator.join(lines.texts)
    edits: tuple[TextEdit, ...]
    if _is_all(statement, call):
        edits = (TextEdit(start, end, text),)
    else:
        edits = (TextEdit(start, start, text + separator), TextEdit(*source.offsets(call), lines.name))

    def at(line: int, column: int) -> int:
        return start + lines.offset(line, separator) + column

    places = {node: (at(line, low), at(line, high)) for node, (line, (low, high)) in lines.places.items()}
    return _moved(source, call, edits, places, at(*lines.argument))


def _is_all(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether the statement does nothing but name or return what the call returns."""
    if isinstance(statement, ast.Return):
        return statement.value is call
    return (
        isinstance(statement, ast.Assign)
        and statement.value is call
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
    )


def _target(source: SourceMap, statement: ast.stmt, call: ast.Call) -> str:
    """The name that holds the results in between."""
    argument = call.args[0]
    if isinstance(statement, ast.Return) and statement.value is call and isinstance(argument, ast.Name):
        return argument.id
    inside = set(walk(call))
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        if not any(isinstance(n, ast.Name) and n.id == name for n in walk(statement.value) if n not in inside):
            return name
    function = source.function(call)
    taken = {n.id for n in walk(function or source.tree) if isinstance(n, ast.Name)}
    base = (module_path(call.func) or "block").split(".")[-1].strip("_@")
    base = base if base.isidentifier() else "block"
    return next(n for n in (f"{base}_out{i}" for i in ("", *range(2, 99))) if n not in taken)


def _evaluated_first(statement: ast.stmt, call: ast.Call) -> bool:
    """Whether nothing of the statement is computed before the call, so that it can stand in front."""
    if not isinstance(statement, ast.Assign | ast.Return | ast.Expr) or statement.value is None:
        return False
    tree: ast.AST = statement.value
    while tree is not call:
        if isinstance(tree, ast.Call):
            inner = tree.func.value if isinstance(tree.func, ast.Attribute) else None
            receives = inner is not None and call in walk(inner)
            if not receives and not tree.args:
                return False
            tree = inner if receives and inner is not None else tree.args[0]
        elif isinstance(tree, ast.BinOp):
            tree = tree.left
        elif isinstance(tree, ast.Attribute | ast.Subscript):
            tree = tree.value
        else:
            return False
    return True


def _moved(
    source: SourceMap,
    call: ast.Call,
    edits: tuple[TextEdit, ...],
    places: Mapping[int, tuple[int, int]],
    argument: int,
) -> Opened:
    """The source after the edits, with every node where its expression now stands.

    `places`: the offsets of the expression of each node of the call. `argument`: where the call's argument begins now.
    """
    text = source.text
    for edit in reversed(edits):
        text = text[: edit.start] + edit.new_text + text[edit.end :]
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    low, high = source.offsets(call.args[0])

    def moved(offset: int) -> int:
        if low <= offset <= high:
            return argument + offset - low
        return offset + sum(len(e.new_text) - (e.end - e.start) for e in edits if e.start <= offset and e.end <= offset)

    def place(low: int, high: int) -> CodeSpan:
        (a, b), (c, d) = (_line_column(starts, low), _line_column(starts, high))
        return CodeSpan(a, b, c, d)

    there = source.span(call)
    nodes = []
    for node in source.graph.nodes:
        if node.where == there:
            nodes.append(replace(node, where=place(*places[node.id]) if node.id in places else None))
        elif node.where is not None:
            nodes.append(replace(node, where=place(*(moved(o) for o in _offsets(source, node.where)))))
        else:
            nodes.append(node)
    graph: Graph = replace(source.graph, nodes=tuple(nodes), text_hash=digest(text))
    after = source_map(text, graph)
    if isinstance(after, Refusal):
        raise NotEditable(after.reason, after.line)
    loops = [[n for n in walk(one.tree) if isinstance(n, ast.For)] for one in (source, after)]
    loop = loops[1][loops[0].index(source.loop)] if source.loop is not None else None
    return Opened(replace(after, loop=loop), edits)


def _offsets(source: SourceMap, span: CodeSpan) -> tuple[int, int]:
    return source.starts[span.start_line] + span.start_column, source.starts[span.end_line] + span.end_column


def _line_column(starts: list[int], offset: int) -> tuple[int, int]:
    line = next(i for i in range(len(starts) - 1, -1, -1) if starts[i] <= offset)
    return line, offset - starts[line]
