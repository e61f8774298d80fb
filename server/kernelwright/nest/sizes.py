"""How a launcher writes the sizes of a region's Values, from the shapes of its inputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelwright.nest import convolutions, products, reductions, views, windows
from kernelwright.nest.index import Index, constant, variable
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Kind, row
from kernelwright.values import TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder


class Sizes:
    """The sizes of the Values that a builder knows.

    A size is an Index whose names are texts of the launcher: `x.shape[1]`, a parameter, or a rounded quotient.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self.names: dict[str, str] = {}  # of sizes in index expressions -> the launcher's text

    def of(self, id_: int, dim: int) -> Index:
        """The size of a Value in `dim`. Raises NotExpressible where it does not follow from the inputs' shapes."""
        builder = self._builder
        shape = builder.graph.value(id_).type.shape
        node = builder.producers.get(id_)
        if shape[dim] == 1 and shape not in builder.full and not (builder.given.rows and node is not None):
            return constant(1)
        if node is None:
            return variable(f"{builder.tensor(id_).name}.shape[{dim}]")
        known = row(node.op)
        if known.kind is Kind.POOLING and known.fold:
            return windows.size(builder, node, dim, known)
        if known.over is not None and known.kind in (Kind.REDUCTION, Kind.LOSS, Kind.POOLING):
            return reductions.size(builder, node, known, dim)
        if known.kind is Kind.CONVOLUTION:
            return convolutions.size(builder, node, dim)
        if known.multiplies:
            return products.size(builder, node, dim)
        if of := views.size(node.op):
            return of(builder, node, dim)
        given = [argument for argument in node.args if isinstance(argument, TensorRef)]
        for argument in sorted(given, key=lambda one: builder.graph.value(one.id).type.shape not in builder.full):
            own = builder.graph.value(argument.id).type.shape
            d = dim - len(shape) + len(own)
            if d >= 0 and own[d] == shape[dim]:
                return self.of(argument.id, d)
        raise NotExpressible(f"A size of the result of {node.op} does not follow from the inputs.", node)

    def index(self, id_: int, dim: int) -> Index:
        """The size of a Value in `dim` in an index expression: in terms of an axis' extent where it can be."""
        size = self.of(id_, dim)
        if size.constant is not None:
            return size
        for axis in self._builder.axes.values():
            apart = (size - axis.size).constant if axis.size is not None else None
            if apart is not None:
                return variable(extent_of(axis.name)) + apart
        return variable(self.name(size.text(), "size"))

    def name(self, text: str, base: str) -> str:
        """The name in index expressions of a size that the launcher writes so."""
        name = next((known for known, of in self.names.items() if of == text), None)
        if name is None:
            name = self._builder.fresh(base)
            self.names[name] = text
        return name


def extent_of(axis: str) -> str:
    """The name of an axis' extent in index expressions, before code is written."""
    return f"|{axis}|"


_DIMS = re.compile(r"(\w+)\.shape\[(-?\d+)(?::(-?\d*)\]\.numel\(\)|\])")


def _end(dims: re.Match[str]) -> int:
    """The dim behind the last one of a match of _DIMS; 0 for that of dims which are counted from the end."""
    return int(dims[2]) + 1 if dims[3] is None else int(dims[3] or 0)


def product_text(texts: Sequence[str]) -> str:
    """A product of sizes as the launcher writes it: neighbouring dims of one tensor as a slice of its shape."""
    parts: list[str] = []
    for text in texts:
        own, before = _DIMS.fullmatch(text), _DIMS.fullmatch(parts[-1]) if parts else None
        if own and before and own[1] == before[1] and _end(before) == int(own[2]):
            parts[-1] = f"{own[1]}.shape[{before[2]}:{_end(own) or ''}].numel()"
        else:
            parts.append(text)
    return " * ".join(f"({text})" if " " in text and len(parts) > 1 else text for text in parts)
