"""The places where code for a region can go, the least invasive first; each is a source on which the same planner works.

An expression: the region's own calls are edited. Everywhere: they stand in code that runs for several modules, in a
loop or in a function that is called more than once, and the edit is right for each of its runs. Forward: a container of
modules is written out first, so that the region's modules have calls of their own.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from kernelwright.place.compose import composed
from kernelwright.place.opened import opened, outer_call
from kernelwright.place.own_expression import unplaceable
from kernelwright.place.runs import Pass, code_of, passes
from kernelwright.place.seen import seen, signature
from kernelwright.place.source_env import NotEditable
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Edits, Node, Refusal, TextEdit, digest


@dataclass(frozen=True)
class Run:
    """One run of the code that is edited: the source as that run sees it, and the region's nodes in it.

    `alike`: the nodes of the runs that differ from this one only in the numbers that their tensors hold.
    """

    source: SourceMap
    nodes: tuple[int, ...]
    alike: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Placement:
    """A way to put code in a region's place: where it goes, in whose runs, and what is edited beforehand."""

    kind: str  # "expression" | "everywhere" | "forward"
    runs: tuple[Run, ...]
    opening: Edits | None = None


def placements(source: SourceMap, nodes: Sequence[int]) -> Iterator[Placement | Refusal]:
    """Each place for the region of these nodes, or why it is none, in the order in which they are to be tried."""
    first = Placement("expression", (Run(source, tuple(sorted(nodes))),))
    yield first
    everywhere = _everywhere(source, first.runs[0].nodes)
    if everywhere is not None:
        yield everywhere
    inner = everywhere if isinstance(everywhere, Placement) else first
    if outer_call(inner.runs[0].source, inner.runs[0].nodes) is not None:
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


def _everywhere(source: SourceMap, nodes: tuple[int, ...]) -> Placement | Refusal | None:
    """The region in all runs of the code in which it stands; None where that runs once, for the model itself."""
    code = code_of(source, nodes)
    every = passes(source, code) if code is not None else ()
    own = next((one for one in every if set(nodes) <= set(one.here)), None)
    if code is None or own is None or (len(every) == 1 and code.loop is None and not own.path):
        return None
    places = {node.where for node in (source.graph.nodes[n] for n in nodes) if node.where is not None}
    alike: dict[Hashable, list[Pass]] = {}
    for one in (own, *(one for one in every if one is not own)):
        alike.setdefault(signature(source, one, places), []).append(one)
    runs: list[Run] = []
    for first, *others in alike.values():
        view = seen(source, code, first)
        found = nodes if first is own else _same_nodes(runs[0], view)
        if isinstance(found, Refusal):
            return found
        at = [first.here.index(n) for n in found]
        if found:
            runs.append(Run(view, found, tuple(tuple(one.here[i] for i in at) for one in others)))
    return Placement("everywhere", tuple(runs))


def _same_nodes(first: Run, other: SourceMap) -> tuple[int, ...] | Refusal:
    """The nodes of another run that its calls made where those of the first stand; none if it came not there."""
    graph = first.source.graph
    found: list[int] = []
    for node in (graph.nodes[n] for n in first.nodes):
        here, there = (_alike(source, node) for source in (first.source, other))
        found += [there[here.index(node.id)]] if len(here) == len(there) else []
    stand_there = {m.id for n in first.nodes for m in _at(other, graph.nodes[n])}
    if stand_there and len(found) != len(first.nodes):
        place = graph.nodes[first.nodes[0]].where
        return Refusal(
            "The modules that run this code do not all do the same here.", place.start_line if place else None
        )
    return tuple(found) if stand_there else ()


def _alike(source: SourceMap, node: Node) -> list[int]:
    """The nodes of the same operator that the same module made by the call where this one stands, in order."""
    return [n.id for n in _at(source, node) if (n.op, n.module) == (node.op, node.module)]


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
        while (call := outer_call(source, run.nodes)) is not None:
            try:
                step = opened(source, call)
            except NotEditable as problem:
                return Refusal(str(problem), problem.line)
            source, edits = step.source, composed(edits, step.edits, len(text))
        written.add(edits)
        runs.append(replace(run, source=source))
    if len(written) > 1:
        return Refusal("The modules of this class hold containers of different lengths.")
    return replace(placement, kind="forward", runs=tuple(runs), opening=Edits(digest(text), written.pop()))
