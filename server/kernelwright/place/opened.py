"""The source with the call of a container of modules written out: one statement for each module that it holds.

`x = self.block(x)` becomes `x = self.block[0](x)`, `x = self.block[1](x)`, …, so that one of them can be replaced. The
parameters stay where they are, and every module that is not replaced is called as before.
"""

import ast
import functools
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from kernelwright.place.layout import newline_of
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import (
    SourceMap,
    attribute_path,
    attribute_text,
    class_of,
    references,
    source_map,
)
from kernelwright.source.trees import walk
from kernelwright.values import CodeSpan, Graph, Node, Refusal, TextEdit, digest

_MOST = 40  # statements that a person would still read
_HOOK = re.compile(r"\bregister_\w*hook\b")


@dataclass(frozen=True)
class Opened:
    """A source after `edits` of the text that it was opened from."""

    source: SourceMap
    edits: tuple[TextEdit, ...]


def container_call(source: SourceMap, nodes: Collection[int]) -> ast.Call | None:
    """The first call of a container of modules in which one of the nodes was made."""
    for id_ in sorted(nodes):
        node = source.graph.nodes[id_]
        tree = source.expression(node)
        path = attribute_path(tree.func) if isinstance(tree, ast.Call) else None
        if isinstance(tree, ast.Call) and path and _child(node, path) is not None:
            return tree
    return None


@functools.lru_cache(maxsize=64)
def opened(source: SourceMap, call: ast.Call) -> Opened:
    """The source with `call`, one of a container of modules, written out. Raises NotEditable."""
    path = attribute_path(call.func)
    assert path is not None
    line = call.lineno - 1
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        raise NotEditable(f"`{attribute_text(path)}` is called with more than one argument.", line)
    if _HOOK.search(source.text):
        raise NotEditable(f"A hook may be registered on `{attribute_text(path)}`, which would no longer run.", line)
    _check_chain(source, path, call)
    return _written(source, call, path)


def _child(node: Node, path: str) -> int | None:
    """The index of the module inside the container at `path` that made the node."""
    first = node.module.removeprefix(f"{path}.").split(".")[0] if node.module.startswith(f"{path}.") else ""
    return int(first) if first.isdecimal() else None


def _check_chain(source: SourceMap, path: str, call: ast.Call) -> None:
    """Raises unless the modules ran in order, each on the result of the one before: then it is a Sequential."""
    inside = [n for n in source.graph.nodes if n.module.startswith(f"{path}.")]
    indices = [_child(n, path) for n in inside]
    known = [i for i in indices if i is not None]
    reason = f"The modules in `{attribute_text(path)}` do not run one after the other."
    if len(known) < len(indices) or known != sorted(known):
        raise NotEditable(reason, call.lineno - 1)
    previous: set[int] = set()
    for index in sorted(set(known)):
        step = [n for n in inside if _child(n, path) == index]
        made = {v for n in step for v in n.outputs}
        read = {v for n in step for v in references(n)} - made
        entering = {v for v in read if source.graph.value(v).origin in ("input", "node")}
        if len(entering) > 1 or (previous and entering and not entering <= previous):
            raise NotEditable(reason, call.lineno - 1)
        previous = made


def _written(source: SourceMap, call: ast.Call, path: str) -> Opened:
    statement = source.statement(call)
    start, end = source.offsets(statement)
    line_start = source.starts[statement.lineno - 1]
    indent = source.text[line_start:start]
    if indent.strip() or not _evaluated_first(statement, call):
        raise NotEditable("The container is not called on a line of its own.", call.lineno - 1)
    count, fixed = _length(source, path, call)
    name = _target(source, statement, call)
    newline = newline_of(source.text)
    argument = source.segment(call.args[0])
    head = [] if fixed else [f"assert len({attribute_text(path)}) == {count}"]
    prefix = newline.join(f"{line}{newline}{indent}" for line in head)
    spans: dict[int, tuple[int, int]] = {}
    text, position = prefix, start + len(prefix)
    for index in range(count):
        last = index == count - 1 and isinstance(statement, ast.Return) and statement.value is call
        left = "return " if last else f"{name} = "
        value = f"{attribute_text(f'{path}.{index}')}({argument if index == 0 else name})"
        spans[index] = (position + len(left), position + len(left) + len(value))
        text += left + value + ("" if index == count - 1 else newline + indent)
        position = start + len(text)
    edits: tuple[TextEdit, ...]
    if _is_all(statement, call):
        edits = (TextEdit(start, end, text),)
    else:
        edits = (TextEdit(start, start, text + newline + indent), TextEdit(*source.offsets(call), name))
    old = source.offsets(call.args[0])
    first = spans[0][1] - 1 - len(argument)
    return _moved(source, call, path, edits, spans, (*old, first))


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
    base = (attribute_path(call.func) or "block").split(".")[-1].strip("_")
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


def _length(source: SourceMap, path: str, call: ast.Call) -> tuple[int, bool]:
    """How many modules the container holds, and whether the class says so where it makes it."""
    ran = max(i for n in source.graph.nodes if (i := _child(n, path)) is not None) + 1
    written = _constructed(source, path, class_of(source, call))
    count = ran if written is None else written
    if count > _MOST:
        raise NotEditable(f"`{attribute_text(path)}` holds {count} modules, too many to write out.", call.lineno - 1)
    if count < ran:
        raise NotEditable(f"`{attribute_text(path)}` is not what the class makes of it.", call.lineno - 1)
    return count, written is not None


def _constructed(source: SourceMap, path: str, owner: ast.ClassDef | None) -> int | None:
    """The number of modules in the class's only `self.<path> = nn.Sequential(a, b, …)`, where each stands there."""
    made = [
        statement.value
        for statement in (walk(owner) if owner else ())
        if isinstance(statement, ast.Assign) and any(attribute_path(t) == path for t in statement.targets)
    ]
    if len(made) != 1 or not isinstance(made[0], ast.Call) or made[0].keywords:
        return None
    function = made[0].func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    modules = made[0].args
    if name != "Sequential" or len(modules) < 2 or any(isinstance(m, ast.Starred) for m in modules):
        return None
    return len(modules)


def _moved(
    source: SourceMap,
    call: ast.Call,
    path: str,
    edits: tuple[TextEdit, ...],
    spans: dict[int, tuple[int, int]],
    argument: tuple[int, int, int],
) -> Opened:
    """The source after the edits, with every node where its expression now stands.

    `spans`: the offsets of the call of each module. `argument`: those of the old argument, and where it begins now.
    """
    text = source.text
    for edit in reversed(edits):
        text = text[: edit.start] + edit.new_text + text[edit.end :]
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def moved(offset: int) -> int:
        if argument[0] <= offset <= argument[1]:
            return argument[2] + offset - argument[0]
        return offset + sum(len(e.new_text) - (e.end - e.start) for e in edits if e.start <= offset and e.end <= offset)

    def place(low: int, high: int) -> CodeSpan:
        (a, b), (c, d) = (_line_column(starts, low), _line_column(starts, high))
        return CodeSpan(a, b, c, d)

    there = source.span(call)
    nodes = []
    for node in source.graph.nodes:
        if node.where == there:
            index = _child(node, path)
            nodes.append(replace(node, where=place(*spans[index]) if index is not None else None))
        elif node.where is not None:
            nodes.append(replace(node, where=place(*(moved(o) for o in _offsets(source, node.where)))))
        else:
            nodes.append(node)
    graph: Graph = replace(source.graph, nodes=tuple(nodes), text_hash=digest(text))
    after = source_map(text, graph)
    if isinstance(after, Refusal):
        raise NotEditable(after.reason, after.line)
    return Opened(after, edits)


def _offsets(source: SourceMap, span: CodeSpan) -> tuple[int, int]:
    return source.starts[span.start_line] + span.start_column, source.starts[span.end_line] + span.end_column


def _line_column(starts: list[int], offset: int) -> tuple[int, int]:
    line = next(i for i in range(len(starts) - 1, -1, -1) if starts[i] <= offset)
    return line, offset - starts[line]
