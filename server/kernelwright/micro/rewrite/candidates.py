"""The regions of an observation's graph that are worth fusing, as Actions, and the way back from an Action."""

from collections.abc import Sequence

from kernelwright.micro.rewrite.eager_speed import headroom
from kernelwright.micro.rewrite.lowering import NotLowerable, is_channels_last
from kernelwright.micro.rewrite.ops import REDUCTIONS
from kernelwright.micro.rewrite.program import Domain
from kernelwright.micro.rewrite.reductions import domain_of
from kernelwright.micro.rewrite.regions import FusedRegion, allowed_ops, grow, lower, measure, plan
from kernelwright.micro.rewrite.source_map import SourceMap, references, source_map
from kernelwright.micro.rewrite.torch_region import RegionPlan, region_output
from kernelwright.values import Action, Device, Graph, Node, Refusal, Region, TensorRef

NO_GRAPH = Refusal("The op graph of the workload has not been captured yet.", pending=True)


def observed(text: str, graph: Graph | None) -> SourceMap | Refusal:
    """The text beside its graph; a pending Refusal while there is none."""
    return NO_GRAPH if graph is None else source_map(text, graph)


def pointwise_regions(source: SourceMap) -> list[FusedRegion] | Refusal:
    """Maximal regions of pointwise nodes, the most memory traffic saved first."""
    found: list[FusedRegion] = []
    refusals: list[Refusal] = []
    for sink in reversed(source.graph.nodes):
        if any(sink.id in region.nodes for region in found) or not sink.outputs:
            continue
        domain = _pointwise_domain(source.graph, sink)
        if domain is None:
            continue
        _consider(source, sink, domain, False, found, refusals)
    return _ranked(found) or _why_none(refusals, "No run of pointwise operations is long enough to gain from fusing.")


def row_regions(source: SourceMap) -> list[FusedRegion] | Refusal:
    """Regions around each reduction, with the pointwise nodes before and after it."""
    found: list[FusedRegion] = []
    refusals: list[Refusal] = []
    for anchor in reversed(source.graph.nodes):
        if anchor.op not in REDUCTIONS or any(anchor.id in region.nodes for region in found):
            continue
        domain = domain_of(source.graph, anchor)
        if domain is None or domain.length == 1:
            continue
        for sink in _sinks_after(source, anchor):
            if _consider(source, sink, domain, True, found, refusals, anchor):
                break
    return _ranked(found) or _why_none(refusals, "There is no reduction or normalisation over rows.")


def _consider(
    source: SourceMap,
    sink: Node,
    domain: Domain,
    rows: bool,
    found: list[FusedRegion],
    refusals: list[Refusal],
    anchor: Node | None = None,
) -> bool:
    nodes = grow(source, sink, domain, allowed_ops(reductions=rows), anchor)
    if anchor is not None and anchor.id not in nodes:
        return False
    while nodes and (anchor is None or anchor.id in nodes):
        region = _region(source, nodes, domain)
        if isinstance(region, FusedRegion):
            if region.kernels < 2 and not (anchor and anchor.op in _SLOW_IN_EAGER):
                refusals.append(Refusal(f"Eager mode runs {sink.op} as one kernel already.", _line(sink)))
                return False
            found.append(region)
            return True
        refusals.append(region)
        nodes = nodes[1:]
    return False


_SLOW_IN_EAGER = frozenset({"logsumexp", "group_norm", "instance_norm", "layer_norm", "softmax", "log_softmax", "norm",
                            "vector_norm", "normalize", "rms_norm", "sum", "mean", "amax", "amin", "max", "min", "argmax",
                            "argmin"})  # fmt: skip


def _region(source: SourceMap, nodes: Sequence[int], domain: Domain) -> FusedRegion | Refusal:
    output = region_output(source, nodes)
    if isinstance(output, Refusal):
        return output
    edit = plan(source, nodes)
    if isinstance(edit, Refusal):
        return edit
    try:
        program = lower(source.graph, nodes, output, domain, edit)
    except NotLowerable as problem:
        return problem.refusal
    saved, kernels = measure(source.graph, nodes, output, program.domain)
    return FusedRegion(tuple(nodes), output, program.domain, program, saved, kernels)


def _sinks_after(source: SourceMap, anchor: Node) -> list[Node]:
    """The nodes that could end a region with this reduction in it: down the only chain of readers, furthest first."""
    reached, order = {anchor.id}, [anchor]
    for node in source.graph.nodes[anchor.id + 1 :]:
        makers = {m.id for m in (source.producers.get(v) for v in references(node)) if m is not None}
        if makers & reached:
            reached.add(node.id)
            order.append(node)
    return order[::-1][:40]


def _pointwise_domain(graph: Graph, sink: Node) -> Domain | None:
    type_ = graph.value(sink.outputs[0]).type
    numel = 1
    for size in type_.shape:
        numel *= size
    if numel < 2:
        return None
    first = sink.args[0] if sink.op == "contiguous" else None
    transposing = isinstance(first, TensorRef) and is_channels_last(graph.value(first.id).type)
    layout = "channels_last" if transposing or is_channels_last(type_) else "contiguous"
    return Domain(sink.outputs[0], type_.shape, numel, axes=(len(type_.shape), len(type_.shape)), layout=layout)


def _ranked(found: list[FusedRegion]) -> list[FusedRegion]:
    return sorted(found, key=lambda region: -region.saved_bytes)


def _why_none(refusals: list[Refusal], otherwise: str) -> Refusal:
    """The most telling reason: one with a line."""
    return next((r for r in refusals if r.line is not None), refusals[0] if refusals else Refusal(otherwise))


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None


def action_of(strategy: str, source: SourceMap, region: FusedRegion, device: Device) -> Action:
    """The Action that fuses `region`; its parameters name the graph's nodes and what there is to gain."""
    gain, reason = headroom(source.graph, region.nodes, device)
    places = [source.graph.nodes[n].where for n in region.nodes]
    lines = [place for place in places if place is not None]
    ops = [source.graph.nodes[n].op for n in region.nodes if source.graph.nodes[n].op != "tensor"]
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


def region_of(source: SourceMap, action: Action, *, rows: bool) -> tuple[FusedRegion, RegionPlan] | Refusal:
    """The region that an Action means in this graph, with its edit."""
    nodes = tuple(int(n) for n in str(action.params.get("nodes", "")).split(",") if n)
    if not nodes or any(n >= len(source.graph.nodes) for n in nodes):
        return Refusal("The action belongs to another op graph; run the strategy again.")
    domain = _domain_for(source, nodes, rows=rows)
    if domain is None:
        return Refusal("The action's nodes are no region of this op graph.")
    region = _region(source, nodes, domain)
    if isinstance(region, Refusal):
        return region
    edit = plan(source, nodes)
    return edit if isinstance(edit, Refusal) else (region, edit)


def _domain_for(source: SourceMap, nodes: Sequence[int], *, rows: bool) -> Domain | None:
    graph = source.graph
    if rows:
        domains = [domain_of(graph, graph.nodes[n]) for n in nodes if graph.nodes[n].op in REDUCTIONS]
        return next((d for d in domains if d is not None and d.length > 1), None)
    return _pointwise_domain(graph, graph.nodes[max(nodes)])


def within(regions: list[FusedRegion], source: SourceMap, start: int, end: int) -> list[FusedRegion]:
    """The regions whose source lies in lines start:end."""
    graph = source.graph
    return [
        region
        for region in regions
        if all((w := graph.nodes[n].where) is not None and start <= w.start_line < end for n in region.nodes)
    ]
