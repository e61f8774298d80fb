"""Matrix products: rows of one operand with columns of another, batch dims broadcast, and what is added to them.

One with a side that is narrower than a tile, vectors among them, is a sum of products of elements, which a reduction makes.
"""

from __future__ import annotations

import math
import string
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.nest.form import Contract, Element, Expr, Extent, Fold
from kernelwright.nest.index import Index
from kernelwright.nest.refused import NotExpressible
from kernelwright.nest.roles import LEAST
from kernelwright.ops import row
from kernelwright.ops.expression import Apply, Const, Var
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

_FLOATS = ("float32", "float16", "bfloat16")
_ADDED = (("bias", ""), ("input", "beta"))  # what is added to a product, and the number that it is multiplied by


@dataclass(frozen=True)
class _Product:
    """Both operands, and letters for the indices of these and of the result, as einsum has them."""

    left: TensorRef
    right: TensorRef
    letters: tuple[str, str, str]

    @property
    def inner(self) -> str:
        """The letter that is summed over."""
        left, right, result = map(set, self.letters)
        return "".join((left & right) - result)


def product(builder: Builder, node: Node, index: tuple[Index, ...]) -> Element:
    """The element of the product at `index`. Raises NotExpressible."""
    found = _found(builder, node)
    place, inner = found.letters[0].index(found.inner), found.inner
    extent = builder.graph.value(found.left.id).type.shape[place]
    whole = Extent(extent, builder.sizes.of(found.left.id, place).text())
    narrow = is_narrow(builder, node)
    own = builder.reduced_axis("inner", whole, index) if narrow else builder.axis("inner", whole, inner=True)
    places = dict(zip(found.letters[2], index, strict=True)) | {inner: own}
    left, right = (
        _side(builder, node, operand, tuple(places[letter] for letter in letters))
        for operand, letters in zip((found.left, found.right), found.letters, strict=False)
    )
    builder.say(node.op)
    over = tuple(own.names())
    if narrow:
        term = builder.let("term", Apply("mul", (Var(left), Var(right))))
        name = builder.let("product", Fold("sum", Var(term), over, builder.inside))
    else:
        name = builder.let("product", Contract(left, right, over))
    if not row(node.op).matrices:
        return Element(Var(name))
    arguments = builder.arguments(node)
    total = _times(builder, node, Var(name), "alpha")
    for name, factor in _ADDED:
        added = arguments.get(name)
        if isinstance(added, TensorRef) and added not in (found.left, found.right):
            element: Expr = builder.element(added.id, builder.aligned(added.id, index)).expr
            element = _times(builder, node, element, factor)
            total = Var(builder.let("biased", Apply("add", (total, element))))  # type: ignore[arg-type]
    return Element(total)  # type: ignore[arg-type]


def is_narrow(builder: Builder, node: Node) -> bool:
    """Whether the product has a side, or an inner dim, that is narrower than a tile. Raises NotExpressible."""
    found = _found(builder, node)
    left, right, result = map(set, found.letters)
    sides = (
        (found.left, 0, (left - right) & result),
        (found.right, 1, (right - left) & result),
        (found.left, 0, {found.inner}),
    )
    return any(_extent(builder, operand, found.letters[of], letters) < LEAST for operand, of, letters in sides)


def _extent(builder: Builder, operand: TensorRef, own: str, letters: Collection[str]) -> int:
    """How many elements an operand has along some of its own letters."""
    shape = builder.graph.value(operand.id).type.shape
    return math.prod(size for letter, size in zip(own, shape, strict=True) if letter in letters)


def size(builder: Builder, node: Node, dim: int) -> Index:
    """The size of the product in a dim."""
    found = _found(builder, node)
    letter = found.letters[2][dim]
    extent = builder.graph.value(node.outputs[0]).type.shape[dim]
    for operand, letters in zip((found.left, found.right), found.letters, strict=False):
        own = letters.find(letter)
        if own >= 0 and builder.graph.value(operand.id).type.shape[own] == extent:
            return builder.sizes.of(operand.id, own)
    raise NotExpressible(f"A size of the result of {node.op} does not follow from the inputs.", node)


def _found(builder: Builder, node: Node) -> _Product:
    known = row(node.op)
    if builder.graph.value(node.outputs[0]).type.dtype not in _FLOATS:
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    places = known.matrices or (1, 2)
    operands = [node.args[place] for place in places if place < len(node.args)]
    tensors = [operand for operand in operands if isinstance(operand, TensorRef)]
    if len(tensors) < 2:
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    left, right = tensors
    letters = _lettered(builder, node, left, right) if known.matrices else _equation(node)
    found = _Product(left, right, letters)
    own, other, result = map(set, letters)
    if (
        len(found.inner) != 1
        or own | other != result | {found.inner}
        or sum(map(len, (own, other, result))) != sum(map(len, letters))
    ):
        raise NotExpressible(f"{node.op} with these indices is no product of matrices.", node)
    return found


def _lettered(builder: Builder, node: Node, left: TensorRef, right: TensorRef) -> tuple[str, str, str]:
    """Batch dims count from the last one, rows are "y", columns "z", which vectors do not have, and "x" is summed over."""
    ranks = [len(builder.graph.value(operand.id).type.shape) for operand in (left, right)]
    if min(ranks) < 1:
        raise NotExpressible(f"{node.op} of a single number is no product of matrices.", node)
    weight = "weight" in builder.arguments(node)  # which has its columns in front
    batch = string.ascii_lowercase[: max(*ranks, 2) - 2]
    own, other = (batch[len(batch) - rank + 2 :] if rank > 2 else "" for rank in ranks)
    rows, columns = ("" if rank == 1 else letter for rank, letter in zip(ranks, "yz", strict=True))
    return f"{own}{rows}x", f"{columns}x" if weight else f"{other}x{columns}", f"{batch}{rows}{columns}"


def _equation(node: Node) -> tuple[str, str, str]:
    """The letters of an equation such as "bij,kj->bik"."""
    text = node.args[0].replace(" ", "") if isinstance(node.args[0], str) else ""
    operands, arrow, result = text.partition("->")
    left, comma, right = operands.partition(",")
    if not (arrow and comma and (left + right + result).isalpha() and len(node.args) == 3):
        raise NotExpressible(f"{node.op} with this equation has no form here.", node)
    return left, right, result


def _side(builder: Builder, node: Node, operand: TensorRef, index: tuple[Index, ...]) -> str:
    element = builder.element(operand.id, builder.aligned(operand.id, index))
    if element.kind == "bool" or not isinstance(element.expr, Var):
        raise NotExpressible(f"{node.op} of booleans or constants has no form here.", node)
    return element.expr.name


def _times(builder: Builder, node: Node, expr: Expr, parameter: str) -> Expr:
    """`expr` times a number that the node has; `expr` itself where it is 1, or has none."""
    value = builder.arguments(node).get(parameter, 1) if parameter else 1
    if value == 1 and (node.id, parameter) not in builder.given.numbers:
        return expr
    if value == 0 or not isinstance(value, int | float):
        raise NotExpressible(f"{node.op} with {parameter}={value} has no form here.", node)
    factor = builder.number(node, parameter, value)
    literal = factor if not isinstance(factor, Const) else Const(float(value))
    return Var(builder.let("scaled", Apply("mul", (expr, literal))))  # type: ignore[arg-type]
