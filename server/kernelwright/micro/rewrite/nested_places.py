"""A region with a Nest, and what such regions must have in common for one kernel to serve them all."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from kernelwright.micro.rewrite.placed import Alike
from kernelwright.nest.form import Axis, Nest
from kernelwright.place.expression import RegionPlan


@dataclass(frozen=True)
class NestRegion:
    """Nodes that become one kernel. `saved_bytes`: memory traffic that eager mode has and the kernel has not.

    `numbers`: (node id, parameter) to the expression of each number that is no literal. `biases`: inputs to which the kernel
    adds the bias of the convolution that makes them. `others`: for each other module
    that runs the code which is edited, the nodes that the same edit replaces. `also`: regions elsewhere in the text that
    call the same kernel.
    """

    nodes: tuple[int, ...]
    edit: RegionPlan
    nest: Nest
    saved_bytes: int
    kernels: int  # that eager mode launches
    numbers: Mapping[tuple[int, str], str] = field(default_factory=dict)
    biases: Mapping[int, int] = field(default_factory=dict)
    others: tuple[tuple[int, ...], ...] = ()
    also: "tuple[NestRegion, ...]" = ()

    @property
    def places(self) -> "tuple[NestRegion, ...]":
        """The region in each of its places in the text."""
        return (self, *self.also)

    @property
    def all_nodes(self) -> tuple[int, ...]:
        """The nodes that the edit replaces, of every module that runs it, in every place."""
        own = (*self.nodes, *(n for nodes in self.others for n in nodes))
        return (*own, *(n for region in self.also for n in region.all_nodes))


def _written(region: NestRegion) -> tuple[Hashable, ...]:
    """What the edit puts into the source, but for the name of the launcher."""
    edit, nest = region.edit, region.nest
    values = tuple(edit.names.get(tensor.value) for tensor in nest.tensors)
    return edit.edits, edit.sink, edit.mode.conditions, edit.before_call, values, tuple(nest.numbers.items())


def _form(nest: Nest) -> tuple[Hashable, ...]:
    """The Nest without its sizes: those that agree in it are printed as the same kernel, but for a tile's size."""
    tensors = tuple((t.name, t.dtype, tuple(size == 1 for size in t.shape), t.order) for t in nest.tensors)
    results = (nest.stored, *nest.more)
    stored = tuple((one.name, one.dtype, tuple(map(_axis, one.dims)), one.casts, one.order) for one in results)
    sizes = tuple(nest.sizes.items())
    along = None if nest.along is None else tuple(nest.along.items())
    rest = nest.lets, nest.whole, nest.ops, nest.any_dtype, nest.effects, nest.counters, along, nest.any_rank
    return tuple(map(_axis, nest.axes)), tensors, stored, sizes, *rest


def _axis(axis: Axis) -> tuple[Hashable, ...]:
    kind = axis.window, axis.inner, axis.reduced
    return axis.name, axis.extent.text, axis.extent.captured == 1, *kind


def _size(nest: Nest) -> tuple[int, int]:
    """The length of its rows, where it has some, and how many elements there are."""
    columns = nest.walk.columns if nest.walk is not None else ()
    lengths = (axis.extent.captured for axis in nest.axes if axis.name in columns)
    return math.prod(lengths), math.prod(nest.main.shape) if nest.walk is not None else nest.numel


NESTS: Alike[NestRegion] = Alike(_written, lambda region: _form(region.nest), lambda region: _size(region.nest))
