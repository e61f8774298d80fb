"""What a region makes as a whole: the dims of its result, their axes, and the shapes that count as full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelwright.nest import convolutions
from kernelwright.nest.form import Axis, Extent, Inside
from kernelwright.nest.index import Index, variable
from kernelwright.nest.layouts import order_of
from kernelwright.ops import Kind, row
from kernelwright.values import TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder


def dims_of(
    builder: Builder, output: int, names: Sequence[str]
) -> tuple[tuple[Axis, ...], tuple[Index, ...], tuple[Inside, ...]]:
    """The dims of the result, the place in each, and which of these places there are; makes the axes of the result.

    Where a convolution splits dims, what is not walked through side by side comes in front.
    """
    shape = builder.graph.value(output).type.shape
    sizes = [builder.sizes.of(output, d) for d in range(len(shape))]
    dims = tuple(
        Axis(name, Extent(captured, size.text()), size=size)
        for name, captured, size in zip(names, shape, sizes, strict=True)
    )
    found: dict[int, convolutions.Split] = {}
    for node in (builder.graph.nodes[n] for n in sorted(builder.nodes)):
        if convolutions.convolves(node):
            found |= {len(shape) + d: split for d, split in convolutions.splits(builder, node).items()}
    front, rest, places, bounded = list[Axis](), list[Axis](), list[Index](), list[Inside]()
    for d, dim in enumerate(dims):
        split = found.get(d)
        if split is None:
            (rest if d or not found else front).append(dim)
            places.append(variable(dim.name))
            continue
        names_of = (
            (dim.name, builder.fresh(f"{dim.name}_residue")) if split.residues else (builder.fresh("group"), dim.name)
        )
        outer, inner = Axis(names_of[0], split.outer), Axis(names_of[1], split.inner)
        front.append(inner if split.residues else outer)
        rest.append(outer if split.residues else inner)
        place = variable(outer.name) * split.by + variable(inner.name)
        builder.split[place] = names_of
        places.append(place)
        if split.residues:
            bounded.append(Inside(place, None, variable(builder.sizes.name(sizes[d].text(), f"out_{dim.name}"))))
    found_order = order(builder, output)
    builder.axes |= {axis.name: axis for axis in ((dims[d] for d in found_order) if found_order else (*front, *rest))}
    return dims, tuple(places), tuple(bounded)


def order(builder: Builder, result: int) -> tuple[int, ...]:
    """The dims of a result in the order of memory, where that is not their own."""
    return order_of(builder.graph.value(result).type) if builder.given.layouts else ()


def full_shapes(builder: Builder) -> frozenset[tuple[int, ...]]:
    """The shapes of what is computed, and of what is pooled: their dims of size 1 are like any others.

    Where rows are folded, those of their elements alone.
    """
    made = [v for v, node in builder.producers.items() if row(node.op).kind is not Kind.CREATION]
    read = [node.args[0] for node in builder.producers.values() if row(node.op).kind is Kind.POOLING]
    made += [argument.id for argument in read if isinstance(argument, TensorRef)]
    if builder.given.rows:
        made += [node.tensor() for node in builder.producers.values() if row(node.op).over is not None]
    shapes = frozenset(builder.graph.value(value).type.shape for value in made)
    most = max(map(math.prod, shapes), default=0)
    return frozenset(s for s in shapes if math.prod(s) == most) if builder.given.rows else shapes
