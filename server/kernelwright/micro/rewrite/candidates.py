"""The regions of an observation's graph that are worth fusing, as Actions, and the way back from an Action."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from kernelwright.micro.rewrite.convolution_bias import Biased, biased_convolutions
from kernelwright.micro.rewrite.eager_speed import headroom
from kernelwright.micro.rewrite.fused_places import FUSED
from kernelwright.micro.rewrite.growth import allowed_ops, grow, sinks_after
from kernelwright.micro.rewrite.lowering import NotLowerable
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.micro.rewrite.placed import placed
from kernelwright.micro.rewrite.pointwise_regions import region_of, runs
from kernelwright.micro.rewrite.pooled import pooled_regions
from kernelwright.micro.rewrite.program import Domain
from kernelwright.micro.rewrite.reductions import domain_of, folds
from kernelwright.micro.rewrite.regions import FusedRegion, lower, measure, plan
from kernelwright.micro.rewrite.tiles import MOST_CHANNELS
from kernelwright.nest.layouts import CHANNELS_LAST, CONTIGUOUS, layout_of
from kernelwright.ops import Kind, row
from kernelwright.place.expression import region_output
from kernelwright.place.placements import nowhere
from kernelwright.place.source_map import SourceMap, source_map, used_only_by
from kernelwright.values import Action, Device, Graph, Node, Refusal, Region


class Fusible(Protocol):
    """Nodes that become one kernel, whatever the form that it is printed from."""

    @property
    def nodes(self) -> tuple[int, ...]: ...
    @property
    def all_nodes(self) -> tuple[int, ...]: ...
    @property
    def saved_bytes(self) -> int: ...
    @property
    def kernels(self) -> int: ...


Some = TypeVar("Some", bound=Fusible)

NO_GRAPH = Refusal("The op graph of the workload has not been captured yet.", pending=True)


def observed(text: str, graph: Graph | None) -> SourceMap | Refusal:
    """The text beside its graph; a pending Refusal while there is none."""
    return NO_GRAPH if graph is None else source_map(text, graph)


def pointwise_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """Maximal regions of pointwise nodes, the most memory traffic saved first."""
    refusals: list[Refusal] = []
    found = runs(source, refusals)
    for pooled in pooled_regions(source):
        (found if isinstance(pooled, NestRegion) else refusals).append(pooled)  # type: ignore[arg-type]
    return _ranked(found) or _why_none(refusals, "No run of pointwise operations is long enough to gain from fusing.")


def row_regions(source: SourceMap) -> list[FusedRegion] | Refusal:
    """Regions around each reduction, with the pointwise nodes before and after it."""
    layouts = _layouts(source)
    found: list[FusedRegion] = []
    refusals: list[Refusal] = []
    for anchor in reversed(source.graph.nodes):
        if not folds(anchor) or any(anchor.id in region.all_nodes for region in found):
            continue
        domains = _row_domains(source.graph, anchor, layouts)
        for sink in sinks_after(source, anchor) if domains else ():
            region = _best(source, sink, domains, refusals, anchor)
            if region is not None and _is_worth(region, sink, refusals, anchor):
                found.append(region)
                break
    return _ranked(found) or _why_none(refusals, "There is no reduction or normalisation over rows.")


def _best(
    source: SourceMap, sink: Node, domains: Sequence[Domain], refusals: list[Refusal], anchor: Node
) -> FusedRegion | None:
    """The region that ends in `sink`, and holds `anchor`, and saves most."""
    return _most_saved(_largest(source, sink, domain, refusals, anchor) for domain in domains)


def _is_worth(region: FusedRegion, sink: Node, refusals: list[Refusal], anchor: Node) -> bool:
    """Whether the region is more than what eager mode does in one kernel; the Refusal otherwise joins `refusals`."""
    if region.kernels >= 2 or region.program.transposes or row(anchor.op).alone:
        return True
    refusals.append(Refusal(f"Eager mode runs {sink.op} as one kernel already.", _line(sink)))
    return False


def _largest(
    source: SourceMap, sink: Node, domain: Domain, refusals: list[Refusal], anchor: Node
) -> FusedRegion | None:
    allowed = allowed_ops(reductions=True)
    if sink.op in allowed and (why := nowhere(source, sink)) is not None:
        refusals.append(why)
        return None
    nodes = grow(source, sink, functools.partial(_fits, source, domain), allowed, anchor)
    while nodes and anchor.id in nodes:
        region = _region(source, nodes, domain)
        if isinstance(region, FusedRegion):
            return region
        refusals.append(region)
        nodes = nodes[1:]
    return None


def _fits(source: SourceMap, domain: Domain, nodes: set[int]) -> bool:
    """Whether the nodes have one result and lower to one kernel over `domain`."""
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return False
    try:
        lower(source.graph, tuple(nodes), output, domain)
    except NotLowerable:
        return False
    return True


def _most_saved(regions: Iterable[FusedRegion | None]) -> FusedRegion | None:
    """Of the regions that the layouts allow the one that saves most, the first of equals."""
    return max((r for r in regions if r is not None), key=lambda r: (r.saved_bytes, r.kernels), default=None)


def _region(source: SourceMap, nodes: Sequence[int], domain: Domain) -> FusedRegion | Refusal:
    """The region in the first place in the source that takes it."""

    def build(seen: SourceMap, own: tuple[int, ...]) -> FusedRegion | Refusal:
        own_domain = domain if own == tuple(sorted(nodes)) else _domain_like(domain, seen, own)
        return _with_biases(seen, own, own_domain)

    return placed(source, tuple(nodes), build, FUSED)


def _domain_like(domain: Domain, source: SourceMap, nodes: Sequence[int]) -> Domain:
    """The domain of the same nodes where another module runs them."""
    return next((d for d in _domains_for(source, nodes) if d.layout == domain.layout), domain)


def _with_biases(source: SourceMap, nodes: Sequence[int], domain: Domain) -> FusedRegion | Refusal:
    """The region with the biases of the convolutions before it, if their calls can be changed; otherwise without."""
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return output
    biased = biased_convolutions(source, nodes)
    together = _planned(source, nodes, output, domain, biased) if biased else None
    return together if isinstance(together, FusedRegion) else _planned(source, nodes, output, domain, ())


def _planned(
    source: SourceMap, nodes: Sequence[int], output: int, domain: Domain, biased: Sequence[Biased]
) -> FusedRegion | Refusal:
    edit = plan(source, nodes, biased)
    if isinstance(edit, Refusal):
        return edit
    try:
        program = lower(source.graph, nodes, output, domain, edit, biased)
    except NotLowerable as problem:
        return problem.refusal
    saved, kernels = measure(source.graph, nodes, output, program.domain, biased)
    biases = {one.result: one.bias for one in biased}
    return FusedRegion(tuple(nodes), edit, output, program.domain, program, saved, kernels, biases)


@functools.lru_cache(maxsize=128)
def _layouts(source: SourceMap) -> tuple[str, ...]:
    """The layouts in which a kernel may walk through memory."""
    last = any(layout_of(value.type) == CHANNELS_LAST for value in source.graph.values)
    return (CONTIGUOUS, CHANNELS_LAST) if last else (CONTIGUOUS,)


def _row_domains(graph: Graph, anchor: Node, layouts: Sequence[str]) -> tuple[Domain, ...]:
    """The domains that the rows of a reduction set, in the layouts in which they lie together."""
    domain = domain_of(graph, anchor)
    if domain is None or domain.length == 1:
        return ()
    domains = (replace(domain, layout=layout) for layout in layouts)
    return tuple(d for d in domains if d.memory is not None and not (d.over_channels and d.length > MOST_CHANNELS))


def _ranked(found: list[Some]) -> list[Some]:
    return sorted(found, key=lambda region: -region.saved_bytes)


def _why_none(refusals: list[Refusal], otherwise: str) -> Refusal:
    """The most telling reason: one with a line."""
    return next((r for r in refusals if r.line is not None), refusals[0] if refusals else Refusal(otherwise))


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None


def action_of(strategy: str, source: SourceMap, region: Fusible, device: Device) -> Action:
    """The Action that fuses `region`; its parameters name the graph's nodes and what there is to gain."""
    gain, reason = headroom(source.graph, region.all_nodes, device)
    places = [source.graph.nodes[n].where for n in region.nodes]
    lines = [place for place in places if place is not None]
    ops = [source.graph.nodes[n].op for n in region.nodes if row(source.graph.nodes[n].op).kind is not Kind.CREATION]
    return Action(
        strategy,
        Region(
            min(place.start_line for place in lines),
            max(place.end_line for place in lines) + 1,
            source.graph.text_hash,
            ", ".join(ops),
        ),
        {
            "nodes": ",".join(str(n) for n in region.nodes),
            "saved_bytes": region.saved_bytes,
            "kernels": region.kernels,
            **({"expected_gain": round(gain, 4), "reason": reason} if gain else {}),
        },
    )


def row_region_of(source: SourceMap, action: Action) -> FusedRegion | Refusal:
    """The region of rows that an Action means in this graph."""
    nodes = nodes_of(source, action)
    if isinstance(nodes, Refusal):
        return nodes
    regions = [_region(source, nodes, domain) for domain in _domains_for(source, nodes)]
    region = _most_saved(region for region in regions if isinstance(region, FusedRegion))
    refusals = (region for region in regions if isinstance(region, Refusal))
    return region or next(refusals, Refusal("The action's nodes are no region of this op graph."))


def pointwise_region_of(source: SourceMap, action: Action) -> NestRegion | Refusal:
    """The pointwise region that an Action means in this graph."""
    nodes = nodes_of(source, action)
    return nodes if isinstance(nodes, Refusal) else region_of(source, nodes)


def nodes_of(source: SourceMap, action: Action) -> tuple[int, ...] | Refusal:
    """The nodes of this graph that an Action names."""
    nodes = tuple(int(n) for n in str(action.params.get("nodes", "")).split(",") if n)
    if not nodes or any(n >= len(source.graph.nodes) for n in nodes):
        return Refusal("The action belongs to another op graph; run the strategy again.")
    return nodes


def _domains_for(source: SourceMap, nodes: Sequence[int]) -> tuple[Domain, ...]:
    graph, layouts = source.graph, _layouts(source)
    found = (_row_domains(graph, graph.nodes[n], layouts) for n in nodes if folds(graph.nodes[n]))
    return next((domains for domains in found if domains), ())


def within(regions: Sequence[Some], source: SourceMap, start: int, end: int) -> list[Some]:
    """The regions whose source lies in lines start:end, or in definitions that only the code there uses."""
    graph = source.graph
    lines = [range(start, end), *(range(d.lineno - 1, d.end_lineno or d.lineno) for d in used_only_by(source, start))]
    return [
        region
        for region in regions
        if all((w := graph.nodes[n].where) and any(w.start_line in block for block in lines) for n in region.nodes)
    ]
