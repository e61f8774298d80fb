"""How much of the processors other work took while something was timed, as the system counts it."""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.worker.processes import stat_of

_TICKS = os.sysconf("SC_CLK_TCK")
_NOTICED = 0.1  # of what the timed call could use; medians hardly move below
_MOST = 0.85


@dataclass(frozen=True)
class Load:
    """`others`: of `cores`, how many other work kept busy on average; `lost`: the share of its threads' time that a call
    of `threads` threads had to leave to that."""

    others: float = 0.0
    cores: int = 1
    threads: int = 1

    @property
    def lost(self) -> float:
        over = max(self.others + self.threads - self.cores, 0.0) / self.threads
        return min(over, 1.0) if over > _NOTICED else 0.0

    @property
    def factor(self) -> float:
        """By how much more one of two texts may have had to wait than the other, as a guess: both were slowed in the same
        rounds, and a call of several threads waits for the last of them."""
        return 1 + self.lost / 2

    @property
    def shared(self) -> bool:
        """Whether so much was taken that times tell of the other work."""
        return self.lost > _MOST

    @property
    def described(self) -> dict[str, str]:
        took = f"took {self.others:.1f} of {self.cores} cores"
        return {"busy": f"other work {took}, for which the interval is {self.factor:.2g}x wider"} if self.lost else {}


class Watch:
    """Counts from its making on. `own`: the processes whose work is not other work."""

    def __init__(self, own: Collection[int], threads: int) -> None:
        self._own, self._threads = (*own, os.getpid()), threads
        self._begun, self._before = time.monotonic(), self._counts()

    def load(self) -> Load:
        """Nothing where the system does not count, or too little time has passed for its ticks."""
        elapsed, cores = time.monotonic() - self._begun, os.cpu_count() or 1
        if self._before is None or (now := self._counts()) is None or elapsed * _TICKS < 10:
            return Load()
        busy, own = (after - before for after, before in zip(now, self._before, strict=True))
        others = min(max((busy - own) / _TICKS / elapsed, 0.0), float(cores))
        return Load(others, cores, min(self._threads, cores))

    def _counts(self) -> tuple[int, int] | None:
        """Ticks of all processors that were not idle, those of other virtual machines included, and of the own processes."""
        try:
            user, nice, system, _, _, interrupts, soft, stolen = map(int, Path("/proc/stat").read_text().split()[1:9])
        except (OSError, ValueError):
            return None
        own = sum(int(ticks) for pid in self._own for ticks in stat_of(pid)[11:13])
        return user + nice + system + interrupts + soft + stolen, own
