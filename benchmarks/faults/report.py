"""Outcomes as one result and as a table: how many of each kind, how many went well, and how long the next answer took."""

import math
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.faults.rounds import Outcome


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Median, 90th, 99th percentile and largest, nearest rank, in seconds."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    rank = lambda share: ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
    return {
        "median": round(rank(0.5), 3),
        "p90": round(rank(0.9), 3),
        "p99": round(rank(0.99), 3),
        "max": round(ordered[-1], 3),
    }


def grouped(outcomes: Sequence[Outcome], by: str) -> dict[str, list[Outcome]]:
    """The outcomes for every value of one field."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[getattr(outcome, by)].append(outcome)
    return dict(groups)


def summary(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Counts and times of a group."""
    return {
        "faults": len(outcomes),
        "held": sum(not outcome.problems for outcome in outcomes),
        "next_s": quantiles([outcome.next_s for outcome in outcomes]),
        "hover_s": quantiles([outcome.hover_s for outcome in outcomes]),
        "settled_s": quantiles([outcome.settled_s for outcome in outcomes]),
    }


def table(outcomes: Sequence[Outcome], not_run: Sequence[str] = ()) -> str:
    """By group, then what went wrong, then the whole."""
    lines = [f"{'group':<16}{'kinds':>6}{'faults':>8}{'held':>7}{'median':>9}{'p99':>8}{'max':>8}{'hover max':>11}"]
    groups = grouped(outcomes, "group")
    lines += [_row(name, found) for name, found in groups.items()]
    lines += [_row("all", outcomes)]
    for outcome in outcomes:
        lines += [f"  {outcome.kind}: {problem}" for problem in outcome.problems]
    if not_run:
        lines += ["", f"Not run here: {', '.join(not_run)}."]
    held = sum(not outcome.problems for outcome in outcomes)
    lines += ["", f"{len(outcomes)} faults, {held} held. Times are seconds until the next job was answered."]
    return "\n".join(lines)


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    found, kinds = summary(outcomes), len({outcome.kind for outcome in outcomes})
    times, hovers = found["next_s"], found["hover_s"]
    return (
        f"{name:<16}{kinds:>6}{found['faults']:>8}{found['held']:>7}{times.get('median', 0):>9.2f}"
        f"{times.get('p99', 0):>8.2f}{times.get('max', 0):>8.2f}{hovers.get('max', 0):>11.3f}"
    )
