"""The summary of a KernelBench run: accuracy, fast_p and geometric means against each baseline."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from kernelwright.cli.console import OUT
from kernelwright.values import Accuracy

Result = dict[str, Any]  # of one task, as a line of the results file holds it

BASELINES = ("eager", "eager-tf32", "torch.compile")


def speedups(results: Iterable[Result], baseline: str) -> list[float]:
    """`baseline` over the candidate for each applicable task; 1.0 where nothing verified was kept.

    A task whose baseline or candidate could not be timed is left out, and so is a degenerate one.
    """
    ratios: list[float] = []
    for result in results:
        timings = result.get("timings")
        if not timings or result.get("degenerate") or "median_ms" not in timings.get(baseline, {}):
            continue
        # Where nothing was kept the user goes on with the eager text.
        mine = timings["candidate"] if kept(result) else timings["eager"]
        if "median_ms" in mine:
            ratios.append(timings[baseline]["median_ms"] / mine["median_ms"])
    return ratios


def kept(result: Result) -> bool:
    return any(step["outcome"] == "kept" for step in result["steps"])


def reduced(result: Result) -> bool:
    """Whether what was kept is of reduced accuracy; every step is compared with the baseline, so the last one says it."""
    accuracies = [step.get("accuracy") for step in result["steps"] if step["outcome"] == "kept"]
    return bool(accuracies) and accuracies[-1] == Accuracy.REDUCED


def geomean(ratios: Sequence[float]) -> float:
    """NaN for no ratios."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def fast(ratios: Sequence[float], p: float) -> float:
    """KernelBench's fast_p: the share of tasks that are correct and more than p times as fast."""
    return sum(ratio > p for ratio in ratios) / len(ratios) if ratios else math.nan


def compile_over_eager(results: Iterable[Result]) -> list[float]:
    """What torch.compile gains over eager on the same tasks."""
    return [
        t["eager"]["median_ms"] / t["torch.compile"]["median_ms"]
        for r in results
        if (t := r.get("timings")) and not r.get("degenerate") and "median_ms" in t.get("torch.compile", {})
    ]


def show_table(results: Sequence[Result]) -> None:
    applicable = [r for r in results if r["applicable"]]
    accurate = sum(map(kept, applicable))
    degenerate = sum(bool(r.get("degenerate")) for r in applicable)
    OUT.print(
        f"\n{len(results)} tasks, strategies apply to {len(applicable)}, {degenerate} of them degenerate (left out below); "
        f"a verified step was kept on {accurate}."
    )
    if lesser := sum(map(reduced, applicable)):
        OUT.print(f"On {lesser} of these the step is of {Accuracy.REDUCED}; their speedups are counted below.")
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for column in ("against", "tasks", "fast_1", "fast_1.05", "fast_2", "geomean"):
        table.add_column(column, justify="left" if column == "against" else "right")
    for baseline in BASELINES:
        ratios = speedups(applicable, baseline)
        shares = (f"{fast(ratios, p):.0%}" if ratios else "-" for p in (1.0, 1.05, 2.0))
        table.add_row(baseline, str(len(ratios)), *shares, f"{geomean(ratios):.3f}" if ratios else "-")
    OUT.print(table)
    ratios = compile_over_eager(applicable)
    if ratios:
        OUT.print(f"torch.compile over eager on the same tasks: geomean {geomean(ratios):.3f} ({len(ratios)} tasks)")
