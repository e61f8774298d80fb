"""What of a text ran while it was verified."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Coverage:
    """Which kernels were launched, which lines ran, how often each loop turned, over all cases of a Verdict.

    Of the kernels and functions that the entry uses, as far as they were looked at. `lines`: how many statements they have,
    `missed` the lines (from 0) of those that never ran. `turns`: the line of each loop of a kernel, and the most turns that
    it took in one go. `inside`: whether lines and loops of kernels were looked at, which they are in Triton's interpreter.
    """

    launched: tuple[str, ...] = ()
    unlaunched: tuple[str, ...] = ()
    lines: int = 0
    missed: tuple[int, ...] = ()
    turns: tuple[tuple[int, int], ...] = ()
    inside: bool = True

    @property
    def described(self) -> str:
        """ "2 of 2 kernels launched, all 31 lines ran, loops turned 1 to 5 times"."""
        kernels = len(self.launched) + len(self.unlaunched)
        said = [f"{len(self.launched)} of {_count(kernels, 'kernel')} launched"] if kernels else []
        if self.lines:
            ran = f"{self.lines - len(self.missed)} of" if self.missed else "all"
            said.append(f"{ran} {_count(self.lines, 'line')}{'' if self.inside else ' outside of kernels'} ran")
        if most := sorted({turns for _, turns in self.turns}):
            least = f"{most[0]} to " if len(most) > 1 else ""
            said.append(f"loops turned {least}{_count(most[-1], 'time')}")
        return ", ".join(said)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
