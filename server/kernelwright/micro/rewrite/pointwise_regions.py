"""Runs of pointwise operations that become one kernel by way of a Nest, and what else makes one of them an Action."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernelwright.micro.rewrite.convolution_bias import Biased, biased_convolutions
from kernelwright.micro.rewrite.dtypes import casts_for_any
from kernelwright.micro.rewrite.eager_speed import converts_layout
from kernelwright.micro.rewrite.growth import allowed_ops, grow
from kernelwright.micro.rewrite.nested_places import NESTS, NestRegion
from kernelwright.micro.rewrite.placed import placed
from kernelwright.micro.rewrite.ranks import counts_from_the_end
from kernelwright.micro.rewrite.regions import bias_name, kernel_name, plan, saved, unique
from kernelwright.micro.rewrite.window_numbers import tile_numbers
from kernelwright.nest.aligned import aligned, from_the_end
from kernelwright.nest.build import build
from kernelwright.nest.form import Nest
from kernelwright.nest.given import Given
from kernelwright.nest.layouts import layout_of
from kernelwright.nest.merge import merged
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Kind, row
from kernelwright.place.placements import nowhere
from kernelwright.place.region import region_output
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Graph, Node, Refusal

_IMAGE = ("depth", "height", "width")


def runs(source: SourceMap, refusals: list[Refusal]) -> list[NestRegion]:
    """Maximal regions of pointwise nodes that are worth a kernel; why others are none joins `refusals`."""
    found: list[NestRegion] = []
    settled: set[int] = set()  # nodes of the regions so far, also of those that are not worth fusing
    for sink in reversed(source.graph.nodes):
        if sink.id in settled or not sink.outputs or _does_nothing(source.graph, sink):
            continue
        region = _largest(source, sink, refusals)
        if region is None:
            continue
        settled |= set(region.all_nodes)
        if region.kernels >= 2 or region.nest.stored.order != region.nest.main.order:
            found.append(region)
        else:
            line = sink.where.start_line if sink.where else None
            refusals.append(Refusal(f"Eager mode runs {sink.op} as one kernel already.", line))
    return found


def _does_nothing(graph: Graph, node: Node) -> bool:
    """Whether the node only makes sure of a layout: that of the launchers of fused kernels, for one."""
    return node.op == "contiguous" and not converts_layout(graph, node)


def _largest(source: SourceMap, sink: Node, refusals: list[Refusal]) -> NestRegion | None:
    nodes = run_to(source, sink)
    if nodes and (why := nowhere(source, sink)) is not None:
        refusals.append(why)
        return None
    return largest_placed(source, nodes, _POINTWISE, refusals)


def run_to(source: SourceMap, sink: Node) -> tuple[int, ...]:
    """The largest run of pointwise nodes that ends in `sink` and fits into one kernel: () when there is none."""
    if not sink.outputs or sink.where is None:
        return ()
    return grow(source, sink, functools.partial(_fits, source), allowed_ops(reductions=False))


def _fits(source: SourceMap, nodes: set[int]) -> bool:
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return False
    try:
        _nest(source.graph, sorted(nodes), output, Given(layouts=True))
    except NotExpressible:
        return False
    return True


@dataclass(frozen=True)
class Lowering:
    """How regions of one kind become a Nest.

    `nest` raises NotExpressible; `any_rank` says whether it is right for tensors with other leading dims, and `reads` how often
    its kernel reads each input.
    """

    nest: Callable[[Graph, Sequence[int], int, Given], Nest]
    any_rank: Callable[[SourceMap, Sequence[Node], Nest], bool]
    reads: Callable[[Nest], int]
    rows: bool = False


def region_of(source: SourceMap, nodes: Sequence[int]) -> NestRegion | Refusal:
    """The region of these nodes in the first place in the source that takes it, or why it is none."""
    return lowered(source, nodes, _POINTWISE)


def lowered(source: SourceMap, nodes: Sequence[int], kind: Lowering) -> NestRegion | Refusal:
    """The region of these nodes in the first place in the source that takes it, or why it is none."""
    return placed(source, tuple(nodes), functools.partial(_with_biases, kind), NESTS)


def largest_placed(
    source: SourceMap, nodes: tuple[int, ...], kind: Lowering, refusals: list[Refusal], anchor: int | None = None
) -> NestRegion | None:
    """The region of as many of the last nodes as have a place, `anchor` among them; why more have none joins `refusals`."""
    while nodes and (anchor is None or anchor in nodes):
        region = lowered(source, nodes, kind)
        if isinstance(region, NestRegion):
            return region
        refusals.append(region)
        nodes = nodes[1:]
    return None


def _with_biases(kind: Lowering, source: SourceMap, nodes: Sequence[int]) -> NestRegion | Refusal:
    """The region with the biases of the convolutions before it, if their calls can be changed; otherwise without."""
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return output
    biased = biased_convolutions(source, nodes)
    together = _planned(kind, source, nodes, output, biased) if biased else None
    return together if isinstance(together, NestRegion) else _planned(kind, source, nodes, output, ())


def _planned(
    kind: Lowering, source: SourceMap, nodes: Sequence[int], output: int, biased: Sequence[Biased]
) -> NestRegion | Refusal:
    edit = plan(source, nodes, biased)
    if isinstance(edit, Refusal):
        return edit
    graph = source.graph
    inside = [graph.nodes[n] for n in sorted(nodes)]
    names = {v: kernel_name(text) for v, text in edit.names.items()}
    names |= {one.bias: bias_name(edit.names[one.bias]) for one in biased}
    numbers = dict(edit.scalars)
    for node in inside:
        numbers |= tile_numbers(source, node) or {} if row(node.op).fold else {}
    biases = {one.result: one.bias for one in biased}
    given = Given(unique(names), numbers, biases, layouts=True, rows=kind.rows)
    try:
        nest = kind.nest(graph, nodes, output, given)
    except NotExpressible as problem:
        return problem.refusal
    casts = casts_for_any(source, inside, {tensor.value: tensor.dtype for tensor in nest.tensors})
    if casts is not None:
        nest = replace(nest, any_dtype=True, stored=replace(nest.stored, casts=casts))
    if not biased and kind.any_rank(source, inside, nest):
        nest = from_the_end(nest)
    bytes_, kernels = saved(graph, nodes, output, biased, reads=kind.reads(nest))
    return NestRegion(tuple(sorted(nodes)), edit, nest, bytes_, kernels, numbers, biases)


def _nest(graph: Graph, nodes: Sequence[int], output: int, given: Given) -> Nest:
    """The Nest of a region. Raises NotExpressible, also where a node works on another shape than the rest."""
    inside = [graph.nodes[n] for n in sorted(nodes)]
    shape = graph.value(output).type.shape
    pool = next((node for node in inside if row(node.op).kind is Kind.POOLING), None)
    full = graph.value(pool.tensor()).type.shape if pool else shape
    made = {value for node in inside for value in node.outputs}
    for node in inside:
        own = full if pool and node.id < pool.id else shape
        known = row(node.op)
        if len(node.outputs) != 1:
            raise NotExpressible(f"{node.op} has several results.", node)
        if known.statistics is not None and node.kwargs.get("training"):
            raise NotExpressible(f"{node.op} reduces.", node)
        if known.kind is not Kind.CREATION and math.prod(graph.value(node.outputs[0]).type.shape) != math.prod(own):
            raise NotExpressible(f"{node.op} works on another shape than the rest.", node)
        if known.reshapes and next(references(node)) not in made:
            raise NotExpressible(f"{node.op} of an input stays outside.", node)
    if math.prod(shape) < 2 or layout_of(graph.value(output).type) is None:
        raise NotExpressible("The result is a single number, or does not lie side by side in memory.", inside[-1])
    nest = aligned(build(graph, nodes, (output,), given, axes=axis_names(len(shape))))
    if not nest.tensors or nest.main.shape != full:
        raise NotExpressible("No input of the region has its full size.", inside[0])
    return merged(nest)


_POINTWISE = Lowering(_nest, lambda source, nodes, nest: counts_from_the_end(source.graph, nodes, nest), lambda nest: 1)


def axis_names(rank: int) -> tuple[str, ...]:
    """A name for each dim of the result."""
    if rank in (4, 5):
        return ("item", "channel", *_IMAGE[2 - rank :])
    last = ("item", "row", "column")[-rank:] if rank else ()
    return (*(f"dim_{d}" for d in range(rank - len(last))), *last)
