"""Index expressions: polynomials with whole coefficients over axes, extents and window parameters."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
"""Names that are multiplied, in order of their names; () is the constant term."""


@dataclass(frozen=True)
class Index:
    """A sum of monomials, each with its coefficient, which is never 0. Equal sums are equal values."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    def __add__(self, other: "Index | int") -> "Index":
        found = dict(self.terms)
        for monomial, coefficient in _of(other).terms:
            found[monomial] = found.get(monomial, 0) + coefficient
        return _made(found)

    def __sub__(self, other: "Index | int") -> "Index":
        return self + _of(other) * -1

    def __mul__(self, other: "Index | int") -> "Index":
        found: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _of(other).terms:
                monomial = tuple(sorted((*left, *right)))
                found[monomial] = found.get(monomial, 0) + a * b
        return _made(found)

    @property
    def name(self) -> str | None:
        """The one name that the index is, without a factor; None for any other."""
        match self.terms:
            case (((name,), 1),):
                return name
        return None

    @property
    def constant(self) -> int | None:
        """The number that the index is, None where it depends on anything."""
        match self.terms:
            case ():
                return 0
            case (((), number),):
                return number
        return None

    def names(self) -> Iterator[str]:
        """Every name that it depends on, possibly more than once."""
        return (name for monomial, _ in self.terms for name in monomial)

    def parted(self, names: Collection[str]) -> "tuple[Index, Index]":
        """The terms that depend on none of `names`, and the others."""
        own = tuple(term for term in self.terms if not set(names) & set(term[0]))
        return Index(own), Index(tuple(term for term in self.terms if term not in own))

    def coefficient(self, name: str) -> int | None:
        """The factor of `name`; 0 where it is absent, None where `name` is multiplied by other names."""
        if any(name in monomial and monomial != (name,) for monomial, _ in self.terms):
            return None
        return dict(self.terms).get((name,), 0)

    def text(self, last: Collection[str] = ()) -> str:
        """The index as code in Python's grammar, without brackets around it.

        Sizes of tensors come first, and what depends on `last` after the rest.
        """
        parts: list[str] = []

        def order(term: tuple[Monomial, int]) -> tuple[bool, bool, bool, bool]:
            shapes = any("." in name for name in term[0])
            return term[1] < 0, not term[0], not shapes, any(name in last for name in term[0])

        for monomial, coefficient in sorted(self.terms, key=order):
            size = abs(coefficient)
            factors = [*monomial, *([str(size)] if size != 1 or not monomial else [])]
            sign = ("-" if coefficient < 0 else "") if not parts else ("- " if coefficient < 0 else "+ ")
            parts.append(sign + " * ".join(factors))
        return " ".join(parts) or "0"

    def renamed(self, names: Mapping[str, str]) -> "Index":
        """The index with other names."""
        return _made({tuple(sorted(names.get(n, n) for n in monomial)): c for monomial, c in self.terms})


def variable(name: str) -> Index:
    return Index((((name,), 1),))


def constant(number: int) -> Index:
    return _made({(): number})


def _of(value: Index | int) -> Index:
    return constant(value) if isinstance(value, int) else value


def _made(terms: Mapping[Monomial, int]) -> Index:
    return Index(tuple(sorted((monomial, c) for monomial, c in terms.items() if c)))
