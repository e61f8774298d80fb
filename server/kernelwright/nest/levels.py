"""Which folds of a Nest with reductions stand inside of which; refuses what needs elements twice."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from kernelwright.nest.form import Axis, Fold, Let, Nest, reads
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.monoids import MONOIDS, WITHIN


@dataclass(frozen=True)
class Carried:
    """Folds of one body over one monoid; `names` are those of all numbers that it carries."""

    fold: Fold
    names: tuple[str, ...]


@dataclass(frozen=True)
class Levels:
    """What is folded over `columns`, and then over `rows` where `outer` folds those; otherwise `rows` are the result's.

    `inner` is empty where there is one level.
    """

    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    outer: tuple[Carried, ...]
    inner: tuple[Carried, ...] = ()


def levels(nest: Nest) -> Levels:
    """The levels of a Nest that reduces. Raises NotExpressible."""
    axes = {axis.name: axis for axis in nest.axes}
    reduced = {axis.name for axis in nest.reduced}
    folds = [let for let in nest.lets if _fold(let) and set(_fold(let).over) & reduced]  # type: ignore[union-attr]
    for let in folds:
        fold = _fold(let)
        assert fold is not None
        if fold.inside:
            raise NotExpressible("What is reduced is only a part of the elements.")
        before = (_fold(one) for one in needed(nest, reads(fold)))
        if any(one is not None and set(one.over) & set(fold.over) for one in before):
            raise NotExpressible("The elements are needed again after a first reduction over them.")
    inner = [let for let in folds if let.axes & reduced]
    outer = [let for let in folds if not let.axes & reduced]
    if any(len({_fold(let).over for let in some}) > 1 for some in (inner, outer)):  # type: ignore[union-attr]
        raise NotExpressible("The reductions run over different dims.")
    over = tuple(axes[name] for name in _fold(outer[0]).over)  # type: ignore[union-attr]
    rows = {axis.name for axis in nest.spatial if axis.extent.captured > 1}
    if any(not rows <= let.axes for let in outer):
        raise NotExpressible("A reduction has fewer elements than the result that it is used for.")
    if not inner:
        return Levels(nest.spatial, over, carried(nest, outer))
    if nest.spatial or any(len(MONOIDS[one.fold.monoid].carriers) > 1 for one in carried(nest, outer)):
        raise NotExpressible("Reductions one after the other end in one number here, in sums or extremes.")
    columns = tuple(axes[name] for name in _fold(inner[0]).over)  # type: ignore[union-attr]
    return Levels(over, columns, carried(nest, outer), carried(nest, inner))


def _fold(let: Let) -> Fold | None:
    return let.expr if isinstance(let.expr, Fold) else None


def carried(nest: Nest, folds: Iterable[Let]) -> tuple[Carried, ...]:
    """The folds, those of one monoid and body together."""
    groups: dict[tuple[object, ...], dict[int, str]] = {}
    first: dict[tuple[object, ...], Fold] = {}
    given = [(let, fold) for let in folds if (fold := _fold(let)) is not None]
    known = {(fold.monoid, fold.body, fold.over) for _, fold in given}
    for let, plain in given:
        fold = plain
        within = WITHIN.get(plain.monoid)
        if (within, plain.body, plain.over) in known and within is not None:
            fold = replace(plain, monoid=within, part=0)
        key = (fold.monoid, fold.body, fold.over)
        groups.setdefault(key, {})[fold.part] = let.name
        first.setdefault(key, fold)
    return tuple(Carried(fold, _names(nest, fold, groups[key])) for key, fold in first.items())


def _names(nest: Nest, fold: Fold, known: dict[int, str]) -> tuple[str, ...]:
    taken = {let.name for let in nest.lets}
    base = next(iter(known.values()))
    carriers = MONOIDS[fold.monoid].carriers
    free = [f"{base}_{word or 'value'}" for word in carriers]
    return tuple(known.get(i) or (f"{name}_2" if name in taken else name) for i, name in enumerate(free))


def needed(nest: Nest, names: Iterable[str], stop: Collection[str] = ()) -> list[Let]:
    """The lets that these names are made of, in order; what those named `stop` are made of does not count."""
    lets = {let.name: let for let in nest.lets}
    wanted: set[str] = set()
    stack = list(names)
    while stack:
        one = stack.pop()
        if one in lets and one not in wanted and one not in stop:
            wanted.add(one)
            stack += reads(lets[one].expr)
    return [let for let in nest.lets if let.name in wanted]
