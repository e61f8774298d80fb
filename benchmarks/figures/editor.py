"""The figures of the benchmarks that ask how long a person in an editor waits."""

from collections.abc import Mapping
from typing import Any

from benchmarks.figures.conditions import conditions, only, without
from benchmarks.summary import Sum, Table

Raw = Mapping[str, Any]
_CONDITIONS = ("device", "versions", "date", "settings", "machine")


def incremental(raw: Raw) -> Sum:
    """Of `benchmarks/incremental.py`, whose raw run is as short as its summary."""
    settings = ("lines", "keys", "seed", "kernels")
    return Sum(conditions(raw, settings=only(raw, *settings)), without(raw, (*settings, *_CONDITIONS)))


def real_files(raw: Raw) -> Sum:
    """Of `benchmarks/real_files.py`, whose raw run is as short as its summary."""
    settings = ("keys", "files", "lines", "longest_lines")
    return Sum(conditions(raw, settings=only(raw, *settings)), without(raw, (*settings, *_CONDITIONS)))


def latency(raw: Raw) -> Sum:
    """Of `benchmarks/latency.py`: a row for each question."""
    settings = ("runs", "rounds", "seed", "limit_ms", "long_file", "model")
    asked = without(raw, (*settings, *_CONDITIONS))
    columns = tuple(dict.fromkeys(name for figures in asked.values() for name in figures))
    rows = [(question, *(figures.get(name) for name in columns)) for question, figures in asked.items()]
    worst = max(figures["p95_ms"] for figures in asked.values())
    return Sum(
        conditions(raw, settings=only(raw, *settings)),
        {"largest_p95_ms": worst},
        {"questions": Table(("asked", *columns), rows)},
    )


def server_start(raw: Raw) -> Sum:
    """Of `benchmarks/server_start.py`: a row for each server. Older runs name neither processor nor packages."""
    machine = raw.get("machine") or {"cores": raw["cpus"], "load_1min": raw["load"], "python": raw["python"]}
    started = raw["to_the_initialize_reply"]
    columns = tuple(dict.fromkeys(name for figures in started.values() for name in figures))
    return Sum(
        conditions(
            raw,
            device=machine.get("processor") or f"{machine['cores']} CPU cores",
            versions=raw.get("versions") or only(raw, "python"),
            settings=only(raw, "runs", "most", "model"),
            machine=without(machine, ("processor",)),
        ),
        {"to": "the initialize reply"},
        {"servers": Table(("server", *columns), [(name, *of.values()) for name, of in started.items()])},
    )


def extension(raw: Raw) -> Sum:
    """Of `benchmarks/extension.mjs`, whose raw run is as short as its summary."""
    settings = ("windows", "progress_is_shown_after_ms", "activation_limit_ms")
    return Sum(conditions(raw, settings=only(raw, *settings)), without(raw, (*settings, *_CONDITIONS)))


def scenario(raw: Raw) -> Sum:
    """Of `benchmarks/lsp_scenario.py`: the seconds of each window, its steps, and the stages that took longest."""
    windows = raw.get("windows", [raw])
    first = windows[0]
    gpu = first["toolchain"]["GPU"]
    scenes = [(number, scene) for number, window in enumerate(windows, 1) for scene in window["scenes"]]
    steps = [
        (number, scene["file"], scene["kernel"], step["action"]["strategy"], step["outcome"], *_speedup(step))
        for number, scene in scenes
        for step in [scene["step"]]
        if step
    ]
    stages = [
        (number, scene["file"], one["name"], one["seconds"]) for number, scene in scenes for one in scene["stages"]
    ]
    return Sum(
        conditions(
            first,
            device=gpu if gpu != "missing" else f"{first['machine']['cores']} CPU cores",
            versions={**first["versions"], **only(first["toolchain"], "torch", "triton")},
            settings={"windows": len(windows), "server": first["settings"]},
        ),
        {
            "seconds": [window["seconds"] for window in windows],
            "surprises": [window["surprise"] for window in windows if window["surprise"]],
            "stages": len(stages),
        },
        {
            "steps": Table(
                (
                    "window",
                    "file",
                    "kernel",
                    "strategy",
                    "outcome",
                    "speedup",
                    "low",
                    "high",
                    "baseline_ms",
                    "candidate_ms",
                ),
                steps,
            ),
            "longest_stages": Table(
                ("window", "file", "stage", "seconds"), sorted(stages, key=lambda row: -row[-1])[: 4 * len(windows)]
            ),
        },
    )


def _speedup(step: Raw) -> tuple[float | None, ...]:
    """Speedup with its interval, and both medians; nothing where it was not measured."""
    found = step["measurement"]
    if found is None:
        return (None,) * 5
    ratios = (found["speedup"], found["speedup_low"], found["speedup_high"])
    return (*ratios, found["baseline"]["median_ms"], found["candidate"]["median_ms"])
