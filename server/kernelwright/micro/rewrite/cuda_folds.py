"""What threads that share a loop have come to, each in a local of its own, and how two of them become one."""

from dataclasses import dataclass

CALLS = ("fmaxf", "fminf", "fmax", "fmin", "max", "min")
KINDS = ("float", "double", "int", "unsigned", "unsigned int")
WHOLE = ("int", "unsigned", "unsigned int")


@dataclass(frozen=True)
class Fold:
    """A local that a loop folds its elements into, by an operator or a function."""

    name: str
    operator: str  # "+", "*", or a function of two values

    def code(self, other: str) -> str:
        if self.operator in CALLS:
            return f"{self.name} = {self.operator}({self.name}, {other});"
        return f"{self.name} {self.operator}= {other};"


@dataclass(frozen=True)
class Extreme(Fold):
    """A local that keeps the largest (">") or smallest ("<") element, and one, `place`, for where the first such stands."""

    place: str

    def code_at(self, other: str, place: str) -> str:
        """The better of two; of equal ones the one that comes first. Of threads that have found none all have the same."""
        better = f"{other} {self.operator} {self.name} || ({other} == {self.name} && {place} < {self.place})"
        return f"if ({better}) {{ {self.name} = {other}; {self.place} = {place}; }}"
