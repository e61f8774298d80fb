"""On which axes an expression depends."""

from collections.abc import Collection, Iterable, Mapping

from kernelwright.nest.form import Apply, Contract, Divided, Expr, Fold, Held, Inside, Let, Load, Var
from kernelwright.nest.index import Index


def axes_of(expr: Expr, lets: Mapping[str, Let], axes: Collection[str]) -> frozenset[str]:
    """The axes on which an expression of these lets depends."""
    match expr:
        case Load(_, index, _, inside):
            names = {name for i in index for name in i.names()} | set(_names_of(inside))
            names |= {axis for name in names if name in lets for axis in lets[name].axes}
        case Held(inside):
            names = set(_names_of(inside))
        case Contract(left, right, over):
            names = set(lets[left].axes | lets[right].axes) - set(over)
        case Divided(index, by):
            names = {*index.names(), *by.names()}
            names |= {axis for name in names if name in lets for axis in lets[name].axes}
        case Fold(_, body, over, inside, running=running):
            names = set(axes_of(body, lets, axes)) | set(_names_of(inside)) | set(over if running else ())
            names -= set() if running else set(over)
        case Apply(_, arguments):
            return frozenset().union(*(axes_of(a, lets, axes) for a in arguments))
        case Index():
            names = set(expr.names())
        case Var(name):
            return lets[name].axes if name in lets else frozenset()
        case _:
            return frozenset()
    return frozenset(names & set(axes))


def _names_of(inside: Iterable[Inside]) -> Iterable[str]:
    for one in inside:
        for bound in (one.index, one.least, one.limit):
            if bound is not None:
                yield from bound.names()
