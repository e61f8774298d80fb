"""Says along which dims of the largest input all others lie, so that a launcher can check whole shapes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kernelwright.nest.form import Axis, Load, Nest, Tensor
from kernelwright.nest.index import Index
from kernelwright.nest.sizes import product_text

Places = tuple[int | None, ...]


def aligned(nest: Nest) -> Nest:
    """The Nest, before axes are merged, with `along` where every input lies along dims of the main one."""
    main = nest.main
    if nest.pointwise and main.shape == tuple(dim.extent.captured for dim in nest.stored.dims):
        nest = _with_sizes_of(nest, main)
    named = {axis.extent.text: axis.name for axis in nest.spatial}
    dims = {named[text]: d for d in range(len(main.shape)) if (text := f"{main.name}.shape[{d}]") in named}
    found: dict[str, Places] = {}
    for tensor in nest.tensors:
        if tensor == main and not nest.pointwise:
            continue
        for index in _indices(nest, tensor):
            places = _places(tensor, main, index, dims)
            if places is None or found.setdefault(tensor.name, places) != places:
                return nest
    found.pop(main.name, None)
    return replace(nest, along=found)


def aligned_rows(nest: Nest) -> Nest:
    """The same for a Nest that folds rows: its axes are those of the main tensor's dims."""
    main = nest.main
    whole = (
        index for index in _indices(nest, main) if len({i.name for i in index} - {None}) == len(nest.axes) - _ones(nest)
    )
    index = next(whole, None)
    if index is None:
        return nest
    dims = {i.name: d for d, i in enumerate(index) if i.name is not None}
    nest = _sized(nest, {name: f"{main.name}.shape[{d}]" for name, d in dims.items()})
    found: dict[str, Places] = {}
    for tensor in nest.tensors:
        for at in _indices(nest, tensor):
            places = _places(tensor, main, at, dims)
            if places is None or found.setdefault(tensor.name, places) != places:
                return nest
    for tensor in nest.tensors:
        nest = _told_by(nest, main, tensor, found[tensor.name]) if tensor.name in found else nest
    ones = [d for d, i in enumerate(index) if i.name is None]
    needs = tuple((f"{main.name}.shape[{d}] != 1", f"{main.name}.shape[{d}] of 1") for d in ones)
    found.pop(main.name, None)
    return replace(nest, along=found, needs=(*nest.needs, *needs))


def _told_by(nest: Nest, main: Tensor, tensor: Tensor, places: Places) -> Nest:
    """The Nest with sizes of a tensor written as those of the main one."""
    known = {f"{tensor.name}.shape[{d}]": f"{main.name}.shape[{at}]" for d, at in enumerate(places) if at is not None}
    sizes = {name: known.get(text, text) for name, text in nest.sizes.items()}
    dims = tuple(_with_text(dim, known.get(dim.extent.text, dim.extent.text)) for dim in nest.stored.dims)
    return replace(nest, sizes=sizes, stored=replace(nest.stored, dims=dims))


def _with_text(axis: Axis, text: str) -> Axis:
    return replace(axis, extent=replace(axis.extent, text=text))


def _ones(nest: Nest) -> int:
    return sum(axis.extent.text == "1" for axis in nest.axes)


def from_the_end(nest: Nest) -> Nest:
    """The Nest with the main tensor's dims counted from the last one, so that it takes further ones in front."""
    name, rank = nest.main.name, len(nest.main.shape)

    def counted(match: re.Match[str]) -> str:
        start, stop = int(match[1]), int(match[2] or 0)
        if not match[2]:
            return f"{name}.shape[{start - rank}]"
        return f"{name}.shape[{start - rank if start else ''}:{stop - rank if stop < rank else ''}]"

    outer = nest.walk.outer if nest.walk is not None else ()

    def axis(one: Axis) -> Axis:
        if one.name in outer and one.extent.text == f"{name}.shape[0]":  # as many dims as there are
            return replace(one, extent=replace(one.extent, text=f"{name}.shape[:{1 - rank}].numel()"))
        text = re.sub(rf"\b{name}\.shape\[(\d+)(?::(\d+))?\]", counted, one.extent.text)
        return replace(one, extent=replace(one.extent, text=text.replace(".shape[:].numel()", ".numel()")))

    axes = tuple(map(axis, nest.axes))
    folded: dict[str, str] = {}  # other sizes are what the text says, which counts from the first dim
    if nest.walk is not None:
        texts = ([axis.extent.text for axis in some if axis.name in nest.walk.columns] for some in (nest.axes, axes))
        before, after = map(product_text, texts)
        folded = {before: after}
    sizes = {known: folded.get(text, text) for known, text in nest.sizes.items()}
    return replace(nest, axes=axes, sizes=sizes, any_rank=True)


def lies_at_the_end(tensor: Tensor, main: Tensor, places: Places) -> bool:
    """Whether a tensor broadcasts to the main one from the last dim on, as torch does."""
    lead = len(main.shape) - len(places)
    return tensor.shape == main.shape or all(place in (None, lead + d) for d, place in enumerate(places))


def _with_sizes_of(nest: Nest, main: Tensor) -> Nest:
    return _sized(nest, {dim.name: f"{main.name}.shape[{d}]" for d, dim in enumerate(nest.stored.dims)})


def _sized(nest: Nest, sizes: Mapping[str, str]) -> Nest:
    """The Nest whose axes of these names have these sizes."""

    def sized(axis: Axis) -> Axis:
        return _with_text(axis, sizes.get(axis.name, axis.extent.text))

    stored = replace(nest.stored, dims=tuple(map(sized, nest.stored.dims)))
    return replace(nest, axes=tuple(map(sized, nest.axes)), stored=stored)


def _indices(nest: Nest, tensor: Tensor) -> Iterator[tuple[Index, ...]]:
    """The indices of the loads of a tensor, in the order of its dims."""
    for load in (let.expr for let in nest.lets if isinstance(let.expr, Load) and let.expr.tensor == tensor.name):
        order = tensor.order or tuple(range(len(tensor.shape)))
        yield tuple(load.index[order.index(d)] for d in range(len(order)))


def _places(tensor: Tensor, main: Tensor, index: tuple[Index, ...], dims: Mapping[str, int]) -> Places | None:
    """For each dim of a tensor the dim of the main one; None where one is indexed otherwise, or has another size."""
    places: list[int | None] = []
    for size, one in zip(tensor.shape, index, strict=True):
        place = dims.get(one.name or "")
        if place is None and not (size == 1 and one.constant == 0):
            return None
        places.append(place)
    whole = all(place is None or size == main.shape[place] for size, place in zip(tensor.shape, places, strict=True))
    return tuple(places) if whole else None
