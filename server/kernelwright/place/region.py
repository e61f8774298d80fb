"""The Values at the border of a region of the graph: those that its nodes read, and those that leave it."""

from collections.abc import Collection

from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Graph, Refusal


def region_inputs(graph: Graph, nodes: Collection[int]) -> tuple[int, ...]:
    """The Values that the nodes read and do not make, in order of first use."""
    inside = [graph.nodes[n] for n in sorted(nodes)]
    made = {v for node in inside for v in node.outputs}
    return tuple(dict.fromkeys(v for node in inside for v in references(node) if v not in made))


def region_output(source: SourceMap, nodes: Collection[int]) -> int | Refusal:
    """The one Value that leaves the region. A Refusal when there is none or more than one."""
    leaving = [
        v
        for n in sorted(nodes)
        for v in source.graph.nodes[n].outputs
        if v in source.graph.outputs or any(user.id not in nodes for user in source.users.get(v, ()))
    ]
    if len(leaving) == 1:
        return leaving[0]
    place = source.graph.nodes[max(nodes)].where
    reason = "Nothing uses the result." if not leaving else "An intermediate result is used elsewhere too."
    return Refusal(reason, place.start_line if place else None)


def region_results(source: SourceMap, nodes: Collection[int]) -> tuple[int, ...] | Refusal:
    """The one Value that leaves the region, or all that its last operator answers where these are taken apart outside."""
    last = source.graph.nodes[max(nodes)]
    leaving = {
        v
        for n in nodes
        for v in source.graph.nodes[n].outputs
        if v in source.graph.outputs or any(user.id not in nodes for user in source.users.get(v, ()))
    }
    if len(last.outputs) > 1 and leaving and leaving <= set(last.outputs):
        tree = source.expression(last)
        if len(leaving) > 1 or tree is None or source.part_expression(last, tree, min(leaving)) is None:
            return last.outputs
    output = region_output(source, nodes)
    return output if isinstance(output, Refusal) else (output,)
