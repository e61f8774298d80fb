"""The figures of the benchmarks that ask how often the gate and the clock are right, and what a verdict costs."""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.figures.conditions import conditions, only
from benchmarks.summary import Sum, Table

from kernelwright.values import Accuracy

_ACCURATE = (str(Accuracy.BIT_EXACT), str(Accuracy.AS_BASELINE))
_PATH = re.compile(r"(?<=\s)/\S+/")  # of a folder that the run made for itself
_SHORT = 1.0  # milliseconds: the goal for the seconds of a verdict is for kernels below
_TALLY = ("mutants", "killed", "equivalent", "rounding", "outside", "missed")

Raw = Mapping[str, Any]


def against_itself(lines: Sequence[Raw]) -> Sum:
    """Of `benchmarks.aa`: one row a gate, and the pairs of the last run and those like it by size."""
    from benchmarks import aa, records

    runs = records.grouped(lines)
    last = records.alike(runs, runs[-1][0])
    gates = [(run, aa.row("", records.alike(runs, run))) for run in records.first_of_gates(runs)]
    counts = ("pairs", "measured", "faster", "kept", "slower", "unsteady", "width", "seconds")
    sizes = ("pairs", "faster", "slower", "ratio", "width")
    return Sum(
        _of_run(runs[-1][0]),
        asdict(aa.row("all pairs of this gate", last)),
        {
            "gates": Table(
                ("date", "device", "gate", *counts),
                [(*_when(run), *(getattr(row, name) for name in counts)) for run, row in gates],
                key=("date", "gate"),
            ),
            "sizes": Table(
                ("ms", *sizes),
                [
                    (ms, *(getattr(row, name) for name in sizes))
                    for ms in sorted({pair.target_ms for pair in last})
                    for row in [aa.row("", [pair for pair in last if pair.target_ms == ms])]
                ],
            ),
        },
    )


def planted_work(lines: Sequence[Raw]) -> Sum:
    """Of `benchmarks.planted`: a row for each gate and size of plant, and the last gate's by kernel."""
    from benchmarks import planted, records

    runs, rows = records.grouped(lines), []
    counts = ("true", "told", "trials", "seen", "wrong_way", "unsteady", "width", "seconds")
    for run in records.first_of_gates(runs):
        pairs = records.alike(runs, run)
        for plant in planted.GOALS:
            if own := [pair for pair in pairs if abs(pair.plant) == plant]:
                row = planted.row(plant, "all", own)
                rows.append((*_when(run), plant, *(getattr(row, name) for name in counts)))
    last = planted.rows(records.alike(runs, runs[-1][0]))
    return Sum(
        _of_run(runs[-1][0]),
        {"goals": planted.GOALS},
        {
            "plants": Table(("date", "device", "gate", "plant", *counts), rows, key=("date", "gate", "plant")),
            "kernels": Table(
                ("plant", "kernels", "where", "trials", "seen", "wrong_way"),
                [(row.plant, row.kernels, row.where, row.trials, row.seen, row.wrong_way) for row in last],
            ),
        },
    )


def verdict_cost(raw: Raw) -> Sum:
    """Of `benchmarks.verdict_cost`: seconds below and from 1 ms on, by kernel, and by stage for those below."""
    from benchmarks.verdict_cost import GOALS, language_of

    trials = raw["trials"]
    short = [one for one in trials if 0 < one["median_ms"] < _SHORT]
    figures: dict[str, object] = {"goals_s": GOALS}
    for language, goal in GOALS.items():
        own = [one for one in trials if language_of(one["kernel"]) == language]
        below = [one["seconds"] for one in own if one in short]
        figures[language] = {
            "below_1_ms": {**spread(below), "within_goal": sum(seconds <= goal for seconds in below)},
            "from_1_ms": spread([one["seconds"] for one in own if one["median_ms"] >= _SHORT]),
        }
    kernels = {name: [one for one in trials if one["kernel"] == name] for name in _names(trials, "kernel")}
    stages = dict.fromkeys(stage for one in trials for stage in one["stages"])
    rows = [
        (name, statistics.median(one["median_ms"] for one in own), *spread([one["seconds"] for one in own]).values())
        for name, own in kernels.items()
    ]
    return Sum(
        conditions(raw),
        figures | {"endings": Counter(one["ending"] for one in trials)},
        {
            "kernels": Table(("kernel", "ms", "trials", "median_s", "least_s", "most_s"), rows),
            "stages_below_1_ms": Table(
                ("stage", "median_s"),
                [(stage, statistics.median(one["stages"].get(stage, 0.0) for one in short)) for stage in stages],
            ),
        },
    )


def mutants(raw: Raw) -> Sum:
    """Of `benchmarks.mutants`: the tallies, the baselines that were refused, and the faults that were missed."""
    missed = [one for one in raw["survivors"] if one["kind"] == "missed"]
    refused = refused_controls(raw["controls"])
    seconds = [row[5] for row in raw["mutants"]]
    return Sum(
        conditions(raw) | only(raw, "earlier_gate", "probed"),
        {
            **only(raw, "all", "running", "killed_by", "not_tried", "would_show"),
            "controls": {"asked": len(raw["controls"]), "refused": refused},
            "seconds": spread(seconds),
        },
        {
            "missed": Table(
                ("kernel", "description", "why"), [(m["kernel"], m["description"], m["why"]) for m in missed]
            ),
            **{
                title: Table(
                    (column, *_TALLY), _worst([(name, *(of[n] for n in _TALLY)) for name, of in raw[source].items()])
                )
                for title, column, source in (
                    ("operators", "operator", "operators"),
                    ("kernels", "kernel", "by_kernel"),
                )
            },
        },
    )


def refused_controls(controls: Mapping[str, object]) -> list[str]:
    """The baselines that did not pass. Older runs hold "True" and "False" as words, later ones booleans."""
    return [name for name, passed in controls.items() if str(passed) != "True"]


def reviewed(raw: Raw) -> Sum:
    """Of `benchmarks.reviewed`: by kind how many ended as they should, by what, and the names of the others."""
    from benchmarks.reviewed.__main__ import KINDS, Outcome

    outcomes = [Outcome(**one) for one in raw["outcomes"]]
    figures, rows = {}, []
    for kind in KINDS:
        these = [one for one in outcomes if one.kind == kind]
        others = [one for one in these if not one.as_it_should]
        endings = dict(Counter(one.ending for one in these).most_common())
        figures[kind] = {"texts": len(these), "as_wanted": len(these) - len(others), "endings": endings}
        rows += [(kind, one.name, one.ending) for one in others]
    return Sum(
        conditions(raw, settings=raw["limits"]),
        figures | {"seconds": spread([one.seconds for one in outcomes])},
        {"not_as_wanted": Table(("kind", "name", "ending"), rows)},
    )


def accuracy(raw: Raw) -> Sum:
    """Of `benchmarks.accuracy`: classes by dtype and kind of rewrite, and the rewrites that are not as accurate."""
    rows = raw["rows"]
    groups = dict.fromkeys((row["dtype"], row["kind"]) for row in rows)
    counted = {
        f"{dtype} {kind}": dict(Counter(row["found"] for row in rows if (row["dtype"], row["kind"]) == (dtype, kind)))
        for dtype, kind in groups
    }
    worse = [row for row in rows if row["found"] not in _ACCURATE]
    return Sum(
        conditions(
            raw,
            versions=raw.get("versions") or only(raw, "torch", "kernelwright"),
            settings=only(raw, "seeds"),
            machine=only(raw, "system"),
        ),
        {"rewrites": len(rows), "worst_class_of_rewrites": counted},
        {
            "not_as_accurate": Table(
                ("dtype", "function", "rewrite", "least", "most", "classes"),
                [(row["dtype"], row["function"], row["rewrite"], *row["used"], row["classes"]) for row in worse],
            )
        },
    )


def faults(raw: Raw) -> Sum:
    """Of `benchmarks.faults`: a row for each run, the groups of the last, and what did not hold, by kind."""
    runs = raw.get("runs", [raw])
    last = runs[-1]
    problems: list[tuple[object, ...]] = []
    for run in runs:
        for kind, times in Counter(one[0] for one in run["problems"]).most_common():
            first = next(words[0] for name, *words in run["problems"] if name == kind)
            problems.append((run["commit"][:7], kind, times, _PATH.sub("", first).partition("; ")[0]))
    return Sum(
        conditions(last, commit=last["commit"][:7]),
        {
            "faults": last["all"]["faults"],
            "held": last["all"]["held"],
            **_seconds_of(last["all"]),
            "not_run": last["not_run"],
        },
        {
            "runs": Table(
                ("date", "commit", "device", "versions", "seed", "kinds", "faults", "held", "median_s", "most_s"),
                [
                    (
                        *(run["date"], run["commit"][:7], run["device"]["name"]),
                        ", ".join(f"{name} {run['versions'][name]}" for name in ("torch", "triton")),
                        *(run["settings"]["seed"], len(run["kinds"]), run["all"]["faults"], run["all"]["held"]),
                        *(run["all"]["next_s"]["median"], run["all"]["next_s"]["max"]),
                    )
                    for run in runs
                ],
                key=("commit", "seed"),
            ),
            "groups_of_the_last": Table(
                ("group", "faults", "held", "most_s"),
                _worst([(n, of["faults"], of["held"], of["next_s"]["max"]) for n, of in last["groups"].items()]),
            ),
            "problems": Table(("commit", "kind", "times", "first"), problems, key=("commit", "kind")),
        },
    )


def spread(of: Sequence[float]) -> dict[str, float]:
    """How many, and their median, least and most; only how many where there are none."""
    return {"count": len(of), **({"median": statistics.median(of), "least": min(of), "most": max(of)} if of else {})}


def _seconds_of(whole: Raw) -> dict[str, object]:
    return only(whole, "next_s", "hover_s", "settled_s")


def _worst(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Those with the largest last figure first, of equal ones in their order."""
    return sorted(rows, key=lambda row: -row[-1])


def _names(rows: Sequence[Raw], column: str) -> list[str]:
    return list(dict.fromkeys(row[column] for row in rows))


def _of_run(run: Any) -> dict[str, object]:
    """The conditions of a `records.Run`."""
    known = {"device": run.device.name, "versions": dict(run.versions), "date": run.date[:10]}
    return {**known, "settings": dict(run.settings), "gate": run.gate}


def _when(run: Any) -> tuple[str, str, str]:
    return run.date[:10], run.device.name, run.gate
