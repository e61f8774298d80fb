"""The regions of an observation's graph that are worth fusing, as Actions, and the way back from an Action."""

import functools
from collections.abc import Sequence
from typing import Protocol, TypeVar

from kernelwright.micro.rewrite import row_regions as rows
from kernelwright.micro.rewrite.eager_speed import headroom
from kernelwright.micro.rewrite.lone import alone
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.micro.rewrite.pointwise_regions import region_of, runs
from kernelwright.micro.rewrite.pooled import pooled_regions
from kernelwright.ops import Kind, row
from kernelwright.place.source_map import SourceMap, source_map, used_only_by
from kernelwright.values import Action, Device, Graph, Kernel, Refusal, Region


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


def observed(text: str, graph: Graph | None, kernel: Kernel) -> SourceMap | Refusal:
    """The text beside its graph; a pending Refusal while there is none, unless the text says that nothing will be found."""
    return (alone(text, kernel) or NO_GRAPH) if graph is None else source_map(text, graph)


@functools.lru_cache(maxsize=16)
def pointwise_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """Maximal regions of pointwise nodes, the most memory traffic saved first."""
    refusals: list[Refusal] = []
    found = runs(source, refusals)
    for pooled in pooled_regions(source):
        (found if isinstance(pooled, NestRegion) else refusals).append(pooled)  # type: ignore[arg-type]
    return _ranked(found) or _why_none(refusals, "No run of pointwise operations is long enough to gain from fusing.")


@functools.lru_cache(maxsize=16)
def row_regions(source: SourceMap) -> list[NestRegion] | Refusal:
    """Regions around each reduction, with the pointwise nodes before and after it."""
    refusals: list[Refusal] = []
    return _ranked(rows.regions(source, refusals)) or _why_none(
        refusals, "There is no reduction or normalisation over rows."
    )


def _ranked(found: list[Some]) -> list[Some]:
    return sorted(found, key=lambda region: -region.saved_bytes)


def _why_none(refusals: list[Refusal], otherwise: str) -> Refusal:
    """The most telling reason: one with a line."""
    return next((r for r in refusals if r.line is not None), refusals[0] if refusals else Refusal(otherwise))


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


def row_region_of(source: SourceMap, action: Action) -> NestRegion | Refusal:
    """The region of rows that an Action means in this graph."""
    nodes = nodes_of(source, action)
    return nodes if isinstance(nodes, Refusal) else rows.region_of(source, nodes)


def pointwise_region_of(source: SourceMap, action: Action) -> NestRegion | Refusal:
    """The pointwise region that an Action means in this graph."""
    nodes = nodes_of(source, action)
    return nodes if isinstance(nodes, Refusal) else region_of(source, nodes)


def nodes_of(source: SourceMap, action: Action) -> tuple[int, ...] | Refusal:
    """The nodes of this graph that an Action names, in the first of its places."""
    places = places_of(source, action)
    return places if isinstance(places, Refusal) else places[0]


def places_of(source: SourceMap, action: Action) -> tuple[tuple[int, ...], ...] | Refusal:
    """The nodes of this graph that an Action names, for each of its places: "3,4;7,8"."""
    named = str(action.params.get("nodes", "")).split(";")
    places = tuple(tuple(int(n) for n in place.split(",") if n) for place in named)
    if not all(places) or any(n >= len(source.graph.nodes) for place in places for n in place):
        return Refusal("The action belongs to another op graph; run the strategy again.")
    return places


def within(regions: Sequence[Some], source: SourceMap, start: int, end: int) -> list[Some]:
    """The regions whose source lies in lines start:end, or in definitions that only the code there uses."""
    graph = source.graph
    lines = [range(start, end), *(range(d.lineno - 1, d.end_lineno or d.lineno) for d in used_only_by(source, start))]
    return [
        region
        for region in regions
        if all((w := graph.nodes[n].where) and any(w.start_line in block for block in lines) for n in region.nodes)
    ]
