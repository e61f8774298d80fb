"""Why a survivor is no fault: rules, each with its reason in words. A survivor that no rule fits counts as missed, and so does
one whose rule the probe contradicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    EQUIVALENT = "equivalent"  # the same bits on every call of the probe, and a reason why on every other
    ROUNDING = "rounding"  # another order or place of rounding, as honest rewrites have; nothing more on the probe
    OUTSIDE = "outside"  # another answer only to what the verdict does not speak of, and says so
    MISSED = "missed"  # a fault that the gate does not see


@dataclass(frozen=True)
class Changed:
    """What a rule looks at. `before`, `after`: the lines that went and those that came; `line` counts from 0."""

    kernel: str
    operator: str
    description: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    baseline: str

    @property
    def came(self) -> str:
        return "\n".join(line.strip() for line in self.after if line not in self.before)


def _nowhere(case: str) -> bool:
    return False


@dataclass(frozen=True)
class Rule:
    """`kinds`: what the survivor is, the strongest first; the first one that the probe does not contradict holds.

    `outside`: the probe's cases on which one of Kind.OUTSIDE may differ. For Kind.MISSED `why` says what would show it.
    """

    kinds: tuple[Kind, ...]
    why: str
    fits: Callable[[Changed], bool]
    outside: Callable[[str], bool] = _nowhere


def rule_for(found: Changed, rules: Sequence[Rule]) -> Rule | None:
    """The first rule that fits."""
    return next((rule for rule in rules if rule.fits(found)), None)
