"""How often a piece of code ran, and which nodes each time: for several modules, in several calls, in a loop."""

import ast
import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.place.instance import inside, instances
from kernelwright.place.source_map import SourceMap
from kernelwright.place.variables import called_path, chosen, loop_around
from kernelwright.source.trees import children
from kernelwright.values import Node

_REPEATING = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Code:
    """The body of a function, or that of the innermost loop in it, which runs as a whole."""

    function: ast.FunctionDef
    loop: ast.For | None

    @property
    def body(self) -> list[ast.stmt]:
        return self.loop.body if self.loop is not None else self.function.body


@dataclass(frozen=True)
class Pass:
    """One time that a module ran a piece of code.

    `path`: that of the module which `self` is. `here`: the nodes that were made. `modules`: the written path of each
    module that a variable chooses, by its path from `self` on: {"layers.3": "@layer"}.
    """

    path: str
    here: tuple[int, ...]
    modules: tuple[tuple[str, str], ...] = ()


def code_of(source: SourceMap, nodes: Sequence[int]) -> Code | None:
    """The code in which all of these nodes stand; None where they stand in several functions or loops."""
    trees = [source.expression(source.graph.nodes[n]) for n in nodes]
    around = {(source.function(tree), loop_around(source, tree)) if tree else (None, None) for tree in trees}
    function, loop = around.pop()
    return Code(function, loop) if function is not None and not around else None


@functools.lru_cache(maxsize=64)
def passes(source: SourceMap, code: Code) -> tuple[Pass, ...]:
    """Each time that the code ran, in the order of the modules' paths and of execution. Empty where that cannot be told."""
    parent = source.parents[code.function]
    if isinstance(parent, ast.ClassDef):
        held = instances(source, parent)
    elif isinstance(parent, ast.Module):
        held = {"": tuple(n.id for n in source.graph.nodes if _function_of(source, n) is code.function)}
    else:
        return ()
    return tuple(one for path in sorted(held) for one in _split(source, code, path, held[path]))


def spelled(source: SourceMap, node: Node, one: Pass) -> str:
    """The path of the node's module as the code would write it, from `self` or a variable on."""
    if not inside(node.module, one.path) or node.module == one.path:
        return ""
    path = _below(node.module, one.path)
    written = called_path(source, node) or ""
    own = next((c for c, w in one.modules if w == written and inside(path, c)), None)
    return written + path[len(own) :] if own is not None else name_of(path, one)


def name_of(path: str, one: Pass) -> str:
    """A path that counts from `self`, beginning with the variable that holds the module where there is one."""
    concrete, written = max(
        ((c, w) for c, w in one.modules if inside(path, c)), key=lambda pair: len(pair[0]), default=("", "")
    )
    return written + path[len(concrete) :] if concrete else path


def _below(module: str, path: str) -> str:
    return module.removeprefix(f"{path}.") if path else module


def _function_of(source: SourceMap, node: Node) -> ast.FunctionDef | None:
    tree = source.expression(node)
    return source.function(tree) if tree is not None else None


def _split(source: SourceMap, code: Code, path: str, made: Sequence[int]) -> Iterator[Pass]:
    """The passes of the module at `path`, which made the nodes `made` in the code of its class.

    A pass ends where the next node stands before the last one in the code, or where a variable has come to hold
    another module. What other functions made before a node of the code belongs to the node's pass.
    """
    order = _order(code)
    here: list[int] = []
    others: list[int] = []
    modules: dict[str, str] = {}
    last = -1
    for node in (source.graph.nodes[n] for n in made):
        unit = _unit(source, code, node)
        if unit is None:
            others += [node.id] if _function_of(source, node) is not code.function else []
            continue
        means = chosen(source, node) if unit is source.expression(node) else {}
        if here and (order[unit] < last or any(modules.get(w, c) != c for w, c in means.items())):
            yield Pass(path, tuple(here), _pairs(modules))
            here, modules = [], {}
        here += [*others, node.id]
        others = []
        modules |= means
        last = order[unit]
    if here:
        yield Pass(path, tuple(here), _pairs(modules))


def _pairs(modules: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((concrete, written) for written, concrete in modules.items())


def _unit(source: SourceMap, code: Code, node: Node) -> ast.AST | None:
    """The expression that made the node, or the outermost loop inside the code around it; None where it stands elsewhere."""
    tree = source.expression(node)
    if tree is None or source.function(tree) is not code.function:
        return None
    unit, child, parent = tree, tree, source.parents.get(tree)
    while parent is not None and parent is not (code.loop or code.function):
        if isinstance(parent, _REPEATING):
            unit = parent
        child, parent = parent, source.parents.get(parent)
    return unit if parent is not None and child in code.body else None


@functools.lru_cache(maxsize=64)
def _order(code: Code) -> Mapping[ast.AST, int]:
    """The number of each expression and statement of the code, in the order in which they are done with."""
    order: dict[ast.AST, int] = {}

    def number(tree: ast.AST) -> None:
        parts = children(tree)
        if isinstance(tree, ast.Assign | ast.AnnAssign) and tree.value is not None:
            parts = [tree.value, *(part for part in parts if part is not tree.value)]
        for part in parts:
            number(part)
        order[tree] = len(order)

    for statement in code.body:
        number(statement)
    return order


@functools.lru_cache(maxsize=16)
def run_numbers(source: SourceMap) -> Mapping[int, Hashable]:
    """For each node that stands in the text what is the same for those, and only those, of one run of one piece of code."""
    found: dict[int, Hashable] = {}
    for node in source.graph.nodes:
        code = code_of(source, (node.id,)) if node.id not in found else None
        for number, one in enumerate(passes(source, code) if code is not None else ()):
            found |= dict.fromkeys((n for n in one.here if code_of(source, (n,)) == code), (code, number))
        found.setdefault(node.id, code)
    return found
