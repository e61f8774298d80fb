"""Whether a fused region is right for tensors with more, or fewer, leading dimensions than the workload's."""

import ast
from collections.abc import Sequence

from kernelwright.micro.rewrite.row_shapes import folds
from kernelwright.nest.aligned import lies_at_the_end
from kernelwright.nest.form import Nest
from kernelwright.nest.rows import elements, folded_dims
from kernelwright.ops import Over, row
from kernelwright.place.source_env import environment
from kernelwright.place.source_map import SourceMap, is_module_call, operands
from kernelwright.values import Graph, Node

_FROM_THE_FIRST = (Over.POSITIONS, Over.GROUPS)  # dims that are counted behind batch and channels


def rows_count_from_the_end(source: SourceMap, nodes: Sequence[Node], nest: Nest) -> bool:
    """Whether everything that a region of rows does is told from the last dimension, as the text writes it.

    Dims that the text counts from the first one, and views, mean something else with one more in front.
    """
    main, along = nest.main, nest.along
    turned = nest.stored.order or any(tensor.order for tensor in nest.tensors)
    if along is None or turned or nest.needs or nest.walk is None or nest.walk.groups is not None:
        return False
    rows = [row(node.op) for node in nodes]
    if any(one.reshapes or one.per_channel or one.over in _FROM_THE_FIRST for one in rows):
        return False
    columns = folded_dims(nest)
    shapes = {source.graph.value(v).type.shape for node in nodes for v in node.outputs[:1]}
    kept = tuple(size for d, size in enumerate(main.shape) if d not in columns)
    once = tuple(1 if d in columns else size for d, size in enumerate(main.shape))
    of_rows = {kept, once}
    if not shapes <= {main.shape, *of_rows, ()}:
        return False
    others = (tensor for tensor in nest.tensors if tensor is not main)
    if not all(lies_at_the_end(t, main, along[t.name]) or t.shape in of_rows for t in others):
        return False
    return all(_folds_from_the_end(source, node, nest, columns) for node in nodes if folds(node))


def _folds_from_the_end(source: SourceMap, node: Node, nest: Nest, columns: range) -> bool:
    rank = len(nest.main.shape)
    if source.graph.value(node.tensor()).type.shape != nest.main.shape:
        return False
    whole = columns == range(rank)
    if row(node.op).over is Over.ALL:
        return whole and rank > 1
    if row(node.op).over is Over.LAST:
        return not whole or rank == 1
    if not whole and nest.stored.name in elements(nest) and node.kwargs.get("keepdim") is False:
        return False  # what is left of the row broadcasts to other dims with one more in front
    dims = written_dims(source, node)
    if dims == ():
        return whole and rank > 1 and not node.kwargs.get("keepdim")
    return dims is not None and all(d < 0 for d in dims) and (not whole or rank == 1)


def counts_from_the_end(graph: Graph, nodes: Sequence[Node], nest: Nest) -> bool:
    """Whether everything that a run of pointwise nodes does is told from the last dimension, as torch broadcasts."""
    main, along = nest.main, nest.along
    rows = [row(node.op) for node in nodes]
    turned = nest.stored.order or any(tensor.order for tensor in nest.tensors)
    if along is None or turned or not nest.pointwise or any(one.reshapes or one.per_channel for one in rows):
        return False
    shapes = {graph.value(v).type.shape for node in nodes for v in node.outputs[:1]}
    others = (tensor for tensor in nest.tensors if tensor is not main)
    return shapes <= {main.shape, ()} and all(lies_at_the_end(t, main, along[t.name]) for t in others)


def folds_dims(node: Node) -> bool:
    """Whether it folds dims, other than those of a normalized shape, which are the last ones."""
    return folds(node) and row(node.op).over is not Over.LAST


def written_dims(source: SourceMap, node: Node) -> tuple[int, ...] | None:
    """The dims of a reduction as the text counts them, () for all of them; None where that cannot be told."""
    tree = source.expression(node)
    if not isinstance(tree, ast.Call) or is_module_call(node, tree):
        return None
    statement, function = source.statement(tree), source.function(tree)
    if function is None:
        return None
    given = operands(source, node, tree, environment(source, function, set(), statement))
    if "input" not in given:
        return None
    written = given.get("dim")
    try:
        dims = ast.literal_eval(written) if written is not None else ()
    except ValueError:
        return None
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    every = tuple(range(len(source.graph.value(node.tensor()).type.shape)))
    normal = tuple(sorted(d % len(every) for d in dims)) or every
    captured = node.kwargs.get("dim")
    return dims if normal == ((captured,) if isinstance(captured, int) else captured) else None
