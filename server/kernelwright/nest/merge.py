"""Axes that every tensor runs through one after the other become one, so that code has as few as it needs."""

from collections.abc import Iterator
from dataclasses import replace

from kernelwright.nest.form import Apply, Axis, Contract, Divided, Expr, Extent, Fold, Held, Inside, Let, Load, Nest
from kernelwright.nest.index import Index, variable
from kernelwright.nest.sizes import extent_of, product_text


def merged(nest: Nest) -> Nest:
    """The Nest with as few axes as there can be; one of several has the name of the first."""
    if nest.stored.places:  # which say where each of them goes
        return nest
    for reduced in (False, True):
        position = 0
        while position + 1 < len(axes := nest.reduced if reduced else nest.spatial):
            first, second = axes[position : position + 2]
            if _go_together(nest, first, second):
                nest = _joined(nest, first, second)
            else:
                position += 1
    return nest


def leading(nest: Nest) -> Nest:
    """The Nest with its first two axes as one with parts, where a tensor that is not read at the result's own place runs
    through both, and nothing needs the first alone: a block of results then has a division less to do."""
    if nest.stored.places or len(nest.spatial) < 2:
        return nest
    first, second = nest.spatial[:2]
    own = [axis.name for axis in nest.spatial]
    elsewhere, apart = False, {first.name, extent_of(first.name)}
    for let in nest.lets:
        load = let.expr if isinstance(let.expr, Load) and _side_by_side(let.expr, first.name, second.name) else None
        if apart & set(_named(let.expr, loads=load is None)):
            return nest
        elsewhere |= load is not None and [index.name for index in load.index] != own
    return _joined(nest, first, second, parts=(first, second)) if elsewhere else nest


def _go_together(nest: Nest, first: Axis, second: Axis) -> bool:
    pair = {first.name, second.name}
    apart = pair | {extent_of(name) for name in pair}
    for let in nest.lets:
        expr = let.expr
        together = isinstance(expr, Load) and _side_by_side(expr, first.name, second.name)
        named = set(_named(expr, loads=not together))
        if isinstance(expr, Fold) and _folds_both(expr, first.name, second.name):
            named -= pair
        if apart & named:
            return False
    return True


def _folds_both(fold: Fold, first: str, second: str) -> bool:
    """Whether a reduction runs over both, one right after the other, and says nothing else of them."""
    if fold.running or first not in fold.over or second not in fold.over[1:]:
        return False
    if fold.groups is not None and first == fold.over[0]:
        return False
    side_by_side = fold.over.index(second) == fold.over.index(first) + 1
    return side_by_side and not {first, second} & set(_conditions(fold.inside))


def _side_by_side(load: Load, first: str, second: str) -> bool:
    """Whether the two axes index neighbouring dims and nothing else."""
    own = [index.name for index in load.index]
    if first not in own or second not in own or own.index(second) != own.index(first) + 1:
        return False
    rest = [name for index in load.index if index.name not in (first, second) for name in index.names()]
    return not {first, second, extent_of(first), extent_of(second)} & set(rest)


def _named(expr: Expr, *, loads: bool = True) -> Iterator[str]:
    """The axes and extents that an expression depends on itself; without `loads` those of a Load's index do not count."""
    match expr:
        case Load(_, index, _, inside):
            if loads:
                yield from (name for i in index for name in i.names())
            yield from _conditions(inside)
        case Fold(_, _, over, inside):
            yield from over
            yield from _conditions(inside)
        case Held(inside):
            yield from _conditions(inside)
        case Contract(_, _, over):
            yield from over
        case Index():
            yield from expr.names()
        case Divided(index, by):
            yield from (*index.names(), *by.names())
        case Apply(_, arguments):
            for argument in arguments:
                yield from _named(argument, loads=loads)


def _conditions(inside: tuple[Inside, ...]) -> Iterator[str]:
    for one in inside:
        for bound in (one.index, one.least, one.limit):
            if bound is not None:
                yield from bound.names()


def _joined(nest: Nest, first: Axis, second: Axis, parts: tuple[Axis, ...] = ()) -> Nest:
    name = _JOINED.get((first.name, second.name), first.name)
    one = replace(first, name=name, extent=_product(first.extent, second.extent), size=None, parts=parts)
    axes = tuple(one if axis is first else axis for axis in nest.axes if axis is not second)
    return replace(nest, axes=axes, lets=tuple(_let(let, first.name, second.name, name) for let in nest.lets))


_JOINED = {("item", "channel"): "plane", ("height", "width"): "position", ("depth", "height"): "position"}


def _let(let: Let, first: str, second: str, name: str) -> Let:
    axes = let.axes - {first, second} | ({name} if {first, second} & let.axes else set())
    if isinstance(let.expr, Fold) and first in let.expr.over:
        over = tuple(name if axis == first else axis for axis in let.expr.over if axis != second)
        return replace(let, axes=axes, expr=replace(let.expr, over=over))
    if not isinstance(let.expr, Load):
        return replace(let, axes=axes)
    load = let.expr
    own = [index.name for index in load.index]
    if first not in own:
        return replace(let, axes=axes)
    at = own.index(first)
    dims = (*load.dims[:at], (load.dims[at][0], load.dims[at + 1][1]), *load.dims[at + 2 :])
    index = (*load.index[:at], variable(name), *load.index[at + 2 :])
    return replace(let, axes=axes, expr=replace(load, index=index, dims=dims))


def _product(first: Extent, second: Extent) -> Extent:
    texts = [one.text for one in (first, second) if one.text != "1"]
    return Extent(first.captured * second.captured, product_text(texts) if texts else "1")
