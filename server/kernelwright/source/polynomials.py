"""Index expressions as polynomials with integer coefficients over names: what a thread adds to an address can be read off."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

Term = tuple[str, ...]


@dataclass(frozen=True)
class Polynomial:
    """A sum of terms: each is a sorted product of names, () for a number, with the integer in front of it."""

    terms: tuple[tuple[Term, int], ...]

    def __add__(self, other: "Polynomial") -> "Polynomial":
        return _sum([*self.terms, *other.terms])

    def __sub__(self, other: "Polynomial") -> "Polynomial":
        return _sum([*self.terms, *((term, -number) for term, number in other.terms)])

    def __mul__(self, other: "Polynomial") -> "Polynomial":
        return _sum([(tuple(sorted((*a, *b))), m * n) for a, m in self.terms for b, n in other.terms])

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for term, _ in self.terms for name in term)

    @property
    def number(self) -> int | None:
        """Its value, where no name is left in it."""
        if self.names:
            return None
        return self.terms[0][1] if self.terms else 0

    @property
    def constant(self) -> int:
        """The number that is added to its products of names."""
        return next((number for term, number in self.terms if not term), 0)

    def coefficient(self, name: str) -> "Polynomial | None":
        """What `name` is multiplied with; None where it is in no sum, as in a square."""
        if any(term.count(name) > 1 for term, _ in self.terms):
            return None
        return _sum([(tuple(one for one in term if one != name), n) for term, n in self.terms if name in term])

    def without(self, name: str) -> "Polynomial":
        """The terms that `name` is not in."""
        return Polynomial(tuple(one for one in self.terms if name not in one[0]))

    def divided(self, other: "Polynomial") -> "Polynomial | None":
        """The quotient where the other is one product that is in each of its terms; None otherwise."""
        if len(other.terms) != 1:
            return None
        (factors, by), found = other.terms[0], []
        for term, value in self.terms:
            left = list(term)
            for factor in factors:
                if factor not in left:
                    return None
                left.remove(factor)
            if value % by:
                return None
            found.append((tuple(left), value // by))
        return _sum(found)

    def at(self, values: Mapping[str, int]) -> "Polynomial":
        """With numbers in the place of names."""
        return _sum(
            [
                (tuple(x for x in term if x not in values), n * prod(values[x] for x in term if x in values))
                for term, n in self.terms
            ]
        )

    def replaced(self, names: "Mapping[str, Polynomial]") -> "Polynomial":
        """With polynomials in the place of names."""
        found = Polynomial(())
        for term, value in self.terms:
            product = number(value)
            for one in term:
                product = product * names.get(one, name(one))
            found = found + product
        return found


def number(value: int) -> Polynomial:
    return Polynomial((((), value),) if value else ())


def name(text: str) -> Polynomial:
    return Polynomial((((text,), 1),))


def _sum(terms: list[tuple[Term, int]]) -> Polynomial:
    found: dict[Term, int] = {}
    for term, value in terms:
        found[term] = found.get(term, 0) + value
    return Polynomial(tuple(sorted((term, value) for term, value in found.items() if value)))
