"""A region with a Nest in the first place where its code can go; where a class runs for several modules, right for all."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace

from kernelwright.nest.form import Axis, Nest
from kernelwright.place.expression import RegionPlan
from kernelwright.place.placements import Placement, placements
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Refusal


@dataclass(frozen=True)
class NestRegion:
    """Nodes that become one kernel. `saved_bytes`: memory traffic that eager mode has and the kernel has not.

    `others`: for each other module that runs the code which is edited, the nodes that the same edit replaces.
    """

    nodes: tuple[int, ...]
    edit: RegionPlan
    nest: Nest
    saved_bytes: int
    kernels: int  # that eager mode launches
    others: tuple[tuple[int, ...], ...] = ()

    @property
    def all_nodes(self) -> tuple[int, ...]:
        """The nodes that the edit replaces, of every module that runs it."""
        return (*self.nodes, *(n for nodes in self.others for n in nodes))


Build = Callable[[SourceMap, tuple[int, ...]], NestRegion | Refusal]


def placed(source: SourceMap, nodes: tuple[int, ...], build: Build) -> NestRegion | Refusal:
    """The region that `build` makes in the first legal place; the Refusal of the last one that was tried otherwise."""
    refusals: list[Refusal] = []
    for placement in placements(source, nodes):
        region = placement if isinstance(placement, Refusal) else _in(placement, build)
        if isinstance(region, NestRegion):
            return region
        opened = isinstance(placement, Placement) and placement.opening is not None
        refusals.append(Refusal(region.reason, refusals[0].line) if opened else region)  # lines of the user's text
    return refusals[-1]


def _in(placement: Placement, build: Build) -> NestRegion | Refusal:
    """The region in one place, for the largest of its runs: a kernel made for that one takes the others too."""
    regions: list[NestRegion] = []
    for run in placement.runs:
        region = build(run.source, run.nodes)
        if isinstance(region, Refusal):
            return region
        regions.append(region)
    largest = max(regions, key=lambda region: region.nest.numel)
    if any(_written(region) != _written(largest) for region in regions):
        return Refusal("The modules that run this code name its values differently.", largest.edit.start_line)
    if any(_form(region.nest) != _form(largest.nest) for region in regions):
        return Refusal("The modules that run this code do not all fit one kernel.", largest.edit.start_line)
    edit = replace(largest.edit, opening=placement.opening)
    others = tuple(region.nodes for region in regions if region is not largest)
    saved = sum(region.saved_bytes for region in regions)
    return replace(largest, edit=edit, saved_bytes=saved, others=others)


def _written(region: NestRegion) -> tuple[Hashable, ...]:
    """What the edit puts into the source, but for the name of the launcher."""
    edit, nest = region.edit, region.nest
    values = tuple(edit.names.get(tensor.value) for tensor in nest.tensors)
    return edit.edits, edit.sink, edit.before_call, values, tuple(nest.numbers.items())


def _form(nest: Nest) -> tuple[Hashable, ...]:
    """The Nest without its sizes: those that agree in it are printed as the same kernel, but for a tile's size."""
    tensors = tuple((t.name, t.dtype, tuple(size == 1 for size in t.shape)) for t in nest.tensors)
    stored = tuple((one.name, one.dtype, tuple(map(_axis, one.dims)), one.casts) for one in (nest.stored, *nest.more))
    sizes = tuple(nest.sizes.items())
    rest = nest.lets, nest.whole, nest.ops, nest.any_dtype, nest.effects, nest.counters
    return tuple(map(_axis, nest.axes)), tensors, stored, sizes, *rest


def _axis(axis: Axis) -> tuple[Hashable, ...]:
    kind = axis.window, axis.inner, axis.reduced
    return axis.name, axis.extent.text, axis.extent.captured == 1, *kind
