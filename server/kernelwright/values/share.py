"""Whose kernels do the work of a call: said beside every verdict, where it can be known."""

from dataclasses import dataclass

from kernelwright.values.profile import ProfiledOn


@dataclass(frozen=True)
class KernelShare:
    """What one call of the performance case ran, looked at after all timing.

    `hand_written` and `compiled` (torch.compile's) are parts, 0..1, of the time that kernels took, or on a CPU operators;
    None where it was not measured. The rest is a library's. `kernels` are the hand-written ones by name, `others` the
    operators and kernels of libraries, those with the most time first. `elsewhere` names work that is not of this process
    or not of its text. `unknown` says in words why the parts, or all of it, are not known.
    """

    measured_on: ProfiledOn
    hand_written: float | None = None
    compiled: float | None = None
    kernels: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    elsewhere: str = ""
    unknown: str = ""
