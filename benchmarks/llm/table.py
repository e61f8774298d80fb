"""The comparison as a table: one row an arm, from the lines that a run has written."""

from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.cli.kernelbench_table import fast, geomean, kept

Line = Mapping[str, Any]  # what one arm came to on one task

COLUMNS = (
    *("arm", "tasks", "calls", "passed_the_gate", "tasks_with_a_kept_step"),
    *("timed", "fast_1", "fast_2", "geomean", "tokens", "dollars", "seconds"),
)


def rows(lines: Sequence[Line]) -> list[tuple[object, ...]]:
    """A row for each arm, in the order of COLUMNS. Only tasks that all arms have been through count.

    Speedups are told of those that can be timed in all arms, so that all rows speak of the same ones.
    """
    arms = list(dict.fromkeys(line["arm"] for line in lines))
    tasks = {label(line) for line in lines}
    done = [{label(line) for line in lines if line["arm"] == arm} for arm in arms]
    common = tasks.intersection(*done)
    untimed = {label(line) for line in lines if speedup(line) is None}
    return [
        _row(arm, [line for line in lines if line["arm"] == arm and label(line) in common], untimed) for arm in arms
    ]


def speedup(line: Line) -> float | None:
    """The baseline's time over that of the last kept step; 1.0 where nothing was kept, None where that was not timed."""
    if not kept(dict(line)):
        return 1.0
    found = line["speedup"]
    return None if found is None else float(found["ratio"])


def label(line: Line) -> str:
    return f"{line['level']}-{line['task']}"


def table(lines: Sequence[Line]) -> str:
    """The rows as Markdown."""
    shown = [COLUMNS, ["---"] * len(COLUMNS), *(list(map(_cell, row)) for row in rows(lines))]
    return "\n".join(f"| {' | '.join(row)} |" for row in shown)


def _row(arm: str, lines: Sequence[Line], untimed: set[str]) -> tuple[object, ...]:
    calls = sum(line["usage"]["calls"] for line in lines)
    passed = sum(step["verdict"] == "passed" for line in lines for step in line["steps"])
    ratios = [ratio for line in lines if label(line) not in untimed and (ratio := speedup(line)) is not None]
    spent = [line["usage"] for line in lines]
    return (
        arm,
        len(lines),
        calls,
        passed / calls if calls else None,
        sum(kept(dict(line)) for line in lines) / len(lines) if lines else None,
        len(ratios),
        *((fast(ratios, 1.0), fast(ratios, 2.0), geomean(ratios)) if ratios else (None, None, None)),
        sum(of["tokens_in"] + of["tokens_out"] for of in spent),
        sum(of["dollars"] for of in spent),
        sum(line["seconds"] for line in lines),
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.3g}"
        if isinstance(value, float) and value < 100
        else f"{value:.0f}"
        if isinstance(value, float)
        else str(value)
    )
