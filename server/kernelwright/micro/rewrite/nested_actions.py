"""The Actions of regions with a Nest: one for each kernel, with all places of the text that may call it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kernelwright.micro.rewrite.candidates import places_of
from kernelwright.micro.rewrite.nested import nest_region, respelled
from kernelwright.micro.rewrite.nested_places import NESTS, NestRegion
from kernelwright.micro.rewrite.product_speed import gain as product_gain
from kernelwright.ops import Kind, row
from kernelwright.place.source_map import SourceMap
from kernelwright.place.together import apart
from kernelwright.schedule.applying import apply
from kernelwright.schedule.forms import Illegal
from kernelwright.schedule.spaces import space
from kernelwright.values import Action, Device, Refusal, Region


def joined(regions: Iterable[NestRegion], device: Device) -> list[NestRegion]:
    """The regions, those that one kernel serves in several places of the text as one; the most bytes saved first."""
    groups: list[list[NestRegion]] = []
    for region in regions:
        for group in groups:
            like = _like(group[0], region)
            if like is not None and all(apart(one.edit, region.edit) for one in group):
                group.append(like)
                break
        else:
            groups.append([region])
    found = (one for group in groups for one in _served(group, device))
    return sorted(found, key=lambda region: -region.saved_bytes)


def _like(first: NestRegion, region: NestRegion) -> NestRegion | None:
    """The region with the names of the first for its inputs; None where it computes something else."""
    ours, theirs = first.nest.tensors, region.nest.tensors
    if _ops(first) != _ops(region) or len(ours) != len(theirs):
        return None
    if [tensor.name for tensor in ours] != [tensor.name for tensor in theirs]:
        made = respelled(region, {their.value: our.name for our, their in zip(ours, theirs, strict=True)})
        if isinstance(made, Refusal):
            return None
        region = made
    return region if NESTS.form(first) == NESTS.form(region) else None


def _ops(region: NestRegion) -> list[str]:
    """The operators of the nodes, of which the Nest drops some, such as a dropout in evaluation."""
    graph = region.edit.source.graph
    return [graph.nodes[n].op for n in region.nodes]


def _served(group: list[NestRegion], device: Device) -> Iterator[NestRegion]:
    """The regions of a group, with the largest one those for which its tiles are not too large."""
    while group:
        largest = max(group, key=NESTS.size)
        opts = next(iter(space(largest.nest, device)), ()) if len(group) > 1 else ()
        fits = [one is largest or not isinstance(apply(one.nest, opts, device), Illegal) for one in group]
        yield _as_one(largest, [one for one, fit in zip(group, fits, strict=True) if fit and one is not largest])
        group = [one for one, fit in zip(group, fits, strict=True) if not fit]


def _as_one(region: NestRegion, also: Sequence[NestRegion]) -> NestRegion:
    return replace(
        region,
        saved_bytes=sum(one.saved_bytes for one in (region, *also)),
        kernels=sum(one.kernels for one in (region, *also)),
        also=tuple(also),
    )


def action_for(strategy: str, source: SourceMap, region: NestRegion, device: Device, reason: str) -> Action:
    """The Action that makes `region` one kernel; its parameters name the graph's nodes and what there is to gain."""
    graph = source.graph
    places = [place for one in region.places for n in one.nodes if (place := graph.nodes[n].where) is not None]
    inside = [graph.nodes[n] for n in region.nodes]
    ops = [node.op for node in inside if row(node.op).kind is not Kind.CREATION and not node.inplace]
    label = ", ".join(ops) + (f", in {len(region.places)} places" if region.also else "")
    where = Region(min(p.start_line for p in places), max(p.end_line for p in places) + 1, graph.text_hash, label)
    params: dict[str, float | str] = {
        "nodes": ";".join(",".join(str(n) for n in one.nodes) for one in region.places),
        "saved_bytes": region.saved_bytes,
        "kernels": region.kernels,
        "expected_gain": product_gain(graph, region, device) if region.nest.product else 0.1,
        "reason": reason,
    }
    return Action(strategy, where, params)


def region_of_action(source: SourceMap, action: Action) -> NestRegion | Refusal:
    """The region that an Action means in this graph, in all of its places."""
    places = places_of(source, action)
    if isinstance(places, Refusal):
        return places
    regions: list[NestRegion] = []
    for nodes in places:
        region = nest_region(source, nodes)
        like = region if isinstance(region, Refusal) or not regions else _like(regions[0], region)
        if isinstance(like, Refusal):
            return like
        regions += [like] if like is not None else []
    return _as_one(regions[0], regions[1:])
