"""A kernel that copies a contiguous tensor into channels-last memory, for the entries of channels-last convolutions."""

from kernelwright.emit.eager import where_gradients_flow
from kernelwright.emit.turned import print_turned
from kernelwright.micro.rewrite.naming import name_of
from kernelwright.micro.rewrite.printed import Printed
from kernelwright.nest.aligned import aligned
from kernelwright.nest.form import Axis, Extent, Let, Load, Nest, Stored, Tensor
from kernelwright.nest.index import variable
from kernelwright.nest.layouts import channels_last_order
from kernelwright.nest.merge import merged
from kernelwright.place.layout import free_names
from kernelwright.place.source_map import SourceMap
from kernelwright.schedule.applying import apply
from kernelwright.schedule.forms import Tiles
from kernelwright.schedule.spaces import space
from kernelwright.values import CPU, TensorType

_AXES = ("item", "channel", "depth", "height", "width")


def copy_kernel(source: SourceMap, type_: TensorType) -> Printed:
    """The kernel and its launcher, for tensors of the rank of `type_`; the tile suits its number of channels."""
    nest = _copy(type_)
    base, words = name_of(nest)
    base += "_3d" if len(type_.shape) == 5 else ""
    kernel, launcher = free_names(source, (f"{base}_kernel", f"fused_{base}"))
    tile = apply(nest, space(nest, CPU)[0], CPU)
    assert isinstance(tile, Tiles), "the result lies the other way round than the tensor"
    return print_turned(nest, (kernel, launcher), words, tile, source.text)


def _copy(type_: TensorType) -> Nest:
    """The Nest of the copy."""
    rank = len(type_.shape)
    names = (*_AXES[:2], *_AXES[2 - rank :])
    dims = tuple(Axis(name, Extent(size, "")) for name, size in zip(names, type_.shape, strict=True))
    load = Load("x", tuple(map(variable, names)), tuple((d, d + 1) for d in range(rank)))
    order = channels_last_order(rank)
    suffix = "_3d" if rank == 5 else ""
    copied = f"return x.contiguous(memory_format=torch.channels_last{suffix})"
    nest = Nest(
        tuple(dims[d] for d in order),
        (Tensor("x", 0, type_.shape, type_.dtype),),
        (Let("x", load, frozenset(names)),),
        Stored("x", type_.dtype, dims, order=order),
        any_dtype=True,
        eager=where_gradients_flow(("x",), (copied,)),
    )
    return merged(aligned(nest))
