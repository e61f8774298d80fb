"""The sizes of a guess: terms that have to be equal, and the number that each group of them is given."""

from dataclasses import dataclass, field

from kernelwright.source.workload.told import Term


@dataclass
class Sizes:
    """Terms that are equal, and the size of each such group, for one guess."""

    parents: dict[Term, Term] = field(default_factory=dict)
    known: dict[Term, int] = field(default_factory=dict)

    def find(self, term: Term) -> Term:
        while (parent := self.parents.get(term, term)) != term:
            term = parent
        return term

    def join(self, one: Term, other: Term) -> None:
        one, other = self.find(one), self.find(other)
        if one == other or (isinstance(one, int) and isinstance(other, int)):
            return
        if isinstance(one, int):
            one, other = other, one
        self.parents[one] = other

    def get(self, term: Term) -> int | None:
        root = self.find(term)
        return root if isinstance(root, int) else self.known.get(root)

    def multiply(self, product: Term, one: Term, other: Term) -> None:
        """Have the first be the product of the others, where two of the three are known."""
        whole, a, b = self.get(product), self.get(one), self.get(other)
        if a and b:
            self.put(product, a * b)
        elif whole and (a or b) and whole % (a or b or 1) == 0:
            self.put(one if b else other, whole // (a or b or 1))

    def put(self, term: Term, size: int) -> int:
        root = self.find(term)
        return root if isinstance(root, int) else self.known.setdefault(root, size)
