"""Views that join neighbouring dims, or split one again, while a fold runs along all of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kernelwright.nest.index import Index, constant
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import row
from kernelwright.values import Node

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

Place = tuple[Index, ...]
Dims = tuple[int, ...]


def groups(shape: Dims, result: Dims) -> list[tuple[Dims, Dims]]:
    """The dims of two shapes of as many elements, those of size 1 left out, in the smallest groups with equal products."""
    own, other = ([d for d, size in enumerate(sizes) if size != 1] for sizes in (shape, result))
    found: list[tuple[Dims, Dims]] = []
    while own and other:
        a, b = [own.pop(0)], [other.pop(0)]
        while (left := math.prod(shape[d] for d in a)) != (right := math.prod(result[d] for d in b)):
            more = own if left < right else other
            if not more:
                return []
            (a if left < right else b).append(more.pop(0))
        found.append((tuple(a), tuple(b)))
    return [] if own or other else found


def place(builder: Builder, node: Node, index: Place) -> Place:
    """The place in the operand of a view. Raises NotExpressible where it splits what nothing has joined."""
    shape, result = (builder.graph.value(v).type.shape for v in (node.tensor(), node.outputs[0]))
    found = [constant(0)] * len(shape)
    for own, other in groups(shape, result):
        parts = tuple(index[d] for d in other)
        if len(own) > 1:
            known = builder.joined.get(parts[0]) if len(other) == 1 else None
            if known is None or known[1] != tuple(shape[d] for d in own):
                raise NotExpressible(f"{node.op} joins or splits dims.", node)
            parts = known[0]
        elif len(other) > 1:
            sizes = [builder.sizes.index(node.outputs[0], d) for d in other]
            parts = (joined(builder, parts, sizes, tuple(result[d] for d in other)),)
        for d, part in zip(own, parts, strict=True):
            found[d] = part
    return tuple(found)


def joined(builder: Builder, parts: Place, sizes: list[Index], captured: Dims) -> Index:
    """The place along dims of these sizes as one number, of which is remembered what it was made of."""
    whole = Index()
    for part, size in zip(parts, sizes, strict=True):
        whole = whole * size + part
    builder.joined[whole] = parts, captured
    return whole


def size(builder: Builder, node: Node, dim: int) -> Index:
    """The size of a view in a dim: of the dims that it joins, or of an input of the view's shape."""
    result = builder.graph.value(node.outputs[0]).type.shape
    for own, other in groups(builder.graph.value(node.tensor()).type.shape, result):
        if other == (dim,):
            whole = constant(1)
            for d in own:
                whole = whole * builder.sizes.of(node.tensor(), d)
            return whole
    alike = next((value for value, tensor in builder.tensors.items() if tensor.shape == result), None)
    if alike is None:
        raise NotExpressible(f"A size that {node.op} asks for does not follow from the inputs.", node)
    return builder.sizes.of(alike, dim)


def joined_dims(builder: Builder, id_: int, dim: int) -> tuple[int, Dims] | None:
    """The operand of the view that makes a Value, and which dims of it are this one; None where they are not joined."""
    node = builder.producers.get(id_)
    if node is None or not row(node.op).reshapes:
        return None
    shape, result = (builder.graph.value(v).type.shape for v in (node.tensor(), id_))
    own = next((own for own, other in groups(shape, result) if other == (dim,)), ())
    return (node.tensor(), own) if len(own) > 1 else None
