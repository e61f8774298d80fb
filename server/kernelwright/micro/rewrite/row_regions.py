"""Regions around a reduction or normalisation over rows that become one kernel by way of a Nest."""

import functools
import math
from collections.abc import Sequence

from kernelwright.micro.rewrite.growth import allowed_ops, grow, sinks_after
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.micro.rewrite.pointwise_regions import Lowering, axis_names, largest_placed, lowered
from kernelwright.micro.rewrite.ranks import rows_count_from_the_end
from kernelwright.micro.rewrite.row_shapes import folds
from kernelwright.nest.aligned import aligned_rows
from kernelwright.nest.build import build
from kernelwright.nest.form import Nest
from kernelwright.nest.given import Given
from kernelwright.nest.layouts import layout_of
from kernelwright.nest.merge import merged
from kernelwright.nest.refused import NotExpressible
from kernelwright.nest.rows import elements, walked
from kernelwright.ops import Kind, row
from kernelwright.place.placements import nowhere
from kernelwright.place.region import region_output
from kernelwright.place.source_map import SourceMap, references
from kernelwright.schedule.sizes import sizes
from kernelwright.values import Graph, Node, Refusal

_CACHED_ROW = 2**19  # bytes: with a row of this size on each multiprocessor the level-2 cache is full
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


def regions(source: SourceMap, refusals: list[Refusal]) -> list[NestRegion]:
    """Regions around each reduction, with the pointwise nodes before and after it; why others are none joins `refusals`."""
    found: list[NestRegion] = []
    for anchor in reversed(source.graph.nodes):
        if not folds(anchor) or any(anchor.id in region.all_nodes for region in found):
            continue
        for sink in sinks_after(source, anchor):
            region = _largest(source, sink, anchor, refusals)
            if region is not None and _is_worth(region, sink, anchor, refusals):
                found.append(region)
                break
    return found


def _largest(source: SourceMap, sink: Node, anchor: Node, refusals: list[Refusal]) -> NestRegion | None:
    """The region that ends in `sink`, and holds `anchor`."""
    allowed = allowed_ops(reductions=True)
    if sink.op in allowed and (why := nowhere(source, sink)) is not None:
        refusals.append(why)
        return None
    nodes = grow(source, sink, functools.partial(_fits, source), allowed, anchor)
    return largest_placed(source, nodes, _ROWS, refusals, anchor.id)


def _is_worth(region: NestRegion, sink: Node, anchor: Node, refusals: list[Refusal]) -> bool:
    """Whether the region is more than what eager mode does in one kernel; the Refusal otherwise joins `refusals`."""
    if region.kernels >= 2 or row(anchor.op).alone or _turns(region.nest):
        return True
    line = sink.where.start_line if sink.where else None
    refusals.append(Refusal(f"Eager mode runs {sink.op} as one kernel already.", line))
    return False


def _turns(nest: Nest) -> bool:
    """Whether the elements of the result lie in memory in another order than those of the main tensor."""
    return nest.stored.name in elements(nest) and nest.stored.order != nest.main.order


def region_of(source: SourceMap, nodes: Sequence[int]) -> NestRegion | Refusal:
    """The region of these nodes in the first place in the source that takes it, or why it is none."""
    return lowered(source, nodes, _ROWS)


def _fits(source: SourceMap, nodes: set[int]) -> bool:
    """Whether the nodes have one result, and one kernel can make it."""
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return False
    try:
        _nest(source.graph, sorted(nodes), output, Given(layouts=True, rows=True))
    except NotExpressible:
        return False
    return True


def _nest(graph: Graph, nodes: Sequence[int], output: int, given: Given) -> Nest:
    """The Nest of a region. Raises NotExpressible, also where a node works on another shape than rows or their elements."""
    inside = [graph.nodes[n] for n in sorted(nodes)]
    made = {value for node in inside for value in node.outputs}
    if layout_of(graph.value(output).type) is None:
        raise NotExpressible("The result does not lie side by side in memory.", inside[-1])
    for node in inside:
        if row(node.op).reshapes and next(references(node)) not in made:
            raise NotExpressible(f"{node.op} of an input stays outside.", node)
    shape = graph.value(output).type.shape
    nest = walked(merged(aligned_rows(build(graph, nodes, (output,), given, axes=axis_names(len(shape))))))
    found = sizes(nest)
    rows, full = found.rows * found.columns, math.prod(nest.main.shape)
    if nest.stored.name in elements(nest) and nest.main.shape != shape:
        raise NotExpressible("The result has another shape than the region's main input.", inside[-1])
    for node in inside:
        numel = math.prod(graph.value(node.outputs[0]).type.shape)
        if row(node.op).kind is not Kind.CREATION and numel not in (rows, full):
            raise NotExpressible(f"{node.op} works on another shape than the rest.", node)
    return nest


def _reads(nest: Nest) -> int:
    """How often a kernel reads its inputs: rows that no cache holds once more, to apply what was folded."""
    found = sizes(nest)
    row_bytes = found.length * _BYTES.get(nest.main.dtype, 4)
    return 2 if found.applied and not found.apart and row_bytes > _CACHED_ROW else 1


_ROWS = Lowering(_nest, rows_count_from_the_end, _reads, rows=True)
