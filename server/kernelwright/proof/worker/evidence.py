"""What a trial has found out about its candidate so far."""

from dataclasses import dataclass, field

from kernelwright.proof.worker.answers.judge import Judged
from kernelwright.values import Check, Coverage, KernelShare, Unchecked, Workload


@dataclass
class Evidence:
    """Grows until the Verdict is made of it; the same note or caveat may be added several times and is told once.

    `checks`: those that passed. `judged`: every compared run. `reduced`: what is of reduced accuracy among the compared runs
    and gradients, with its case. `caveats`: see Verdict. `share`: what was seen of whose kernels do the work. `excused`: the
    differences in settings that the baseline's own calls make. `bounded`: calls in which accesses out of bounds were looked
    for; `unbounded`: they are not any more. `asks_for_gpu`: the candidate does, by the word of its process.
    `most_elements`: see gate.cap. `workload`: see gate.pinned. `coverage`: what of the candidate ran; None where nobody looked.
    `unmade`: checks of this effort that could not be made.
    """

    checks: list[Check] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    reduced: list[tuple[str, Judged]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    share: KernelShare | None = None
    excused: set[str] = field(default_factory=set)
    bounded: int = 0
    unbounded: bool = False
    asks_for_gpu: bool = False
    most_elements: int | None = None
    workload: Workload | None = None
    coverage: Coverage | None = None
    unmade: list[Unchecked] = field(default_factory=list)

    @property
    def own_error(self) -> float:
        """The largest error of the baseline's own that a comparison has shown, beside its fp64 run; 0 for none."""
        return max((judged.own for judged in self.judged if judged.own is not None), default=0.0)
