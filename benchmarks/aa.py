"""How often the clock calls a kernel faster than itself: `python -m benchmarks.aa --pairs 200 --seconds-limit 560`.

Each pair is a whole trial of a file against the same file with another comment, through the workers as for a user. Runs
with the same --append add up. The table is printed last.
"""

import collections
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks import trials
from benchmarks.records import Pair
from benchmarks.subjects import Subject, Wanted, named

from kernelwright.values import Device

_HEAD = (
    "| size or kind | pairs | takes (ms) | false faster | would be kept | slower | unsteady | refused | twice | ratio "
    "| interval | highest low | s per verdict |"
)


@dataclass(frozen=True)
class Row:
    """Some pairs: how they ended, and medians of the ratio, of the interval's width (high over low - 1), of the seconds."""

    of: str
    pairs: int
    measured: int
    faster: int
    kept: int
    slower: int
    unsteady: int
    twice: int  # measured again in new processes
    median_ms: float
    ratio: float
    width: float
    highest_low: float
    seconds: float

    @property
    def line(self) -> str:
        share = self.faster / self.measured if self.measured else 0.0
        refused = self.pairs - self.measured - self.unsteady
        return (
            f"| {self.of} | {self.pairs} | {self.median_ms:.3g} | {self.faster} ({share:.1%}) | {self.kept} "
            f"| {self.slower} | {self.unsteady} | {refused} | {self.twice} | {self.ratio:.4f} | {self.width:.2%} "
            f"| {self.highest_low:.4f} | {self.seconds:.2f} |"
        )


def row(of: str, pairs: Sequence[Pair]) -> Row:
    measured = [p for p in pairs if p.measured]
    return Row(
        of,
        len(pairs),
        len(measured),
        sum(p.faster for p in pairs),
        sum(p.kept for p in pairs),
        sum(p.slower for p in pairs),
        sum(p.ending == "unsteady" for p in pairs),
        sum(bool(p.again) for p in pairs),
        median(p.baseline_ms for p in measured),
        median(p.ratio for p in measured),
        median(p.high / p.low - 1 for p in measured),
        max((p.low for p in measured), default=0.0),
        median(p.seconds for p in pairs),
    )


def rows(pairs: Sequence[Pair]) -> list[Row]:
    """One for each size, one for each kind, and all."""
    sizes, kinds = sorted({p.target_ms for p in pairs}), sorted({p.kind for p in pairs})
    return [
        *(row(named(ms), [p for p in pairs if p.target_ms == ms]) for ms in sizes),
        *(row(kind, [p for p in pairs if p.kind == kind]) for kind in kinds),
        row("all", pairs),
    ]


def table(pairs: Sequence[Pair]) -> str:
    refused = collections.Counter(f"{p.ending}: {p.detail}" for p in pairs if not p.measured)
    lines = [_HEAD, "|---|" + "---:|" * 12, *(r.line for r in rows(pairs))]
    lines += ["", f"Intervals begin at: {distribution([p.low for p in pairs if p.measured])}"]
    return "\n".join([*lines, *(f"{count} x {why}" for why, count in refused.most_common())])


def distribution(values: Sequence[float]) -> str:
    """Quantiles of some numbers in words."""
    if not values:
        return "none"
    ordered = sorted(values)
    marks = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
    return ", ".join(f"{mark:.0%} {ordered[round(mark * (len(ordered) - 1))]:.4f}" for mark in marks)


def median(values: Iterable[float]) -> float:
    """0 where there are none."""
    found = list(values)
    return statistics.median(found) if found else 0.0


def itself(subject: Subject, plant: float, device: Device) -> Wanted:
    return Wanted(subject)


if __name__ == "__main__":
    options = trials.options_of("aa", __doc__, pairs=200, sizes=7, longest=10.0).parse_args()
    sys.exit(trials.main("aa", options, (0.0,), itself, table))
