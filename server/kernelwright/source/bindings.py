"""What the names of a function are given, and the loops that they run over: read alike for kernels and their launchers."""

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelwright.source.calls import argument
from kernelwright.source.trees import inside, walk


@dataclass(frozen=True)
class Binding:
    """A value that `node` gives to a name: of one that is unpacked `value[i]`, of `+=` the sum, of a loop what it runs over."""

    name: str
    value: ast.expr
    node: ast.AST


@dataclass(frozen=True)
class Loop:
    """A loop over `range(start, stop, step)`, or over something else (`range` None)."""

    node: ast.For
    range: ast.Call | None

    @property
    def step(self) -> ast.expr | None:
        """The step of the range, None for the default of 1."""
        return argument(self.range, 2, "step") if self.range is not None else None


def loop_of(node: ast.For) -> Loop:
    """What a `for` runs over."""
    match node.iter:
        case ast.Call(func=ast.Name(id="range") | ast.Attribute(attr="range" | "static_range")) as call:
            return Loop(node, call)
    return Loop(node, None)


@functools.lru_cache(maxsize=256)
def nodes_of(function: ast.FunctionDef) -> tuple[ast.AST, ...]:
    """Every node of a function's body, in order of the text, without those of functions inside it."""
    return tuple(inside(function.body))


@functools.lru_cache(maxsize=256)
def bindings_of(function: ast.FunctionDef) -> tuple[Binding, ...]:
    """All bindings of a function, in order of the text, without those of functions inside it."""
    return tuple(bindings(nodes_of(function)))


def bindings(nodes: Iterable[ast.AST]) -> Iterator[Binding]:
    """The bindings that these nodes make themselves."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _unpacked(target, value, node)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield Binding(name, value, node)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                yield Binding(name, value, node)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                old = ast.copy_location(ast.Name(name, ast.Load()), target)
                yield Binding(name, ast.copy_location(ast.BinOp(old, op, value), node), node)
            case ast.For(target=target, iter=value):
                yield from (Binding(part.id, value, node) for part in walk(target) if isinstance(part, ast.Name))


def _unpacked(target: ast.expr, value: ast.expr, node: ast.AST) -> Iterator[Binding]:
    match target, value:
        case ast.Name(id=name), _:
            yield Binding(name, value, node)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values):
            if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    yield from _unpacked(one, its, node)
        case ast.Tuple(elts=targets) | ast.List(elts=targets), _:
            for index, one in enumerate(targets):
                item = ast.Subscript(value, ast.copy_location(ast.Constant(index), one), ast.Load())
                yield from _unpacked(one, ast.copy_location(item, value), node)
