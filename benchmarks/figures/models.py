"""The figures of the benchmark that asks how a language model is used best."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures.conditions import conditions
from benchmarks.llm.table import COLUMNS, label, rows, speedup
from benchmarks.summary import Sum, Table


def llm(lines: Sequence[Mapping[str, Any]]) -> Sum:
    """Of `benchmarks.llm`: a row for each arm, and one for each task in an arm."""
    unique = {(line["level"], line["task"], line["arm"]): line for line in lines}
    last = list(unique.values())
    tasks = [(label(line), line["arm"], *_counted(line), speedup(line)) for line in last]
    return Sum(
        conditions(last[-1], settings={"provider": last[-1]["provider"], **last[-1]["settings"]}),
        {
            "refused": dict(
                Counter(_why(step) for line in last for step in line["steps"] if step["verdict"] != "passed")
            )
        },
        {
            "arms": Table(COLUMNS, rows(last)),
            "tasks": Table(("task", "arm", "calls", "passed", "kept", "ending", "speedup"), tasks),
        },
    )


def _counted(line: Mapping[str, Any]) -> tuple[object, ...]:
    """Calls, answers that passed the gate, the strategies of steps that were kept, and why there are no more."""
    steps = line["steps"]
    kept = [step["strategy"] for step in steps if step["outcome"] == "kept"]
    return line["usage"]["calls"], sum(step["verdict"] == "passed" for step in steps), kept, line["ending"]


def _why(step: Mapping[str, Any]) -> str:
    """The check that failed, the status of a verdict without one, or that nothing could be run."""
    if step["failed_checks"]:
        return str(step["failed_checks"][0]).split(" failed")[0].removeprefix("Check ")
    return str(step["verdict"] or "not run")
