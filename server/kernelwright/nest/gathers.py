"""Elements that a tensor of indices picks: each index is checked, as torch raises for those that are out of range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.nest.form import Element
from kernelwright.nest.index import Index
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.expression import Apply, Var
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

Place = tuple[Index, ...]


def picks(node: Node) -> bool:
    """Whether a subscript is one tensor."""
    return isinstance(node.kwargs.get("index"), TensorRef)


def _tensor(node: Node, argument: object) -> TensorRef:
    if not isinstance(argument, TensorRef):
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    return argument


def _rank(builder: Builder, value: TensorRef) -> int:
    return len(builder.graph.value(value.id).type.shape)


def _dim(builder: Builder, node: Node, source: TensorRef) -> int:
    dim = builder.arguments(node)["dim"]
    if not isinstance(dim, int) or not _rank(builder, source):
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    return dim % _rank(builder, source)


# Rows of a table


def embedded(builder: Builder, node: Node, index: Place) -> Element:
    options = builder.arguments(node)
    if options["max_norm"] is not None:
        raise NotExpressible(f"{node.op} with max_norm changes its weight.", node)
    table, by = _tensor(node, options["weight"]), _tensor(node, options["input"])
    builder.say(node.op)
    return builder.gathered(table.id, (Index(), index[-1]), 0, builder.whole_element(by.id, index[:-1]))


def embedded_size(builder: Builder, node: Node, dim: int) -> Index:
    options = builder.arguments(node)
    table, by = _tensor(node, options["weight"]), _tensor(node, options["input"])
    rank = _rank(builder, by)
    return builder.sizes.of(by.id, dim) if dim < rank else builder.sizes.of(table.id, 1)


# A dim whose elements a vector picks


def selected(builder: Builder, node: Node, index: Place) -> Element:
    options = builder.arguments(node)
    source, by = _tensor(node, options["input"]), _tensor(node, options["index"])
    dim = _dim(builder, node, source)
    if not _rank(builder, by):
        raise NotExpressible(f"{node.op} of a single index has no form here.", node)
    builder.say(node.op)
    return builder.gathered(source.id, index, dim, builder.whole_element(by.id, (index[dim],)))


def selected_size(builder: Builder, node: Node, dim: int) -> Index:
    options = builder.arguments(node)
    source, by = _tensor(node, options["input"]), _tensor(node, options["index"])
    return builder.sizes.of(by.id, 0) if dim == _dim(builder, node, source) else builder.sizes.of(source.id, dim)


# An index for each element


def gathered(builder: Builder, node: Node, index: Place) -> Element:
    options = builder.arguments(node)
    source, by = _tensor(node, options["input"]), _tensor(node, options["index"])
    dim = _dim(builder, node, source)
    shapes = [list(builder.graph.value(one.id).type.shape) for one in (source, by)]
    for shape in shapes:
        shape[dim] = 1
    if shapes[0] != shapes[1]:
        raise NotExpressible(f"{node.op} of a part of the elements has no form here.", node)
    builder.say(node.op)
    return builder.gathered(source.id, index, dim, builder.whole_element(by.id, index))


def gathered_size(builder: Builder, node: Node, dim: int) -> Index:
    return builder.sizes.of(_tensor(node, builder.arguments(node)["index"]).id, dim)


# A subscript, which counts from the end where it is negative


def subscripted(builder: Builder, node: Node, index: Place) -> Element:
    source, by = _tensor(node, node.args[0]), _tensor(node, node.kwargs["index"])
    rank = _rank(builder, by)
    given = Var(builder.whole_element(by.id, index[:rank]))
    length = builder.sizes.index(source.id, 0)
    from_end = Apply("where", (Apply("lt", (given, Index())), Apply("add", (given, length)), given))  # type: ignore[arg-type]
    name = builder.let("place", from_end, kind="int")
    builder.say(node.op)
    return builder.gathered(source.id, (Index(), *index[rank:]), 0, name)


def subscripted_size(builder: Builder, node: Node, dim: int) -> Index:
    source, by = _tensor(node, node.args[0]), _tensor(node, node.kwargs["index"])
    rank = _rank(builder, by)
    return builder.sizes.of(by.id, dim) if dim < rank else builder.sizes.of(source.id, dim - rank + 1)
