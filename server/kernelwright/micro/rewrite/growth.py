"""Grows the largest set of nodes that ends in one node and becomes one kernel."""

import functools
from collections.abc import Callable

from kernelwright.micro.rewrite.regions import own_result
from kernelwright.ops import names
from kernelwright.place.runs import run_numbers
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Node

Fits = Callable[[set[int]], bool]
"""Whether some nodes have one result, and one kernel can make it."""


@functools.cache
def allowed_ops(*, reductions: bool) -> frozenset[str]:
    """The operators that have a form in a kernel, with or without those that fold rows."""
    return names(lambda row: row.reshapes or (row.meaning is not None and (reductions or row.over is None)))


def grow(
    source: SourceMap, sink: Node, fits: Fits, allowed: frozenset[str], anchor: Node | None = None
) -> tuple[int, ...]:
    """The largest set of nodes that ends in `sink` and fits into one kernel: () when there is none.

    With an `anchor` the set holds everything on the way from the anchor to the sink.
    """
    graph = source.graph
    region = _between(source, anchor, sink) if anchor else {sink.id}
    if any(graph.nodes[n].op not in allowed or graph.nodes[n].where is None for n in region):
        return ()
    if not fits(region):
        # What stands between may fit only together with what makes its other inputs.
        region |= _with_makers(source, sink, region, allowed)
        if not fits(region):
            return ()
    changed = True
    while changed:
        changed = False
        for node in reversed(graph.nodes[: sink.id]):
            if node.id in region or not _may_fuse(source, node, region, allowed):
                continue
            if fits(region | {node.id}):
                region.add(node.id)
                changed = True
                continue
            more = _with_makers(source, node, region, allowed)
            if len(more) > 1 and fits(region | more):
                region |= more
                changed = True
    return tuple(sorted(region))


def _between(source: SourceMap, anchor: Node, sink: Node) -> set[int]:
    """The nodes on the ways from `anchor` to `sink`, both included."""
    after = {anchor.id}
    for node in source.graph.nodes[anchor.id + 1 : sink.id + 1]:
        if any(v in source.producers and source.producers[v].id in after for v in references(node)):
            after.add(node.id)
    before = {sink.id}
    for node in reversed(source.graph.nodes[: sink.id]):
        if any(user.id in before for v in node.outputs for user in source.users.get(v, ())):
            before.add(node.id)
    return after & before


def sinks_after(source: SourceMap, anchor: Node) -> list[Node]:
    """The nodes that could end a region with this reduction in it: down the only chain of readers, furthest first."""
    reached, order, runs = {anchor.id}, [anchor], run_numbers(source)
    for node in source.graph.nodes[anchor.id + 1 :]:
        makers = {m.id for m in (source.producers.get(v) for v in references(node)) if m is not None}
        if makers & reached:
            reached.add(node.id)
            order.append(node)
    return [node for node in order[::-1] if runs[node.id] == runs[anchor.id]][:40]


def _with_makers(source: SourceMap, node: Node, region: set[int], allowed: frozenset[str]) -> set[int]:
    """The node with all nodes that only it and the region need, for results that fit only together."""
    more = {node.id}
    for earlier in reversed(source.graph.nodes[: node.id]):
        if _may_fuse(source, earlier, region | more, allowed):
            more.add(earlier.id)
    return more


def _may_fuse(source: SourceMap, node: Node, region: set[int], allowed: frozenset[str]) -> bool:
    """Whether the node has a Triton form, a place in the source, and no reader outside the region."""
    return node.op in allowed and node.where is not None and may_fuse(source, node, region)


def may_fuse(source: SourceMap, node: Node, region: set[int]) -> bool:
    """Whether the node belongs to the region's run of the code, and nothing outside of the region reads what it makes."""
    runs = run_numbers(source)
    if runs[node.id] != runs[max(region)]:
        return False
    used = [user.id for v in node.outputs for user in source.users.get(v, ())]
    if not used or any(user not in region for user in used):
        return False
    if any(v in source.graph.outputs for v in node.outputs):
        return False
    return not node.inplace or own_result(source, node)
