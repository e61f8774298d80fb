"""Rows whose elements may be needed again after they were folded: how the main tensor is walked through."""

from collections.abc import Iterable
from dataclasses import replace

from kernelwright.nest.form import Axis, Contract, Divided, Fold, Let, Load, Nest, Walk
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.monoids import MONOIDS


def walked(nest: Nest) -> Nest:
    """The Nest with its Walk. Raises NotExpressible where its folds are not those of the same rows."""
    nest = replace(nest, axes=tuple(axis for axis in nest.axes if axis.extent.text != "1"))
    folds = [let.expr for let in nest.lets if isinstance(let.expr, Fold)]
    if not folds:
        raise NotExpressible("There is no reduction.")
    over, groups = folds[0].over, folds[0].groups
    if any((fold.over, fold.groups) != (over, groups) for fold in folds):
        raise NotExpressible("The reductions run over different rows.")
    if any(fold.running or fold.inside for fold in folds) or any(map(_is_apart, nest.lets)):
        raise NotExpressible("Rows share a kernel with neither scans, windows, gathers nor products.")
    if not all(len(MONOIDS[fold.monoid].carriers) == 1 or gives_place(fold) for fold in folds):
        raise NotExpressible("What is folded has no form in rows.")
    order = _order(nest)
    at = min((order.index(name) for name in over if name in order), default=len(order))
    columns = tuple(order[at : at + len(over)])
    if set(columns) != set(over):
        raise NotExpressible("The rows do not lie side by side in memory.")
    walk = Walk(tuple(order[:at]), columns, tuple(order[at + len(over) :]), groups)
    if groups is not None and (walk.inner or columns[0] != over[0]):
        raise NotExpressible("The channels of a group do not lie side by side in memory.")
    return replace(nest, walk=walk)


def gives_place(fold: Fold) -> bool:
    """Whether a fold is the place of an element."""
    monoid = MONOIDS[fold.monoid]
    return monoid.carriers[fold.part] in monoid.whole


def elements(nest: Nest) -> frozenset[str]:
    """The lets that differ within a row."""
    assert nest.walk is not None
    columns = set(nest.walk.columns)
    return frozenset(let.name for let in nest.lets if let.axes & columns)


def folded_dims(nest: Nest) -> range:
    """The dims of the main tensor, in the order of memory, that are folded."""
    if nest.walk is None:
        return range(0)
    names = nest.walk.columns
    for load in (let.expr for let in nest.lets if isinstance(let.expr, Load) and let.expr.tensor == nest.main.name):
        dims = [d for index, d in zip(load.index, load.dims, strict=True) if index.name in names]
        if len(dims) == len(names):
            return range(min(dims)[0], max(dims)[1])
    return range(0)


def axes_of(nest: Nest, names: Iterable[str]) -> tuple[Axis, ...]:
    """The axes of these names, in their order."""
    known = {axis.name: axis for axis in nest.axes}
    return tuple(known[name] for name in names)


def _is_apart(let: Let) -> bool:
    expr = let.expr
    return isinstance(expr, Contract | Divided) or (isinstance(expr, Load) and bool(expr.inside or expr.checked))


def _order(nest: Nest) -> list[str]:
    """The axes in the order of the main tensor's memory. Raises NotExpressible where it has not all of them, once each."""
    main, axes = nest.main, {axis.name for axis in nest.axes}
    for load in (let.expr for let in nest.lets if isinstance(let.expr, Load) and let.expr.tensor == main.name):
        names = [index.name for index in load.index if index.constant != 0]
        if set(names) == axes and len(names) == len(axes):
            return names  # type: ignore[return-value]
    raise NotExpressible("No input of the region has its full size.")
