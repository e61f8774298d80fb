"""Cuts a Nest in two where a reduction has fewer elements than the result: statistics first, then what is done with them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernelwright.nest.form import Axis, Fold, Let, Load, Nest, Stored, Tensor, reads
from kernelwright.nest.index import variable
from kernelwright.nest.levels import needed
from kernelwright.nest.refused import NotExpressible


@dataclass(frozen=True)
class Stages:
    """`statistics` is a Nest that reduces and stores fp32 tensors, which `applied` reads; both go through the elements."""

    statistics: Nest
    applied: Nest


def stages(nest: Nest) -> Stages | None:
    """The two parts of a Nest; None where one will do. Raises NotExpressible."""
    reduced = {axis.name for axis in nest.reduced}
    outer = [let for let in nest.lets if isinstance(let.expr, Fold) and let.expr.over and not let.axes & reduced]
    outer = [let for let in outer if set(let.expr.over) & reduced]  # type: ignore[union-attr]
    rows = {axis.name for axis in nest.spatial if axis.extent.captured > 1}
    if not outer or all(rows <= let.axes for let in outer):
        return None
    own = frozenset().union(*(let.axes for let in outer))
    if any(let.axes != own for let in outer):
        raise NotExpressible("Reductions with different elements do not fit into one kernel.")
    found = _statistics(nest, {let.name for let in outer}, own)
    rest = [let for let in needed(nest, nest.stored_names, found) if let.name not in found]
    kept = dict.fromkeys(
        name for name in (*nest.stored_names, *(n for let in rest for n in reads(let.expr))) if name in found
    )
    if any(isinstance(let.expr, Fold) for let in rest):
        raise NotExpressible("What a first reduction makes is reduced once more.")
    axes = tuple(axis for axis in nest.spatial if axis.name in own)
    return Stages(_first(nest, tuple(kept), axes), _second(nest, tuple(kept), axes, rest))


def _statistics(nest: Nest, folds: set[str], own: frozenset[str]) -> set[str]:
    """The folds, and what is made of them alone."""
    found = set(folds)
    for let in nest.lets:
        if let.axes <= own and found & set(reads(let.expr)):
            found.add(let.name)
    return found


def _first(nest: Nest, kept: tuple[str, ...], axes: tuple[Axis, ...]) -> Nest:
    stored = tuple(Stored(name, "float32", axes) for name in kept)
    lets = needed(nest, (*kept, *(effect.name for effect in nest.effects)))
    more = tuple(axis for axis in nest.axes if axis.reduced)
    tensors = tuple(tensor for tensor in nest.tensors if _read(tensor.name, lets) or tensor.name in nest.changed)
    return replace(
        nest,
        axes=(*axes, *more),
        lets=tuple(lets),
        tensors=tensors,
        stored=stored[0],
        more=stored[1:],
        named=tuple(_temporary(nest, name) for name in kept),
    )


def _second(nest: Nest, kept: tuple[str, ...], axes: tuple[Axis, ...], rest: Iterable[Let]) -> Nest:
    names, rest = frozenset(axis.name for axis in axes), list(rest)
    shape = tuple(axis.extent.captured for axis in axes)
    index = tuple(variable(axis.name) for axis in axes)
    dims = tuple((d, d + 1) for d in range(len(axes)))
    temporary = {name: Tensor(_temporary(nest, name), -1, shape, "float32") for name in kept}
    loads = [Let(name, Load(tensor.name, index, dims), names) for name, tensor in temporary.items()]
    tensors = (*(tensor for tensor in nest.tensors if _read(tensor.name, rest)), *temporary.values())
    spatial = tuple(axis for axis in nest.axes if not axis.reduced)
    return replace(nest, axes=spatial, lets=(*loads, *rest), tensors=tensors, effects=(), counters=())


def _temporary(nest: Nest, name: str) -> str:
    """What the launcher calls a statistic: by its own name unless something of the launcher has that."""
    taken = {*(tensor.name for tensor in nest.tensors), *nest.numbers, "out"}
    return next(n for n in (name, *(f"{name}_{i}" for i in range(2, 99))) if n not in taken)


def _read(tensor: str, lets: Iterable[Let]) -> bool:
    return any(isinstance(let.expr, Load) and let.expr.tensor == tensor for let in lets)
