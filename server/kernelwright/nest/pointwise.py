"""Pointwise operators: one element of the result from those of the operands at the same place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernelwright.nest.form import Apply, Const, Element, Expr, Var
from kernelwright.nest.index import Index
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Row
from kernelwright.ops.expression import parse
from kernelwright.ops.primitives import is_boolean, truths
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

_READABLE = frozenset({"float32", "float16", "bfloat16", "bool"})


def computed(builder: Builder, node: Node, known: Row, index: tuple[Index, ...]) -> Element:
    """The element of a pointwise operator at `index`, by its row's meaning. Raises NotExpressible."""
    type_ = builder.graph.value(node.outputs[0]).type
    if type_.dtype not in _READABLE:
        raise NotExpressible(f"{node.op} computes in {type_.dtype}.", node)
    if type_.dtype == "bool" and sum(_is_whole(builder, argument) for argument in node.args) > 1:
        raise NotExpressible(f"{node.op} of whole numbers that fp32 may not tell apart.", node)
    elements: dict[str, Element] = {}
    literals: dict[str, object] = {}
    for name, argument in builder.arguments(node).items():
        literals[name] = builder.literal(node, name, argument)
        if isinstance(argument, TensorRef):
            elements[name] = builder.element(argument.id, builder.aligned(argument.id, index))
        elif isinstance(argument, int | float) and not isinstance(argument, bool):
            elements[name] = Element(builder.number(node, name, argument))
    if any(element.kind == "int" for element in elements.values()):
        raise NotExpressible(f"{node.op} of whole numbers has no form here.", node)
    text = known.meaning(literals) if callable(known.meaning) else known.meaning
    if not isinstance(text, str):
        raise NotExpressible(f"{node.op} with these options has no form here.", node)
    meaning = parse(text)
    expr = substituted(builder, node, meaning, elements)
    if isinstance(expr, Var | Const):
        kind = elements[meaning.name].kind if isinstance(meaning, Var) else "float"
        if kind == "float" or type_.dtype == "bool":
            return Element(expr, kind)
        expr = as_number(expr)
    builder.say(node.op)
    kind = "bool" if is_boolean(meaning) else "float"
    return Element(Var(builder.let(known.result or f"{node.op}_out", expr, kind=kind)), kind)


def substituted(builder: Builder, node: Node, expr: Expr, elements: Mapping[str, Element]) -> Expr:
    """The meaning with the elements in place of the parameters; booleans as numbers where numbers are asked for."""
    booleans = truths(expr)  # type: ignore[arg-type]
    whole = isinstance(expr, Var)

    def put(part: Expr) -> Expr:
        if isinstance(part, Apply):
            return Apply(part.function, tuple(put(a) for a in part.arguments))  # type: ignore[misc]
        if not isinstance(part, Var):
            return part
        found = elements.get(part.name)
        if found is None:
            raise NotExpressible(f"{node.op} with these options has no form here.", node)
        if part.name in booleans and found.kind != "bool":
            raise NotExpressible(f"{node.op} of numbers instead of booleans.", node)
        return as_number(found.expr) if found.kind == "bool" and part.name not in booleans and not whole else found.expr

    return put(expr)


def _is_whole(builder: Builder, argument: object) -> bool:
    return isinstance(argument, TensorRef) and "int" in builder.graph.value(argument.id).type.dtype


def as_number(expr: Expr) -> Expr:
    """A boolean as 1.0 or 0.0."""
    return Apply("where", (expr, Const(1.0), Const(0.0)))  # type: ignore[arg-type]
