"""What a person found in each survivor. One that is not here counts as missed, whatever the probe says."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    EQUIVALENT = "equivalent"  # the same bits on every call of the probe, and a reason why on every other
    ROUNDING = "rounding"  # another order or place of rounding, as honest rewrites have; nothing more on the probe
    MISSED = "missed"  # a fault that the gate does not see


@dataclass(frozen=True)
class Explanation:
    """`why` in one sentence; for a missed one, what would show the fault."""

    kind: Kind
    why: str


EXPLANATIONS: dict[tuple[str, str], Explanation] = {}
