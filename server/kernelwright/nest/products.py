"""Matrix products: rows of one operand with columns of another, batch dims broadcast, a linear layer's bias added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.nest.form import Contract, Element, Extent
from kernelwright.nest.index import Index
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.expression import Apply, Var
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

_FLOATS = ("float32", "float16", "bfloat16")


def product(builder: Builder, node: Node, index: tuple[Index, ...]) -> Element:
    """The element of the product at `index`. Raises NotExpressible."""
    left, right, linear = _operands(builder, node)
    shape = builder.graph.value(left.id).type.shape
    depth = builder.sizes.of(left.id, len(shape) - 1)
    inner = builder.axis("inner", Extent(shape[-1], depth.text()), inner=True)
    *batch, row, column = index
    own = (column, inner) if linear else (inner, column)
    sides = (
        _side(builder, node, left, (*batch, row, inner)),
        _side(builder, node, right, own if linear else (*batch, *own)),
    )
    builder.say(node.op)
    (over,) = inner.names()
    total = Element(Var(builder.let("product", Contract(*sides, over))))
    bias = builder.arguments(node).get("bias")
    if not isinstance(bias, TensorRef):
        return total
    added = builder.element(bias.id, builder.aligned(bias.id, index))
    return Element(Var(builder.let("biased", Apply("add", (total.expr, added.expr)))))  # type: ignore[arg-type]


def _operands(builder: Builder, node: Node) -> tuple[TensorRef, TensorRef, bool]:
    """Both operands, and whether the second has its columns in front, as the weight of a linear layer has."""
    left, right, *_ = (*node.args, None, None)
    result = builder.graph.value(node.outputs[0]).type
    if not isinstance(left, TensorRef) or not isinstance(right, TensorRef) or result.dtype not in _FLOATS:
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    shapes = [builder.graph.value(operand.id).type.shape for operand in (left, right)]
    if min(len(shape) for shape in shapes) < 2:
        raise NotExpressible(f"{node.op} of a vector is no product of matrices.", node)
    return left, right, "weight" in builder.arguments(node)


def _side(builder: Builder, node: Node, operand: TensorRef, index: tuple[Index, ...]) -> str:
    element = builder.element(operand.id, builder.aligned(operand.id, index))
    if element.kind == "bool" or not isinstance(element.expr, Var):
        raise NotExpressible(f"{node.op} of booleans or constants has no form here.", node)
    return element.expr.name


def size(builder: Builder, node: Node, dim: int) -> Index:
    """The size of the product in a dim."""
    left, right, linear = _operands(builder, node)
    result = builder.graph.value(node.outputs[0]).type.shape
    shapes = [builder.graph.value(operand.id).type.shape for operand in (left, right)]
    if dim == len(result) - 1:
        return builder.sizes.of(right.id, 0 if linear else len(shapes[1]) - 1)
    for operand, shape in zip((left, right), shapes, strict=True):
        own = dim - len(result) + len(shape)
        if own >= 0 and shape[own] == result[dim] and (operand is left or dim < len(result) - 2):
            return builder.sizes.of(operand.id, own)
    raise NotExpressible(f"A size of the result of {node.op} does not follow from the inputs.", node)
