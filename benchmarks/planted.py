"""Whether planted slow-downs are seen: `python -m benchmarks.planted --pairs 120 --seconds-limit 560`.

A plant is extra work of 2, 5 or 10 %, whose true size a long run in one process tells. With the plant in the candidate it must
be seen as slower, with the plant in the baseline as faster, each in turn. Runs with the same --append add up.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks import trials
from benchmarks.aa import median
from benchmarks.long_run import calibrated, of_size, times_longer
from benchmarks.records import Pair, Plant, append, plants
from benchmarks.subjects import Subject, Wanted, named

from kernelwright.proof.worker.clock.statistics import Ratio
from kernelwright.values import Device

GOALS = {0.02: 0.60, 0.05: 0.99, 0.10: 1.00}  # share of the plants that must be seen
PLANTS = tuple(sign * size for size in GOALS for sign in (1, -1))
_SLACK = 0.25  # a plant whose true size is further from the one aimed at is no plant of that size

_HEAD = (
    "| plant | in | kernels | true | seen as | trials | seen | goal | wrong way | unsteady | refused | interval "
    "| s per verdict |"
)


@dataclass(frozen=True)
class Row:
    """The trials with one plant. `true` and `told`: medians of how many times as long the planted text takes."""

    plant: float
    where: str
    kernels: str
    true: float
    told: float
    trials: int
    seen: int
    goal: float
    wrong_way: int
    unsteady: int
    refused: int
    width: float
    seconds: float

    @property
    def line(self) -> str:
        share = self.seen / self.trials
        return (
            f"| {self.plant:.0%} | {self.where} | {self.kernels} | {self.true - 1:.2%} | {self.told - 1:.2%} "
            f"| {self.trials} | {self.seen} ({share:.0%}) | {self.goal:.0%} {'met' if share >= self.goal else 'missed'} "
            f"| {self.wrong_way} | {self.unsteady} | {self.refused} | {self.width:.2%} | {self.seconds:.2f} |"
        )


def seen(pair: Pair) -> bool:
    return pair.slower if pair.plant > 0 else pair.faster


def row(plant: float, kernels: str, pairs: Sequence[Pair]) -> Row:
    """The row of trials with plants of the size |plant|, in the candidate, the baseline or both."""
    places = {"candidate" if p.plant > 0 else "baseline" for p in pairs}
    measured = [p for p in pairs if p.measured]
    unsteady = sum(p.ending == "unsteady" for p in pairs)
    return Row(
        plant,
        places.pop() if len(places) == 1 else "either",
        kernels,
        median(p.true for p in pairs),
        median(1 / p.ratio if p.plant > 0 else p.ratio for p in measured),
        len(pairs),
        sum(seen(p) for p in pairs),
        GOALS[plant],
        sum(p.faster if p.plant > 0 else p.slower for p in measured),
        unsteady,
        len(pairs) - len(measured) - unsteady,
        median(p.high / p.low - 1 for p in measured),
        median(p.seconds for p in pairs),
    )


def rows(pairs: Sequence[Pair]) -> list[Row]:
    """For each plant: all, by where it is, by size and by kind."""
    found = []
    for plant in GOALS:
        own = [p for p in pairs if abs(p.plant) == plant]
        groups = [("all", own), *(("all", [p for p in own if p.plant == sign * plant]) for sign in (1, -1))]
        groups += [(named(ms), [p for p in own if p.target_ms == ms]) for ms in sorted({p.target_ms for p in own})]
        groups += [(kind, [p for p in own if p.kind == kind]) for kind in sorted({p.kind for p in own})]
        found += [row(plant, kernels, group) for kernels, group in groups if group]
    return found


def table(pairs: Sequence[Pair]) -> str:
    refused = sorted({f"{p.ending}: {p.detail}" for p in pairs if not p.measured})
    return "\n".join([_HEAD, "|---|---|---|" + "---:|" * 10, *(r.line for r in rows(pairs)), *refused])


class Planter:
    """Sizes each plant once for each kernel; what earlier runs on the device have found is taken over."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._known = {(p.device, p.kind, p.target_ms, p.call, p.repeats, p.aimed): p for p in plants(options.append)}

    def __call__(self, subject: Subject, plant: float, device: Device) -> Wanted | None:
        """The trial with this plant; None where there is no such plant."""
        key = device.name, subject.kind, subject.target_ms, subject.call, subject.repeats, abs(plant)
        if key not in self._known:
            self._known[key] = self._sized(subject, abs(plant), device)
        known = self._known[key]
        return Wanted(subject, plant, known.extra, known.true) if known.fits else None

    def _sized(self, subject: Subject, plant: float, device: Device) -> Plant:
        options, where = self._options, "cuda" if device.is_gpu else "cpu"

        def measured(extra: float) -> Ratio:
            return times_longer(subject, extra, seconds=options.long_run, threads=options.threads, device=where)

        extra, true = calibrated(plant, measured)
        found = Plant(
            device.name,
            **asdict(subject),
            aimed=plant,
            extra=extra,
            true=true.value,
            low=true.low,
            high=true.high,
            fits=of_size(plant, true.value, _SLACK),
        )
        append(options.append, found)
        print(
            f"{subject.name}: {extra:.2%} more work takes {true.value - 1:.2%} longer ({true.low - 1:.2%} to "
            f"{true.high - 1:.2%})" + ("" if found.fits else f"; there is no plant of {plant:.0%} here"),
            flush=True,
        )
        return found


if __name__ == "__main__":
    parser = trials.options_of("planted", __doc__, pairs=120, sizes=4, longest=3.0)
    parser.set_defaults(shortest=0.03)
    parser.add_argument("--long-run", type=float, default=1.0, help="seconds of the long run that sizes a plant")
    options = parser.parse_args()
    sys.exit(trials.main("planted", options, PLANTS, Planter(options), table))
