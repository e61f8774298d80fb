"""A region in the first place where its code can go; where a class runs for several modules, one that is right for all."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from kernelwright.place.expression import RegionPlan
from kernelwright.place.placements import Placement, placements
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Refusal


class Region(Protocol):
    """Nodes that become one kernel, whatever the form that it is printed from; a frozen dataclass."""

    @property
    def nodes(self) -> tuple[int, ...]: ...
    @property
    def edit(self) -> RegionPlan: ...
    @property
    def saved_bytes(self) -> int: ...


R = TypeVar("R", bound=Region)


@dataclass(frozen=True)
class Alike(Generic[R]):
    """What regions of one form must have in common for one edit to replace them all.

    `written`: what the edit puts into the source, but for the name of the launcher. `form`: the region without its sizes;
    those that agree in it are printed as the same kernel, but for a tile's size. `size`: a kernel made for the largest
    takes the others too.
    """

    written: Callable[[R], Hashable]
    form: Callable[[R], Hashable]
    size: Callable[[R], Any]


def placed(
    source: SourceMap,
    nodes: tuple[int, ...],
    build: Callable[[SourceMap, tuple[int, ...]], R | Refusal],
    alike: Alike[R],
) -> R | Refusal:
    """The region that `build` makes in the first legal place; the Refusal of the last one that was tried otherwise."""
    refusals: list[Refusal] = []
    for placement in placements(source, nodes):
        region = placement if isinstance(placement, Refusal) else _in(placement, build, alike)
        if not isinstance(region, Refusal):
            return region
        opened = isinstance(placement, Placement) and placement.opening is not None
        refusals.append(Refusal(region.reason, refusals[0].line) if opened else region)  # lines of the user's text
    return refusals[-1]


def _in(
    placement: Placement, build: Callable[[SourceMap, tuple[int, ...]], R | Refusal], alike: Alike[R]
) -> R | Refusal:
    """The region in one place, for the largest of its runs. The first run that differs ends the search."""
    regions: list[R] = []
    for run in placement.runs:
        region = build(run.source, run.nodes)
        if isinstance(region, Refusal):
            return region
        regions.append(region)
        line = regions[0].edit.start_line
        if alike.written(region) != alike.written(regions[0]):
            return Refusal("The modules that run this code name its values differently.", line)
        if alike.form(region) != alike.form(regions[0]):
            return Refusal("The modules that run this code do not all fit one kernel.", line)
    largest = max(regions, key=alike.size)
    return replace(  # type: ignore[type-var]
        largest,
        edit=replace(largest.edit, opening=placement.opening),
        others=tuple(
            nodes
            for region, run in zip(regions, placement.runs, strict=True)
            for nodes in (*(() if region is largest else (region.nodes,)), *run.alike)
        ),
        saved_bytes=sum(
            region.saved_bytes * (1 + len(run.alike)) for region, run in zip(regions, placement.runs, strict=True)
        ),
    )
