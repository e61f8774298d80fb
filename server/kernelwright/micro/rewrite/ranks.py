"""Whether a fused region is right for tensors with more, or fewer, leading dimensions than the workload's."""

import ast
from collections.abc import Sequence

from kernelwright.micro.rewrite.program import ELEMENT, Program
from kernelwright.micro.rewrite.reductions import folds
from kernelwright.nest.aligned import lies_at_the_end
from kernelwright.nest.form import Nest
from kernelwright.nest.layouts import CONTIGUOUS
from kernelwright.ops import Over, row
from kernelwright.place.source_env import environment
from kernelwright.place.source_map import SourceMap, is_module_call, operands
from kernelwright.values import Graph, Node, TensorRef

_FROM_THE_FIRST = (Over.POSITIONS, Over.GROUPS)  # dims that are counted behind batch and channels


def takes_any_rank(source: SourceMap, nodes: Sequence[Node], program: Program) -> bool:
    """Whether everything that the region does is told from the last dimension, as the text writes it.

    Dims that the text counts from the first one, and views, mean something else with one more in front.
    """
    domain = program.domain
    if domain.layout != CONTIGUOUS or program.transposes or domain.axes is None:
        return False
    rows = [row(node.op) for node in nodes]
    if any(one.reshapes or one.per_channel or one.over in _FROM_THE_FIRST for one in rows):
        return False
    shapes = {source.graph.value(v).type.shape for node in nodes for v in node.outputs[:1]}
    kept = tuple(size for d, size in enumerate(domain.shape) if not domain.axes[0] <= d < domain.axes[1])
    once = tuple(1 if domain.axes[0] <= d < domain.axes[1] else size for d, size in enumerate(domain.shape))
    if not shapes <= {domain.shape, kept, once, ()}:
        return False
    return all(_follows_from_the_end(program, number) for number in range(len(program.operands))) and all(
        _reduces_from_the_end(source, node, program) for node in nodes if folds(node)
    )


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


def _follows_from_the_end(program: Program, number: int) -> bool:
    """Whether an operand that broadcasts does it from the last dimension, as torch does."""
    operand, rank = program.operands[number], len(program.domain.shape)
    if operand.terms is None and operand.level == ELEMENT:
        return operand.shape == program.domain.shape
    if operand.terms == ():
        return True
    if operand.level != ELEMENT:
        return operand.terms is None and operand.places is not None
    own = operand.places or ()
    lead = rank - len(own)
    return bool(own) and all(place in (None, lead + d) for d, place in enumerate(own))


def _reduces_from_the_end(source: SourceMap, node: Node, program: Program) -> bool:
    first, shape, axes = node.args[0], program.domain.shape, program.domain.axes
    if not isinstance(first, TensorRef) or source.graph.value(first.id).type.shape != shape or axes is None:
        return False
    whole = axes == (0, len(shape))
    if row(node.op).over is Over.ALL:
        return whole and len(shape) > 1
    if row(node.op).over is Over.LAST:
        return not whole or len(shape) == 1
    if not whole and program.result_level == ELEMENT and node.kwargs.get("keepdim") is False:
        return False  # what is left of the row broadcasts to other dims with one more in front
    dims = written_dims(source, node)
    if dims == ():
        return whole and len(shape) > 1 and not node.kwargs.get("keepdim")
    return dims is not None and all(d < 0 for d in dims) and (not whole or len(shape) == 1)


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
