"""What a trial calls: the baseline and its fp64 twin, constructed alike."""

from dataclasses import dataclass
from typing import Any

from kernelwright.proof.worker.inputs import Inputs


@dataclass(frozen=True)
class Targets:
    """The baseline constructed with `init`, number `number` of its bench; `double` is the fp64 twin.

    `double` is None where a module cannot be copied. `seed_left`: torch's initial seed behind the constructor.
    """

    number: int
    init: Inputs
    baseline: Any
    double: Any
    seed_left: int = 0
