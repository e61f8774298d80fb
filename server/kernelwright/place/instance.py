"""The source as one module of a class sees it: a block that a model holds many times becomes the entry of its own graph."""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kernelwright.place.source_env import named_operands
from kernelwright.place.source_map import SourceMap, attribute_path, beside, bound_names, class_of, references
from kernelwright.source.trees import walk
from kernelwright.values import Node, Value


@functools.lru_cache(maxsize=16)
def instances(source: SourceMap, block: ast.ClassDef) -> Mapping[str, tuple[int, ...]]:
    """The paths of the modules whose methods ran in `block`, each with the nodes that they made there."""
    ours = [n for n in source.graph.nodes if (tree := source.expression(n)) and class_of(source, tree) is block]
    owners = {node.id: owner(source, node) for node in ours}
    paths = {path for path in owners.values() if path is not None}
    found: dict[str, list[int]] = {path: [] for path in paths}
    for node in ours:
        path = owners[node.id]
        if path is None:
            path = max((p for p in paths if _inside(node.module, p)), key=len, default=None)
        if path is not None:
            found[path].append(node.id)
    return {path: tuple(nodes) for path, nodes in found.items()}


def owner(source: SourceMap, node: Node) -> str | None:
    """Return the path of the module that `self` is where the node's expression stands; None where that cannot be told."""
    tree = source.expression(node)
    called = tree.func if isinstance(tree, ast.Call) else None
    path = attribute_path(called) if called is not None else None
    if path is None:
        # The variable of a loop, or an element that a variable chooses, does not say where `self` ends.
        return None if isinstance(called, ast.Name | ast.Subscript) else node.module
    start = f".{node.module}.".rfind(f".{path}.")
    return node.module[: max(start - 1, 0)] if start >= 0 else node.module


def _inside(module: str, path: str) -> bool:
    return not path or module == path or module.startswith(f"{path}.")


@functools.lru_cache(maxsize=128)
def instance_map(source: SourceMap, function: ast.FunctionDef, path: str) -> SourceMap:
    """The source as the module at `path` runs `function`, a method of its class.

    Nodes keep their ids; those that other modules made have no place, and module paths and the names of parameters count
    from `path`. The arguments of the method are the graph's inputs.
    """
    block = class_of(source, function)
    assert block is not None
    here = frozenset(instances(source, block).get(path, ()))
    graph, prefix = source.graph, f"{path}." if path else ""
    other_nodes, other_values = _of_other_modules(source)
    nodes, values = list(other_nodes), list(other_values)
    for node in graph.nodes:
        below = node.module != path and _inside(node.module, path)
        if below or node.id in here:
            module = node.module.removeprefix(prefix) if below else ""
            nodes[node.id] = replace(node, module=module, where=node.where if node.id in here else None)
    given = _arguments(source, function, path, [graph.nodes[n] for n in sorted(here)])
    for value in graph.values:
        if value.id in given:
            values[value.id] = replace(value, origin="input", name=given[value.id])
        elif value.origin in ("parameter", "buffer") and value.name.startswith(prefix):
            values[value.id] = replace(value, name=value.name.removeprefix(prefix))
    return beside(source, replace(graph, entry=block.name, nodes=tuple(nodes), values=tuple(values)))


@functools.lru_cache(maxsize=16)
def _of_other_modules(source: SourceMap) -> tuple[tuple[Node, ...], tuple[Value, ...]]:
    """The graph's nodes and Values as a module sees those of the others: without a place and a name."""
    nodes = tuple(replace(node, module="", where=None) for node in source.graph.nodes)
    return nodes, tuple(replace(value, name="") for value in source.graph.values)


def _arguments(source: SourceMap, function: ast.FunctionDef, path: str, here: Iterable[Node]) -> dict[int, str]:
    """Which Value each argument of the method has in this run, as far as the calls that read them tell."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)][1:]
    entering = _entering(source, path)
    if len(names) == 1 and len(entering) == 1 and function.name == "forward":
        return {entering.pop(): names[0]}
    bound = {name: _first_binding(function, name) for name in names}
    found: dict[int, str] = {}
    for node in here:
        tree = source.expression(node)
        if tree is None or source.function(tree) is not function:
            continue
        for value, name in _entered(source, node, tree):
            if bound.get(name, 0) >= source.statement(tree).lineno and value in entering:
                found.setdefault(value, name)
    return found


def _entering(source: SourceMap, path: str) -> set[int]:
    """The Values that the module's nodes read and that neither they nor its parameters are."""
    inside = [n for n in source.graph.nodes if _inside(n.module, path)]
    made = {v for n in inside for v in n.outputs}
    read = {v for n in inside for v in references(n)} - made
    return {v for v in read if source.graph.value(v).origin in ("input", "node")}


def _first_binding(function: ast.FunctionDef, name: str) -> int:
    """The line from which on the name may mean something else than the argument."""
    return min((s.lineno for s in walk(function) if isinstance(s, ast.stmt) and s is not function
                and name in bound_names(s)), default=10**9)  # fmt: skip


def _entered(source: SourceMap, node: Node, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The Values that the node reads by a name, also those that a container of modules hands to its first one."""
    yield from named_operands(source, node, tree, {})
    if isinstance(tree, ast.Call) and attribute_path(tree.func) and len(tree.args) == 1:
        given, first = tree.args[0], next(references(source.nodes_at[source.span(tree)][0]), None)
        if isinstance(given, ast.Name) and first is not None:
            yield first, given.id
