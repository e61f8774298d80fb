"""Which folds over a row one pass makes together, where a later one needs what an earlier one makes."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.nest.form import Apply, Fold, Let, Nest, Var
from kernelwright.nest.index import Index


@dataclass(frozen=True)
class Pass:
    """`folds` in order, all made of elements `body`. `kind`: "single", "online" or "moments".

    "online": the maximum of the elements and the sum of their exponentials (Milakov and Gimelshein 2018). "moments": their
    sum, and the sum of their squared deviations from `mean` (Welford 1962).
    """

    kind: str
    folds: tuple[Let, ...]
    body: str
    mean: str = ""

    @property
    def made(self) -> frozenset[str]:
        """The names that are known after the pass."""
        return frozenset({*(fold.name for fold in self.folds), *({self.mean} - {""})})


def passes(nest: Nest) -> tuple[Pass, ...]:
    """The passes in order; each fold is in one of them."""
    lets = {let.name: let for let in nest.lets}
    folds = [let for let in nest.lets if isinstance(let.expr, Fold)]
    found: list[Pass] = []
    done: set[str] = set()
    for at, first in enumerate(folds):
        if first.name in done:
            continue
        both = (_together(lets, first, second) for second in folds[at + 1 :])
        one = next((made for made in both if made is not None), None) or Pass("single", (first,), _body(first))
        done |= {fold.name for fold in one.folds}
        found.append(one)
    return tuple(found)


def _together(lets: Mapping[str, Let], first: Let, second: Let) -> Pass | None:
    """The pass that makes two folds, None where there is none."""
    a, b = first.expr, second.expr
    assert isinstance(a, Fold)
    assert isinstance(b, Fold)
    if b.monoid != "sum" or not isinstance(a.body, Var):
        return None
    if a.monoid == "max" and _is(lets, _body(second), "exp", ("sub", a.body.name, first.name)):
        return Pass("online", (first, second), a.body.name)
    squared = lets[_body(second)].expr
    if a.monoid == "sum" and isinstance(squared, Apply) and squared.function == "mul":
        left, right = squared.arguments
        mean = _subtracted(lets, left, a.body.name)
        if left == right and mean and _is_mean(lets[mean], first.name):
            return Pass("moments", (first, second), a.body.name, mean)
    return None


def _body(fold: Let) -> str:
    assert isinstance(fold.expr, Fold)
    return fold.expr.body.name if isinstance(fold.expr.body, Var) else ""


def _is(lets: Mapping[str, Let], name: str, function: str, inner: tuple[str, str, str]) -> bool:
    """Whether a let is a function of another one, which is a function of two names."""
    expr = lets[name].expr if name in lets else None
    if not isinstance(expr, Apply) or expr.function != function:
        return False
    (argument,) = expr.arguments
    below = lets[argument.name].expr if isinstance(argument, Var) and argument.name in lets else None
    return below == Apply(inner[0], (Var(inner[1]), Var(inner[2])))


def _subtracted(lets: Mapping[str, Let], of: object, element: str) -> str:
    """What is subtracted from the element to make `of`, "" for anything else."""
    expr = lets[of.name].expr if isinstance(of, Var) and of.name in lets else None
    match expr:
        case Apply("sub", (Var(left), Var(right))) if left == element and right in lets:
            return right
    return ""


def _is_mean(let: Let, total: str) -> bool:
    match let.expr:
        case Apply("div", (Var(name), Index())):
            return name == total
    return False
