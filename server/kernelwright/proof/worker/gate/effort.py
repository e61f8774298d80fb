"""Which calls the gate makes at each level of effort, and how long it may take."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelwright.proof.jobs import Limits
from kernelwright.proof.worker.gate.cases import plan
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Effort, Workload

_QUICK_DATA = frozenset({"constants varied", "NaN planted"})
_QUICK_DERIVED = 2  # of the sizes at boundaries, or smaller batches
_MANY_SEEDS = 8


@dataclass(frozen=True)
class Scope:
    """`budget`: seconds after which only variations of a kind that is still missing are begun; see gate.verify."""

    budget: float
    repetitions: int = 1  # of the two calls whose answers must agree
    all_gradients: bool = False  # at every boundary
    beyond_32_bits: bool = False
    sanitizer: bool = False  # whether calls are made under NVIDIA's compute-sanitizer, too


SCOPES: Mapping[Effort, Scope] = {
    Effort.QUICK: Scope(budget=10.0),
    Effort.STANDARD: Scope(budget=40.0),
    Effort.PARANOID: Scope(budget=300.0, repetitions=5, all_gradients=True, beyond_32_bits=True, sanitizer=True),
}


def variations(workload: Workload, limits: Limits, most_elements: int | None) -> list[Variation]:
    """The plan of the level, the most telling first. `most_elements`: see plan."""
    first, most = limits.first_seed, most_elements
    match limits.effort:
        case Effort.QUICK:
            return _telling(plan(workload, seeds=2, first_seed=first, most_elements=most))
        case Effort.STANDARD:
            return plan(workload, seeds=limits.seeds, first_seed=first, most_elements=most)
        case Effort.PARANOID:
            seeds = max(limits.seeds, _MANY_SEEDS)
            planned = plan(workload, seeds=seeds, first_seed=first, most_elements=most, most_derived=None)
            return planned + [replace(one, seed=one.seed + seeds) for one in planned if one.data]


def _telling(planned: list[Variation]) -> list[Variation]:
    """The workload's own lines, another seed with other parameters, the opposite sign, two sizes, two kinds of data."""
    kept, sizes, seen = [], 0, set[str]()
    for one in planned:
        size = one.derived and one.poisoned
        sizes += size
        data = one.data in _QUICK_DATA - seen  # once, on the small size that comes first
        seen.add(one.data)
        if not one.derived or one.scale == -1.0 or data or (size and sizes <= _QUICK_DERIVED):
            kept.append(one)
    return kept
