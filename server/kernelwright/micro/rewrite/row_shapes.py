"""Over which rows the reductions and normalisations of a graph run."""

import math
from dataclasses import dataclass

from kernelwright.ops import Over, row
from kernelwright.values import Graph, Node, TensorRef


@dataclass(frozen=True)
class RowShape:
    """A tensor as (outer, length, inner), of which `length` is folded."""

    outer: int
    length: int
    inner: int


def folds(node: Node) -> bool:
    """Whether the operator folds rows and has a form for that."""
    return row(node.op).over is not None and row(node.op).meaning is not None


def row_shape(graph: Graph, node: Node) -> RowShape | None:
    """Over which rows a reduction or normalisation runs; None where its dims do not lie side by side."""
    first = node.args[0]
    if not isinstance(first, TensorRef):
        return None
    shape = graph.value(first.id).type.shape
    if not shape or 0 in shape:
        return None
    if row(node.op).over is Over.GROUPS and isinstance(node.args[1], int):
        groups = node.args[1]
        return RowShape(shape[0] * groups, math.prod(shape[1:]) // groups, 1)
    dims = _reduced_dims(node, shape)
    if dims is None or not dims or dims != tuple(range(dims[0], dims[-1] + 1)):
        return None
    start, stop = dims[0], dims[-1] + 1
    return RowShape(math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(shape[stop:]))


def _reduced_dims(node: Node, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    rank = len(shape)
    match row(node.op).over:
        case Over.LAST:
            normalized = node.args[1]
            return tuple(range(rank - len(normalized), rank)) if isinstance(normalized, tuple) else (rank - 1,)
        case Over.POSITIONS:
            return _positions(node, rank)
        case Over.ALL:
            return tuple(range(rank))
    dim = node.kwargs.get("dim")
    if isinstance(dim, int) and not isinstance(dim, bool):
        return (dim % rank,)
    return dim if isinstance(dim, tuple) else None  # type: ignore[return-value]


def _positions(node: Node, rank: int) -> tuple[int, ...] | None:
    """The dims that an image or volume has besides batch and channels; None where they are not reduced as a whole."""
    spatial = row(node.op).spatial
    if not spatial:
        return tuple(range(2, rank)) if rank > 2 else None
    size = node.kwargs.get("output_size")
    ones = size == 1 or (isinstance(size, tuple) and all(s == 1 for s in size))
    return tuple(range(rank - spatial, rank)) if ones else None
