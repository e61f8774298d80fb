"""What folds of a Nest carry, and how two parts of a fold become one: a table of monoids."""

from dataclasses import dataclass

from kernelwright.ops.folds import FOLDS


@dataclass(frozen=True)
class Monoid:
    """A fold that carries one number or several, each called after `carriers`.

    `units`: what a part of nothing carries. `lift`: what one element `{0}` at the place `{1}` carries. `blank`: an element
    that changes nothing, "" where there is none. `device`: the device function that joins the carried numbers of two parts,
    "" where Triton has the whole fold.
    """

    name: str
    carriers: tuple[str, ...]
    units: tuple[str, ...]
    lift: tuple[str, ...]
    blank: str
    device: str = ""
    whole: tuple[str, ...] = ()  # those of the carriers that are whole numbers


def _simple(name: str) -> Monoid:
    return Monoid(name, ("",), (FOLDS[name].fill,), ("{0}",), FOLDS[name].fill, FOLDS[name].device)


_LEAST, _MOST = (f'float("{sign}inf")' for sign in ("-", ""))
_NOWHERE = str(2**31 - 1)
_EXTREME = ("{0}", "{1}")

MONOIDS = {
    monoid.name: monoid
    for monoid in (
        *(_simple(name) for name in ("sum", "max", "min", "nan_max", "nan_min", "prod")),
        Monoid("exponentials", ("max", "sum"), (_LEAST, "0.0"), ("{0}", "1.0"), _LEAST, "join_exponentials"),
        Monoid("largest", ("", "at"), (_LEAST, _NOWHERE), _EXTREME, _LEAST, "join_largest", ("at",)),
        Monoid("smallest", ("", "at"), (_MOST, _NOWHERE), _EXTREME, _MOST, "join_smallest", ("at",)),
        Monoid("moments", ("count", "mean", "squares"), ("0.0",) * 3, ("1.0", "{0}", "0.0"), "", "join_moments"),
    )
}

PARTS = {name: (name, 0) for name in ("sum", "max", "min", "nan_max", "nan_min", "prod")} | {
    "argmax": ("largest", 1),
    "argmin": ("smallest", 1),
    "exp_max": ("exponentials", 0),
    "exp_sum": ("exponentials", 1),
    "moments_count": ("moments", 0),
    "moments_mean": ("moments", 1),
    "moments_squares": ("moments", 2),
}
"""The folds that meanings may name: the monoid, and which of its numbers they ask for."""

WITHIN = {"nan_max": "largest", "nan_min": "smallest"}
"""Monoids that another one carries first, besides more."""
TOTAL = "total"
"""The fold of a meaning that runs over all dims which its other folds leave: always a sum."""
AT = "at"
"""`at(input, target)`: the element of `input` that the whole number `target` names in the dim of the folds."""
