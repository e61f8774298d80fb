"""The rows that reductions and normalisations run over, and whether they are those of a region."""

import math
from dataclasses import dataclass

from kernelwright.micro.rewrite.program import ELEMENT, ROW, Domain
from kernelwright.micro.rewrite.scope import FLOATS, Known, NotLowerable, Scope
from kernelwright.micro.rewrite.steps import lower_steps
from kernelwright.ops import Over, row
from kernelwright.values import Graph, Node, TensorRef, TensorType


@dataclass(frozen=True)
class RowShape:
    """A tensor of some shape as (outer, length, inner), reduced over `axes` of it (None: groups of channels)."""

    outer: int
    length: int
    inner: int
    axes: tuple[int, int] | None
    groups: int = 0


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
        return RowShape(shape[0] * groups, math.prod(shape[1:]) // groups, 1, None, groups)
    dims = _reduced_dims(node, shape)
    if dims is None or not dims or dims != tuple(range(dims[0], dims[-1] + 1)):
        return None
    start, stop = dims[0], dims[-1] + 1
    return RowShape(math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(shape[stop:]), (start, stop))


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


def domain_of(graph: Graph, node: Node) -> Domain | None:
    """The Domain that a reduction sets for its region, not yet tied to an input."""
    rows = row_shape(graph, node)
    first = node.args[0]
    if rows is None or not isinstance(first, TensorRef):
        return None
    shape = graph.value(first.id).type.shape
    return Domain(first.id, shape, rows.outer, rows.length, rows.inner, rows.axes, rows.groups)


def lower_reduction(low: Scope, node: Node) -> None:
    """Append the lines of `node`. Raises NotLowerable where its rows are not those of the domain."""
    first = node.args[0]
    rows = row_shape(low.graph, node)
    if rows is None or not isinstance(first, TensorRef):
        raise NotLowerable(f"{node.op} over dims that do not lie side by side.", node)
    source = low.graph.value(first.id).type
    if source.dtype == "float64" or node.kwargs.get("dtype") not in (None, source.dtype):
        raise NotLowerable(f"{node.op} with another dtype.", node)
    _check_output(low, node, source)
    known = low.known.get(first.id)
    if known is not None and known.level == ROW:
        _reduce_single(low, node, rows)
        return
    if (rows.outer, rows.length, rows.inner) != (low.domain.outer, low.domain.length, low.domain.inner):
        raise NotLowerable(f"{node.op} runs over other rows than the rest.", node)
    x = low.operand(first.id, ELEMENT, source.shape, node)
    if x.level != ELEMENT:
        raise NotLowerable(f"{node.op} of a number.", node)
    lower_steps(low, node, row(node.op), x)


def _check_output(low: Scope, node: Node, source: TensorType) -> None:
    dtype = low.graph.value(node.outputs[0]).type.dtype
    if dtype == "int64" and source.dtype in FLOATS:
        return  # the places of extremes
    if dtype not in FLOATS:
        raise NotLowerable(f"{node.op} computes in {dtype}.", node)
    unused = [v for v in node.outputs[1:] if v in low.graph.outputs]
    unused += [
        v for n in low.graph.nodes for a in n.args if isinstance(a, TensorRef) for v in [a.id] if v in node.outputs[1:]
    ]
    if unused:
        raise NotLowerable(f"The indices of {node.op} are used.", node)


def _reduce_single(low: Scope, node: Node, rows: RowShape) -> None:
    """Over a dim of size 1, which an earlier reduction has left, most reductions change nothing."""
    first = node.args[0]
    if rows.length != 1 or not row(node.op).of_one or not isinstance(first, TensorRef):
        raise NotLowerable(f"{node.op} reduces what was reduced before.", node)
    known = low.known[first.id]
    low.known[node.outputs[0]] = Known(known.text, ROW, low.graph.value(node.outputs[0]).type.shape)
