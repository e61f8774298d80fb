"""Operators with one number for each channel beside the image: batch normalisation on running statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.nest.form import Const, Element, Var
from kernelwright.nest.index import Index
from kernelwright.nest.pointwise import substituted
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Row
from kernelwright.ops.expression import parse
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder


def computed(builder: Builder, node: Node, known: Row, index: tuple[Index, ...]) -> Element:
    """The element at `index`, by the steps of the row's meaning. Raises NotExpressible."""
    elements: dict[str, Element] = {}
    literals: dict[str, object] = {}
    for name, argument in builder.arguments(node).items():
        literals[name] = builder.literal(node, name, argument)
        if isinstance(argument, TensorRef):
            elements[name] = builder.element(argument.id, (index[1],) if elements else index)
        elif isinstance(argument, int | float) and not isinstance(argument, bool):
            elements[name] = Element(builder.number(node, name, argument))
    steps = known.meaning(literals) if callable(known.meaning) else known.meaning
    if steps is None or isinstance(steps, str) or known.over is not None:
        raise NotExpressible(f"{node.op} with these options has no form here.", node)
    for step in steps:
        expr = substituted(builder, node, parse(step.text), elements)
        if isinstance(expr, Var | Const):
            elements[step.name] = Element(expr)
        else:
            elements[step.name] = Element(Var(builder.let(step.name, expr)))
    builder.say(node.op)
    return elements[steps[-1].name]
