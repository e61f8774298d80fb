"""Whether every name that is read after statements have gone still holds what it held before."""

import ast
from collections.abc import Callable, Iterator, Mapping

from kernelwright.place.source_env import NotEditable, environment, simple_targets
from kernelwright.place.source_map import SourceMap, loaded_names
from kernelwright.source.trees import walk

_TYPE_QUESTIONS = frozenset({"shape", "size", "dtype", "device", "ndim", "dim", "numel"})


def check_reads(
    source: SourceMap,
    function: ast.FunctionDef,
    block: list[ast.stmt],
    gone: list[ast.stmt],
    sink: ast.stmt,
    sink_tree: ast.AST,
    dirty: Mapping[ast.stmt, set[str]],
    kept_expressions: Callable[[ast.AST], Iterator[ast.expr]],
) -> None:
    """Every name that is read later must still hold what it held before; raises NotEditable otherwise.

    `block` holds the statements in `gone` and the `sink`, of which `sink_tree` is replaced. `dirty` are the names that
    each of those gone, or changed, no longer binds to what it did; `kept_expressions` are what is kept of a tree.
    """
    stale: set[str] = set()
    for statement in block[min(block.index(s) for s in (*dirty, sink)) :]:
        changed = sink_tree if statement is sink else statement
        ours = statement is sink or statement in dirty
        kept = {n for e in kept_expressions(changed) for n in walk(e)} if ours else set()
        if statement in dirty:
            _refuse_stale(stale & {n.id for n in kept if isinstance(n, ast.Name)}, statement)
            stale |= dirty[statement]
            continue
        replaced = set(walk(sink_tree)) - kept if statement is sink else set()
        reads = {
            n.id
            for n in walk(statement)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n not in replaced
            if not _same_shape(source, n, function, gone, statement)
        }
        _refuse_stale(stale & reads, statement)
        stale -= set(simple_targets(statement) or _tuple_targets(statement))
    if stale and source.loop is not None:
        _check_next_iteration(source.loop, block, sink, set(stale))
    if not stale:
        return
    last = block[-1].end_lineno or block[-1].lineno
    for name in walk(function):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.lineno > last:
            _refuse_stale(stale & {name.id}, name)


def _check_next_iteration(loop: ast.For, block: list[ast.stmt], sink: ast.stmt, stale: set[str]) -> None:
    """Raises where the loop's next iteration reads one of the names before it binds it."""
    ours = {n for statement in block for n in walk(statement)}
    for name in walk(loop):
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name not in ours:
            _refuse_stale(stale & {name.id}, name)
    for statement in block[: block.index(sink) + 1]:
        _refuse_stale(stale & loaded_names(statement), statement)
        stale -= set(simple_targets(statement) or _tuple_targets(statement))


def _same_shape(
    source: SourceMap, name: ast.Name, function: ast.FunctionDef, gone: list[ast.stmt], statement: ast.stmt
) -> bool:
    """Whether only the shape, dtype or device is asked for, and those are what they were."""
    parent = source.parents.get(name)
    if not isinstance(parent, ast.Attribute) or parent.attr not in _TYPE_QUESTIONS:
        return False
    old = environment(source, function, set(), statement).get(name.id)
    new = environment(source, function, set(gone), statement).get(name.id)
    if old is None or new is None:
        return False
    types = [source.graph.value(v).type for v in (old, new)]
    return (types[0].shape, types[0].dtype) == (types[1].shape, types[1].dtype)


def _refuse_stale(names: set[str], where: ast.stmt | ast.Name) -> None:
    if names:
        raise NotEditable(f"`{min(names)}` is read again and would have changed.", where.lineno - 1)


def _tuple_targets(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Assign):
        return [n.id for t in statement.targets if isinstance(t, ast.Tuple) for n in t.elts if isinstance(n, ast.Name)]
    return []
