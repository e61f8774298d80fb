"""Regions of the graph that become one kernel by way of a Nest: scans and pools, with what stands around them."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from kernelwright.micro.rewrite.candidates import row_regions
from kernelwright.micro.rewrite.dtypes import casts_for_any
from kernelwright.micro.rewrite.eager_speed import eager_bytes
from kernelwright.micro.rewrite.growth import may_fuse
from kernelwright.micro.rewrite.nested_places import NESTS, NestRegion
from kernelwright.micro.rewrite.placed import placed
from kernelwright.micro.rewrite.regions import kernel_name, own_result, plan, tensor_bytes, unique
from kernelwright.micro.rewrite.window_numbers import tile_numbers, window_numbers
from kernelwright.nest.build import build
from kernelwright.nest.convolutions import convolves
from kernelwright.nest.form import Contract, Nest
from kernelwright.nest.gathers import picks
from kernelwright.nest.given import Given
from kernelwright.nest.grouped import grouped
from kernelwright.nest.levels import levels
from kernelwright.nest.merge import merged
from kernelwright.nest.refused import NotExpressible
from kernelwright.nest.roles import roles
from kernelwright.nest.stages import stages
from kernelwright.nest.views import is_view
from kernelwright.ops import Kind, parameters, row
from kernelwright.place.placements import nowhere
from kernelwright.place.region import region_inputs, region_output, region_results
from kernelwright.place.runs import run_numbers
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Graph, Node, Refusal, TensorRef

_IMAGE = ("depth", "height", "width")
_WINDOW_WITH_MORE = 32
"""Elements of a window up to which what is computed before the pool may be computed anew for each."""

_MOST_READERS = 4
"""How many operators may read a result, and what they make of it, until there is one result again."""


def scan_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each scan."""
    return _regions(
        source, lambda node: bool(row(node.op).fold) and row(node.op).kind is Kind.SCAN, "There is no scan."
    )


def pool_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each pool, but for those of small adjoining tiles, which pointwise fusion takes."""

    def wanted(node: Node) -> bool:
        known = row(node.op)
        return known.kind is Kind.POOLING and bool(known.fold) and tile_numbers(source, node) is None

    return _regions(source, wanted, "There is no pool with windows that overlap, are padded or dilated.")


def product_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each matrix product in tiles: with what follows it, and the views in front."""
    return _products(source, narrow=False, otherwise="torch.fuse-narrow-product takes the products here.")


def narrow_product_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each product that is narrower than a tile."""
    return _products(source, narrow=True, otherwise="The products here are wide enough for tiles.")


def _products(source: SourceMap, *, narrow: bool, otherwise: str) -> list[NestRegion] | Refusal:
    regions = _regions(
        source, lambda node: row(node.op).multiplies and not convolves(node), "There is no matrix product."
    )
    if isinstance(regions, Refusal):
        return regions
    return [region for region in regions if (region.nest.product is None) == narrow] or Refusal(otherwise)


def convolution_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each convolution: with what follows it."""
    return _regions(source, convolves, "There is no convolution.")


@functools.lru_cache(maxsize=16)
def reduction_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each reduction and loss that no older region has."""
    if not any(reduces(node) or trains(node) for node in source.graph.nodes):
        return Refusal("There is no reduction.")
    older = row_regions(source)
    known = {n for region in (() if isinstance(older, Refusal) else older) for n in region.all_nodes}
    return _regions(
        source,
        lambda node: trains(node) or (reduces(node) and node.id not in known),
        "torch.fuse-row-reduction takes the reductions here.",
    )


def gather_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """The largest region around each gather that fuses with something."""

    def wanted(node: Node) -> bool:
        known = row(node.op)
        return is_view(node.op) and ((known.kind is Kind.GATHER and known.partial) or picks(node))

    regions = _regions(source, wanted, "There is no gather by a tensor of indices.")
    if isinstance(regions, Refusal):
        return regions
    several = [region for region in regions if region.kernels > 1 and region.nest.gathers]
    return several or Refusal("Eager mode runs the gather as one kernel already.")


def trains(node: Node) -> bool:
    """Whether the operator normalises on statistics of its own, and moves running ones."""
    return row(node.op).statistics is not None and node.kwargs.get("training") is True


def reduces(node: Node) -> bool:
    """Whether the operator reduces, and has a form for that."""
    known = row(node.op)
    return known.over is not None and known.kind in (Kind.REDUCTION, Kind.LOSS) and known.meaning is not None


def _regions(source: SourceMap, wanted: Callable[[Node], bool], otherwise: str) -> list[NestRegion] | Refusal:
    found: list[NestRegion] = []
    refusals: dict[tuple[object, ...], Refusal] = {}  # by the call: a step of a loop that is refused is so every time
    settled: set[int] = set()
    for anchor in reversed(source.graph.nodes):
        call = (anchor.op, anchor.module, anchor.where)
        if not wanted(anchor) or anchor.id in settled or (anchor.where is not None and call in refusals):
            continue
        region = _largest(source, anchor)
        if isinstance(region, NestRegion):
            found.append(region)
            settled |= set(region.all_nodes)
        elif region is not None:
            refusals[call] = region
    if found:
        return sorted(found, key=lambda region: -region.saved_bytes)
    told = tuple(refusals.values())
    return next((r for r in told if r.line is not None), told[0] if told else Refusal(otherwise))


def _largest(source: SourceMap, anchor: Node) -> NestRegion | Refusal | None:
    """The largest region around `anchor` that has a place, or why the very largest has none; None where there is none."""
    refusal = nowhere(source, anchor)
    if refusal is not None:
        return refusal
    for nodes in _grown(source, anchor):
        region = nest_region(source, nodes)
        if isinstance(region, NestRegion):
            return region
        refusal = refusal or region
    return refusal


def nest_region(source: SourceMap, nodes: Sequence[int]) -> NestRegion | Refusal:
    """The region of these nodes in the first place in the source that takes it, or why it is none."""
    return placed(source, tuple(nodes), _nest_region, NESTS)


def respelled(region: NestRegion, names: Mapping[int, str]) -> NestRegion | Refusal:
    """The region in a kernel that calls its inputs by `names`."""
    made = _nest_region(region.edit.source, region.nodes, names)
    return made if isinstance(made, Refusal) else replace(region, nest=made.nest)


def _nest_region(
    source: SourceMap, nodes: Sequence[int], names: Mapping[int, str] | None = None
) -> NestRegion | Refusal:
    """The region in this place; its kernel calls inputs by `names`, or by what they are called there."""
    outputs = region_results(source, nodes)
    if isinstance(outputs, Refusal):
        return outputs
    if elsewhere := _changed_elsewhere(source, nodes):
        return elsewhere
    edit = plan(source, nodes, whole=len(outputs) > 1, counting=_counting(source, nodes))
    if isinstance(edit, Refusal):
        return edit
    graph = source.graph
    numbers = dict(edit.scalars)
    for node in (graph.nodes[n] for n in nodes if row(graph.nodes[n].op).spatial):
        window = window_numbers(source, node)
        if isinstance(window, Refusal):
            return window
        numbers |= window
    called = {value: kernel_name(text) for value, text in edit.names.items()} if names is None else dict(names)
    given = Given(unique(called), numbers)
    try:
        nest = _nest(graph, nodes, outputs, given)
    except NotExpressible as problem:
        return problem.refusal
    inside = [graph.nodes[n] for n in sorted(nodes)]
    casts = casts_for_any(source, inside, {tensor.value: tensor.dtype for tensor in nest.tensors})
    if casts is not None:
        nest = replace(nest, any_dtype=True, stored=replace(nest.stored, casts=casts))
    fused = sum(tensor_bytes(graph, v) for v in (*region_inputs(graph, nodes), *outputs))
    eager = sum(eager_bytes(node) for node in inside)
    kernels = sum(
        row(n.op).launches for n in inside if (not row(n.op).view or picks(n)) and row(n.op).kind is not Kind.CREATION
    )
    return NestRegion(tuple(sorted(nodes)), edit, nest, max(eager - fused, 0), kernels, numbers)


def _counting(source: SourceMap, nodes: Sequence[int], anchor: Node | None = None) -> tuple[int, ...]:
    """The nodes in place that belong to a call, or to that of `anchor`, of an operator that keeps running statistics."""
    some = [anchor] if anchor else [source.graph.nodes[n] for n in nodes]
    calls = {(node.where, node.module) for node in some if trains(node)}
    inside = (source.graph.nodes[n] for n in nodes)
    return tuple(node.id for node in inside if node.inplace and (node.where, node.module) in calls)


def _changed_elsewhere(source: SourceMap, nodes: Sequence[int]) -> Refusal | None:
    """Running statistics that something else reads or moves, too: the order would matter."""
    for node in (source.graph.nodes[n] for n in nodes if trains(source.graph.nodes[n])):
        overwritten = dict(row(node.op).effects)
        given = zip((name for name, _ in parameters(node.op)[0]), node.args, strict=False)
        moved = [a.id for name, a in given if name in overwritten and isinstance(a, TensorRef)]
        if any(user.id not in nodes for v in moved for user in source.users.get(v, ())):
            line = node.where.start_line if node.where is not None else None
            return Refusal("The running statistics are used elsewhere too.", line)
    return None


def _nest(graph: Graph, nodes: Sequence[int], outputs: Sequence[int], given: Given) -> Nest:
    """The Nest of a region. Raises NotExpressible, also where no printer takes it."""
    rank = len(graph.value(outputs[0]).type.shape)
    nest = grouped(merged(build(graph, nodes, outputs, given, axes=_axis_names(graph, nodes, rank))))
    scans = {(fold.over, fold.reverse) for fold in nest.running}
    windows = [axis.extent.captured for axis in nest.axes if axis.window]
    sliding = [graph.nodes[n] for n in sorted(nodes) if row(graph.nodes[n].op).spatial]
    if len(sliding) > 1 and any(map(convolves, sliding)):
        raise NotExpressible("A convolution shares a kernel with neither pools nor other convolutions.")
    multiplied = any(row(graph.nodes[n].op).multiplies for n in nodes)
    if nest.gathers and (scans or windows or multiplied):
        raise NotExpressible("Gathered elements share a kernel with neither scans, pools nor products.")
    if nest.reduced:
        others = any(reduces(graph.nodes[n]) or trains(graph.nodes[n]) for n in nodes)
        if scans or windows or nest.product or (multiplied and others):
            raise NotExpressible("A reduction shares a kernel with neither scans, pools nor products.")
        both = stages(nest)
        levels(both.statistics if both else nest)
        return nest
    if nest.product:
        if scans or windows or sum(isinstance(let.expr, Contract) for let in nest.lets) > 1:
            raise NotExpressible("A kernel holds one matrix product, and neither pools nor scans.")
        roles(nest)
        return nest
    if len(scans) > 1 or (scans and windows):
        raise NotExpressible("Scans along several dims, or both ways, do not fit into one kernel.")
    if math.prod(windows) > _WINDOW_WITH_MORE and any(n.id < sliding[0].id for n in _work(graph, nodes)):
        raise NotExpressible("What stands before a pool of large windows is computed once, by a kernel of its own.")
    return nest


def _axis_names(graph: Graph, nodes: Sequence[int], rank: int) -> tuple[str, ...]:
    """A name for each dim of the result."""
    spatial = max((row(graph.nodes[n].op).spatial for n in nodes), default=0)
    if spatial and rank - spatial in (1, 2):
        return (*(("channel",), ("item", "channel"))[rank - spatial - 1], *_IMAGE[-spatial:])
    outer = ("item", "channel", *(f"dim_{d}" for d in range(2, rank)))[: rank - 1]
    return (*outer, "step") if rank else ()


def _work(graph: Graph, nodes: Sequence[int]) -> Iterator[Node]:
    """The nodes that compute something."""
    return (n for n in (graph.nodes[i] for i in nodes) if not is_view(n.op) and row(n.op).kind is not Kind.CREATION)


def _grown(source: SourceMap, anchor: Node) -> Iterator[tuple[int, ...]]:
    """Sets of nodes with `anchor` in them that may become one kernel, the largest first."""
    region = {anchor.id, *_counting(source, range(len(source.graph.nodes)), anchor)}
    sets = [tuple(sorted(region))] if _fits(source, region) else []
    while (more := _followed(source, region)) and _fits(source, more):
        region = more
        sets.append(tuple(sorted(region)))
    region = set(sets[-1]) if sets else region
    changed = True
    while changed:
        changed = False
        for node in reversed(source.graph.nodes[: max(region)]):
            if node.id in region or not _usable(node) or not may_fuse(source, node, region):
                continue
            if row(anchor.op).multiplies and not is_view(node.op) and node.id < anchor.id:
                continue  # it would be computed anew for every tile
            # What reads a transposed tensor fits only together with what transposes it.
            wider = ({node.id}, _with_makers(source, node, region))
            more = next((more for more in wider if _fits(source, region | more)), set())
            if more:
                region |= more
                changed = True
    sets.append(tuple(sorted(region)))
    return iter(dict.fromkeys(sets[::-1]))


def _with_makers(source: SourceMap, node: Node, region: set[int]) -> set[int]:
    """The node with all nodes that only it and the region need."""
    more = {node.id}
    for earlier in reversed(source.graph.nodes[: node.id]):
        if _usable(earlier) and may_fuse(source, earlier, region | more):
            more.add(earlier.id)
    return more


def _followed(source: SourceMap, region: set[int]) -> set[int]:
    """The region with the readers of its result up to where there is one result again, and what only they need besides.

    That is one reader mostly; `x * torch.sigmoid(x)` has two.
    """
    more = set(region)
    if isinstance(region_output(source, region), Refusal):
        return set()
    for _ in range(_MOST_READERS):
        reader = _next_reader(source, more)
        if reader is None:
            return set()
        more.add(reader.id)
        for node in reversed(source.graph.nodes[: reader.id]):
            if row(node.op).kind is Kind.CREATION and may_fuse(source, node, more) and _usable(node):
                more.add(node.id)
        if not isinstance(region_output(source, more), Refusal):
            return more
    return set()


def _next_reader(source: SourceMap, region: set[int]) -> Node | None:
    """The first operator outside that reads what the region makes; None where it cannot join, or the graph returns a result."""
    made = [value for n in region for value in source.graph.nodes[n].outputs]
    if any(value in source.graph.outputs for value in made):
        return None
    readers = [user for value in made for user in source.users.get(value, ()) if user.id not in region]
    reader = min(readers, key=lambda node: node.id, default=None)
    runs = run_numbers(source)
    if reader is None or not _usable(reader) or runs[reader.id] != runs[max(region)]:
        return None
    return None if reader.inplace and not own_result(source, reader) else reader


def _usable(node: Node) -> bool:
    known = row(node.op)
    computes = known.over is None and known.meaning is not None and not known.per_channel
    return node.where is not None and (
        computes or reduces(node) or trains(node) or is_view(node.op) or bool(known.fold) or known.multiplies
    )


def _fits(source: SourceMap, nodes: set[int]) -> bool:
    outputs = region_results(source, nodes)
    if isinstance(outputs, Refusal):
        return False
    try:
        _nest(source.graph, sorted(nodes), outputs, Given())
    except NotExpressible:
        return False
    return True
