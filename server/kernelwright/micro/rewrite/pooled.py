"""Pools over adjoining tiles with the pointwise operations before and after them: regions that become one kernel."""

from collections.abc import Iterator

from kernelwright.micro.rewrite.growth import sinks_after
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.micro.rewrite.pointwise_regions import region_of, run_to
from kernelwright.micro.rewrite.window_numbers import tile_numbers
from kernelwright.ops import Kind, names
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Node, Refusal

POOLS = names(lambda row: row.kind is Kind.POOLING and row.as_given and row.spatial > 1)


def pooled_regions(source: SourceMap) -> Iterator[NestRegion | Refusal]:
    """The largest region around each pool, where eager mode runs more than the pool, or why there is none."""
    for node in source.graph.nodes:
        if node.op not in POOLS or tile_numbers(source, node) is None:
            continue
        for nodes in _nodes_around(source, node):
            region = region_of(source, nodes)
            if isinstance(region, Refusal) or region.kernels > 1:
                yield region
            if isinstance(region, NestRegion):
                break


def _nodes_around(source: SourceMap, pool: Node) -> Iterator[tuple[int, ...]]:
    """The sets of nodes that could become one kernel with the pool, the largest first."""
    earlier = [nodes for nodes in (_before(source, pool), ()) if nodes is not None]
    for later in (*_after(source, pool), ()):
        for nodes in earlier:
            yield (*nodes, pool.id, *later)


def _before(source: SourceMap, pool: Node) -> tuple[int, ...] | None:
    value = pool.tensor()
    maker = source.producers.get(value)
    if maker is None or len(source.users.get(value, ())) > 1 or value in source.graph.outputs:
        return None
    return run_to(source, maker) or None


def _after(source: SourceMap, pool: Node) -> Iterator[tuple[int, ...]]:
    readers = {user.id for user in source.users.get(pool.outputs[0], ())}
    for sink in sinks_after(source, pool)[:-1]:
        nodes = run_to(source, sink)
        if nodes and readers <= set(nodes) and min(nodes) > pool.id:
            yield nodes
