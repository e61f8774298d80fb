"""Scans: running folds along one axis of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.nest.form import Element, Fold, Var
from kernelwright.nest.index import Index
from kernelwright.nest.pointwise import as_number
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Row
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

_FLOATS = frozenset({"float32", "float16", "bfloat16"})


def scanned(builder: Builder, node: Node, known: Row, index: tuple[Index, ...]) -> Element:
    """A running fold along one axis: forwards where the index grows with it, backwards where it shrinks."""
    source, options = node.args[0], builder.arguments(node)
    assert isinstance(source, TensorRef)
    if builder.graph.value(node.outputs[0]).type.dtype not in _FLOATS or not index:
        raise NotExpressible(f"{node.op} of whole numbers.", node)
    dim = options["dim"]
    assert isinstance(dim, int)
    along = [name for name in index[dim].names() if name in builder.axes]
    way = index[dim].coefficient(along[0]) if len(along) == 1 else None
    if way not in (1, -1):
        raise NotExpressible(f"{node.op} along more than one dim of the result.", node)
    if any(along[0] in set(place.names()) for d, place in enumerate(index) if d != dim % len(index)):
        raise NotExpressible(f"{node.op} along a diagonal.", node)
    body = builder.element(source.id, index)
    number = body.expr
    if body.kind == "bool":
        number = Var(builder.let("number", as_number(number)))
    builder.say(node.op)
    fold = Fold(known.fold, number, (along[0],), builder.inside, running=True, reverse=way < 0)
    return Element(Var(builder.let(known.result, fold)))
