"""The places where code for a region can go, the least invasive first; each is a source on which the same planner works.

An expression: the region's own calls are edited. A block: they stand in a class that the model holds, once or many
times, and the edit is right for each of its modules. Forward: a container of modules is written out first, so that the
region's modules have calls of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kernelwright.place.compose import composed
from kernelwright.place.instance import instance_map, instances
from kernelwright.place.opened import container_call, opened
from kernelwright.place.own_expression import unplaceable
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap, class_of
from kernelwright.values import Edits, Node, Refusal, TextEdit, digest


@dataclass(frozen=True)
class Run:
    """One module's run of the code that is edited: the source as that module sees it, and the region's nodes in it."""

    source: SourceMap
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Placement:
    """A way to put code in a region's place: where it goes, in whose runs, and what is edited beforehand."""

    kind: str  # "expression" | "block" | "forward"
    runs: tuple[Run, ...]
    opening: Edits | None = None


def placements(source: SourceMap, nodes: Sequence[int]) -> Iterator[Placement | Refusal]:
    """Each place for the region of these nodes, or why it is none, in the order in which they are to be tried."""
    first = Placement("expression", (Run(source, tuple(sorted(nodes))),))
    yield first
    block = _block(source, nodes)
    if block is not None:
        yield block
    inner = block if isinstance(block, Placement) else first
    if container_call(inner.runs[0].source, inner.runs[0].nodes) is not None:
        yield _forward(inner)


def nowhere(source: SourceMap, node: Node) -> Refusal | None:
    """Why no region with this node in it has a place, which is sooner told than what the region would be."""
    refusal: Refusal | None = None
    for placement in placements(source, (node.id,)):
        if isinstance(placement, Refusal):
            refusal = placement
            continue
        whys = (unplaceable(run.source, run.source.graph.nodes[run.nodes[0]]) for run in placement.runs)
        refusal = next((why for why in whys if why is not None), None)
        if refusal is None:
            return None
    return refusal


def _block(source: SourceMap, nodes: Sequence[int]) -> Placement | Refusal | None:
    """The region in the runs of all modules of the class in which it stands; None for the entry's own class."""
    trees = [source.expression(source.graph.nodes[n]) for n in sorted(nodes)]
    functions = {source.function(tree) if tree else None for tree in trees}
    function = functions.pop()
    block = class_of(source, function) if function and not functions else None
    if function is None or block is None or block.name == source.graph.entry or source.parents[function] is not block:
        return None
    held = instances(source, block)
    own = next((path for path, made in held.items() if set(nodes) <= set(made)), None)
    if own is None:
        return None
    runs: list[Run] = []
    for path in (own, *(p for p in sorted(held) if p != own)):
        seen = instance_map(source, function, path)
        run = Run(seen, tuple(sorted(nodes))) if not runs else _same_run(runs[0], seen, block.name)
        if isinstance(run, Refusal):
            return run
        if run.nodes:
            runs.append(run)
    return Placement("block", tuple(runs))


def _same_run(first: Run, other: SourceMap, name: str) -> Run | Refusal:
    """The nodes of another module's run that its calls made where those of the first stand; none if it came not there."""
    graph = first.source.graph
    found: list[int] = []
    for node in (graph.nodes[n] for n in first.nodes):
        found += [n.id for n in _at(other, node) if (n.op, n.module) == (node.op, node.module)]
    stand_there = {m.id for n in first.nodes for m in _at(other, graph.nodes[n])}
    if stand_there and len(found) != len(first.nodes):
        place = graph.nodes[first.nodes[0]].where
        line = place.start_line if place is not None else None
        return Refusal(f"The modules of {name} do not all do the same here.", line)
    return Run(other, tuple(found) if stand_there else ())


def _at(source: SourceMap, node: Node) -> tuple[Node, ...]:
    return source.nodes_at.get(node.where, ()) if node.where else ()


def _forward(placement: Placement) -> Placement | Refusal:
    """The placement with every container of modules written out in which one of the region's nodes was made."""
    text = placement.runs[0].source.text
    written: set[tuple[TextEdit, ...]] = set()
    runs: list[Run] = []
    for run in placement.runs:
        source = run.source
        edits: tuple[TextEdit, ...] = ()
        while (call := container_call(source, run.nodes)) is not None:
            try:
                step = opened(source, call)
            except NotEditable as problem:
                return Refusal(str(problem), problem.line)
            source, edits = step.source, composed(edits, step.edits, len(text))
        written.add(edits)
        runs.append(Run(source, run.nodes))
    if len(written) > 1:
        return Refusal("The modules of this class hold containers of different lengths.")
    return replace(placement, kind="forward", runs=tuple(runs), opening=Edits(digest(text), written.pop()))
