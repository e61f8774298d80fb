"""The source as one run of a piece of code sees it: its graph has the nodes of that run, and inputs where values enter."""

import ast
import functools
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import replace

from kernelwright.place.instance import inside
from kernelwright.place.runs import Code, Pass, name_of, spelled
from kernelwright.place.source_env import named_operands
from kernelwright.place.source_map import (
    SourceMap,
    bound_names,
    class_of,
    module_path,
    references,
    with_graph,
    with_values,
)
from kernelwright.source.trees import walk
from kernelwright.values import CodeSpan, Node, TensorRef, Value


@functools.lru_cache(maxsize=128)
def seen(source: SourceMap, code: Code, one: Pass) -> SourceMap:
    """The source as one pass through `code` sees it.

    Nodes keep their ids; those that were made elsewhere have no place. Module paths and the names of parameters count
    from the module that ran the code, or begin with the variable that holds a module. What enters by a name, such as the
    arguments of a function, is the graph's input.
    """
    graph, here = source.graph, _placed(source, code, one)
    nodes = tuple(
        replace(node, module=spelled(source, node, one), where=node.where if node.id in here else None)
        for node in graph.nodes
    )
    block = class_of(source, code.function)
    entry = block.name if block is not None else graph.entry
    before = with_graph(source, replace(graph, entry=entry, nodes=nodes, values=_named(source, one)), code.loop)
    only = _entering_module(source, one.path) if block is not None and code.loop is None else frozenset()
    given = _entering(before, code, [nodes[n] for n in one.here], only)
    return with_values(
        before,
        tuple(
            replace(value, origin="input", name=given[value.id]) if value.id in given else value
            for value in before.graph.values
        ),
    )


def _placed(source: SourceMap, code: Code, one: Pass) -> frozenset[int]:
    """The nodes that have a place in the pass: its own, and those of the functions of the file that it calls."""
    between = source.graph.nodes[one.here[0] : one.here[-1]]
    called = (n.id for n in between if isinstance(_definition(source, n, code), ast.Module))
    return frozenset((*one.here, *called))


def _definition(source: SourceMap, node: Node, code: Code) -> ast.AST | None:
    """What the function is defined in where the node stands; None for the code's own."""
    tree = source.expression(node)
    function = source.function(tree) if tree is not None else None
    return source.parents[function] if function is not None and function is not code.function else None


def signature(source: SourceMap, one: Pass, places: Collection[CodeSpan]) -> Hashable:
    """Return what the pass did, equal for passes that differ in nothing but the numbers that tensors hold.

    What stands at `places` is compared with its literal arguments, all else without.
    """
    numbers: dict[int, int] = {}
    done: list[Hashable] = []
    for node in (source.graph.nodes[n] for n in one.here):
        arguments = (node.args, tuple(node.kwargs.items()))
        given = _plain(arguments, numbers, literals=node.where in places)
        made = tuple(_plain(TensorRef(v), numbers, literals=False) for v in node.outputs)
        done.append((node.op, node.where, spelled(source, node, one), node.inplace, given, made))
    here = frozenset(one.here)
    return tuple(done), tuple(_described(source, one, here, value) for value in numbers)


def _plain(argument: object, numbers: dict[int, int], *, literals: bool) -> Hashable:
    """An argument with the Values in it numbered in the order of their first use."""
    if isinstance(argument, TensorRef):
        return "value", numbers.setdefault(argument.id, len(numbers))
    if isinstance(argument, tuple):
        return tuple(_plain(item, numbers, literals=literals) for item in argument)
    return (type(argument), argument) if literals else None


def _described(source: SourceMap, one: Pass, here: Collection[int], id_: int) -> Hashable:
    """The type of a Value, its name from the module on, and who reads it."""
    value = source.graph.value(id_)
    name = name_of(value.name.removeprefix(f"{one.path}."), one) if value.origin in ("parameter", "buffer") else ""
    readers = Counter((user.op, user.inplace, user.id in here) for user in source.users.get(id_, ()))
    return value.type, value.origin, name, frozenset(readers.items()), id_ in source.graph.outputs


def _named(source: SourceMap, one: Pass) -> tuple[Value, ...]:
    """The graph's Values with the names that they have in the pass."""
    prefix = f"{one.path}." if one.path else ""
    owned = frozenset({"parameter", "buffer"})
    return tuple(
        replace(value, name=name_of(value.name.removeprefix(prefix), one) if value.name.startswith(prefix) else "")
        if value.origin in owned
        else replace(value, name="")
        if value.name
        else value
        for value in source.graph.values
    )


def _entering(source: SourceMap, code: Code, here: list[Node], only: Collection[int]) -> dict[int, str]:
    """The Values that hold names where the pass begins, as far as the calls that read them tell.

    `only`: those that enter the module which ran the code.
    """
    arguments = _arguments(code.function)
    if code.loop is None and len(arguments) == 1 and len(only) == 1 and code.function.name == "forward":
        return dict.fromkeys(only, arguments[0])
    made = {v for n in here for v in n.outputs}
    bound: dict[str, int] = {}
    found: dict[int, str] = {}
    for node in here:
        tree = source.expression(node)
        if tree is None or source.function(tree) is not code.function:
            continue
        for value, name in _entered(source, node, tree):
            if name not in bound:
                known = code.loop is not None or name in arguments
                bound[name] = _first_binding(code.body, name) if known else 0
            handed = not node.module or source.graph.value(value).origin in (
                "input",
                "node",
            )  # no module's own parameter
            if bound[name] >= source.statement(tree).lineno and value not in made and handed:
                found.setdefault(value, name)
    return found


def _arguments(function: ast.FunctionDef) -> list[str]:
    """The names of the arguments, but for `self`."""
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return [a.arg for number, a in enumerate(given) if number or a.arg != "self"]


@functools.lru_cache(maxsize=128)
def _entering_module(source: SourceMap, path: str) -> frozenset[int]:
    """The Values that the module's nodes read and that neither they nor its parameters are."""
    within = [n for n in source.graph.nodes if inside(n.module, path)]
    made = {v for n in within for v in n.outputs}
    read = {v for n in within for v in references(n)} - made
    return frozenset(v for v in read if source.graph.value(v).origin in ("input", "node"))


def _first_binding(body: Iterable[ast.stmt], name: str) -> int:
    """The line from which on the name may mean something else than where the code begins."""
    inner = (s for statement in body for s in walk(statement) if isinstance(s, ast.stmt))
    return min((s.lineno for s in inner if name in bound_names(s)), default=10**9)


def _entered(source: SourceMap, node: Node, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The Values that the node reads by a name, also those that a container of modules hands to its first one."""
    yield from named_operands(source, node, tree, {})
    if isinstance(tree, ast.Call) and module_path(tree.func) and len(tree.args) == 1:
        given, first = tree.args[0], next(references(source.nodes_at[source.span(tree)][0]), None)
        if isinstance(given, ast.Name) and first is not None:
            yield first, given.id
