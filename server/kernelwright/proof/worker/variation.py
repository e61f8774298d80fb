"""One call that the gate makes of baseline and candidate, before there are any data."""

from dataclasses import dataclass

from kernelwright.values import Call


@dataclass(frozen=True)
class Variation:
    """One call of the gate. `call` None: get_inputs(), with `rows` of the leading dimension (at most, of special data).

    `derived` sizes were not asked for by anybody: the baseline may refuse them, and then they do not count.
    `empty`: a first dimension of 0. `perturbed`: parameters that are all alike (a bias of zeros) are given other values in
    baseline and candidate. `poisoned`: the candidate runs once more on allocations full of NaN. `finite`: counts only where
    the baseline's output is finite. `data`: the property of the inputs (see properties), random where empty. `reweighted`:
    all floating parameters are given other values. `whole`: where there are fewer rows than asked for, all of them are taken.
    `ends`: half of what a randint draws are the ends of its range. `numbers`: several calls, each with other scalars, flags
    or planted whole numbers (see other_numbers), which `changed` names in each.
    """

    label: str
    call: Call | None
    seed: int
    scale: float = 1.0
    rows: int | None = None
    derived: bool = False
    empty: bool = False
    perturbed: bool = False
    poisoned: bool = False
    finite: bool = False
    data: str = ""
    reweighted: bool = False
    whole: bool = False
    ends: bool = False
    numbers: bool = False
    changed: str = ""

    @property
    def evidence(self) -> str:
        """The kind of evidence that it is, in words."""
        if not self.derived:
            return "the workload's own lines" if self.poisoned else "another seed"
        if self.data or self.numbers or self.ends:
            return "special data"
        return "another size" if self.scale == 1.0 else "scaled inputs"

    @property
    def described(self) -> str:
        scaled = f", inputs x {self.scale:g}" if self.scale != 1.0 else ""
        changed = ", constant parameters changed" if self.perturbed else ""
        changed = ", all parameters changed" if self.reweighted else changed
        data = f", {self.data}" if self.data else ""
        ends = ", integers at the ends of their range" if self.ends else ""
        numbers = f", {self.changed or 'other numbers'}" if self.numbers else ""
        return f"{self.label}, seed {self.seed}{scaled}{data}{ends}{numbers}{changed}"
