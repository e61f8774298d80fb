"""The figures of the benchmarks that ask what is gained, and on how much."""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.figures.conditions import conditions, only
from benchmarks.summary import Sum, Table

from kernelwright.cli.kernelbench_table import BASELINES, compile_over_eager, fast, geomean, kept, speedups

Raw = Mapping[str, Any]
_BEHIND = 1.05  # what another result must be faster by to be told
_COMPILED = "torch.compile"
_NORMAL = 1.959964  # standard deviations on each side that hold 95 %


def examples(raw: Raw) -> Sum:
    """Of `benchmarks/examples.py`: a row for each example."""
    found = raw["examples"]
    device = next(one["device"] for one in found.values() if "device" in one)
    rows = [(name, *_example(one)) for name, one in found.items()]
    measured = [row for row in rows if row[3] is not None]
    return Sum(
        conditions(
            raw,
            device=device["name"],
            versions=raw.get("versions") or only(device, "torch", "triton", "python"),
            settings=only(raw, "steps"),
        ),
        {"examples": len(rows), "measured": len(measured), "speedup": _named(across([row[3] for row in measured]))},
        {
            "examples": Table(
                ("example", "strategies", "not_measured", "speedup", "low", "high", "baseline_ms", "candidate_ms"), rows
            )
        },
    )


def cuda_examples(raw: Raw) -> Sum:
    """Of `benchmarks/cuda_examples.py`: a row for each example; one without a kept step counts as 1."""
    rows = [_cuda_example(name, one, raw["device"]["bandwidth"]) for name, one in raw["examples"].items()]
    speedups = [row[3] for row in rows]
    return Sum(
        conditions(raw, device=raw["device"]["name"], versions=raw["versions"], settings=only(raw, "steps")),
        {
            "examples": len(rows),
            "kept": sum(bool(row[1]) for row in rows),
            "speedup": geomean(speedups),
            "seconds": statistics.median(one["seconds"] for one in raw["examples"].values()),
        },
        {
            "examples": Table(
                ("example", "strategies", "why", "speedup", "plain_ms", "result_ms", "share_of_roof", "library_ms"),
                rows,
            )
        },
    )


def _cuda_example(name: str, one: Raw, bandwidth: float) -> tuple[Any, ...]:
    """The strategies, why nothing is told, speedup, both medians, the share of what memory moves in that time, the library."""
    done = [step["action"]["strategy"] for step in one["steps"] if step["outcome"] == "kept"]
    result = (one.get("final") or {}).get("result") or {}
    measured = result.get("measurement") if (result.get("verdict") or {}).get("status") == "passed" else None
    if measured is None:
        why = one["error"] or ("not verified against the plain form" if done else "no step was kept")
        return name, [], why, 1.0, None, None, None, one.get("library_ms")
    before, after = (measured[which]["median_ms"] for which in ("baseline", "candidate"))
    share = one["bytes"] / bandwidth / after * 1e3 if bandwidth else None
    return name, done, "", before / after, before, after, share, one.get("library_ms")


def _example(one: Raw) -> tuple[object, ...]:
    """The strategies that were kept, why nothing was measured, the speedup with its interval, and both medians."""
    if "error" in one:
        return [], one["error"], *(None,) * 5
    steps = [step for step in one["steps"] if step["outcome"] == "kept"]
    done = [step["action"]["strategy"] for step in steps]
    if not one["speedup"]:
        return done, one["ending"], *(None,) * 5
    times = (steps[-1]["measurement"][which]["median_ms"] for which in ("baseline", "candidate"))
    return done, "", *(one["speedup"][name] for name in ("ratio", "low", "high")), *times


def kernelbench(lines: Sequence[dict[str, Any]]) -> Sum:
    """Of `kernelwright bench kernelbench`: what was gained over each baseline, by level and in all, and on which tasks.

    The tasks on which torch.compile is more than 5 % faster have a table of their own, the worst first; of the others those
    come first that are furthest from torch.compile.
    """
    unique = {(line["level"], line["task"]): line for line in lines}
    results = [unique[key] for key in sorted(unique)]
    levels = sorted({result["level"] for result in results})
    groups = {f"level {n}": [result for result in results if result["level"] == n] for n in levels} | {"all": results}
    tasks = [row for result in results if (row := _task(result))]
    compared = sorted((row for row in tasks if row[-1]), key=lambda row: row[-1])
    behind = [row for row in compared if 1 / row[-1] > _BEHIND]
    others = sorted((row for row in compared if row not in behind), key=lambda row: -abs(math.log(row[-1])))
    others += sorted((row for row in tasks if not row[-1]), key=lambda row: -row[-2])
    degenerate = [{**result, "degenerate": ""} for result in results if result.get("degenerate")]
    inaccurate = [result for result in results if (result.get("inaccurate") or {}).get(_COMPILED)]
    accurate = [result for result in results if result not in inaccurate]
    first = results[0]
    return Sum(
        conditions(
            first,
            versions={"kernelwright": first["version"], **only(first["device"], "torch", "triton", "python")},
            settings={"levels": levels, "baselines": BASELINES, **_common(results)},
        ),
        {
            "tasks": {name: _counted(of) for name, of in groups.items()},
            "compile_not_accurate": {
                "relative_error": {_label(result): _relative(result["inaccurate"][_COMPILED]) for result in inaccurate},
                "compile_over_kept": across([1 / ratio for ratio in speedups(inaccurate, _COMPILED)])[0],
                "kept_over_compile_on_others": across(speedups(accurate, _COMPILED))[0],
            },
            "compile_more_than_5_percent_faster": len(behind),
            "degenerate_over_eager": {row[0]: round(row[2], 2) for result in degenerate if (row := _task(result))},
        },
        {
            "speedups": Table(
                ("of", "against", "tasks", "fast_1", "fast_1.05", "fast_2", "geomean", "low", "high"),
                [(name, baseline, *_against(of, baseline)) for name, of in groups.items() for baseline in BASELINES],
            ),
            "behind_compile": Table(
                ("task", "name", "over_eager", "compile_faster_by"),
                [(task, name, round(eager, 2), 1 / mine) for task, name, eager, mine in behind],
            ),
            "tasks": Table(
                ("task", "over_eager", "over_compile"),
                [(task, round(eager, 2), round(mine, 2) or None) for task, _, eager, mine in others],
            ),
        },
    )


def _counted(results: Sequence[dict[str, Any]]) -> dict[str, object]:
    """How many tasks, what was kept on them, and what torch.compile gains over eager there."""
    applicable = [result for result in results if result["applicable"]]
    verified = [result for result in applicable if kept(result)]
    return {
        "tasks": len(results),
        "applicable": len(applicable),
        "degenerate": sum(bool(result.get("degenerate")) for result in applicable),
        "kept": len(verified),
        "passed_again": sum(bool((result.get("verified_again") or {}).get("passed")) for result in verified),
        "compile_over_eager": _named(across(compile_over_eager(applicable))),
    }


def _against(results: Sequence[dict[str, Any]], baseline: str) -> tuple[object, ...]:
    ratios = speedups([result for result in results if result["applicable"]], baseline)
    return len(ratios), *(fast(ratios, p) if ratios else None for p in (1.0, 1.05, 2.0)), *across(ratios)


def _task(result: dict[str, Any]) -> tuple[str, str, float, float] | None:
    """Label, name, and what was gained over eager and torch.compile, 0.0 where that was not timed.

    None where the task is left out of the tables.
    """
    over, mine = (
        (speedups([result], baseline) for baseline in ("eager", _COMPILED)) if result["applicable"] else ([], [])
    )
    return (_label(result), result["name"].split("_", 1)[1], over[0], mine[0] if mine else 0.0) if over else None


def _relative(words: str) -> float | None:
    """The relative error that a failed check tells."""
    found = re.search(r"relative ([\d.e+-]+)", words)
    return float(found[1]) if found else None


def _label(result: Raw) -> str:
    return f"{result['level']}-{result['task']}"


def across(ratios: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The geometric mean with its 95 % interval over the tasks; no interval for fewer than two."""
    if not ratios:
        return None, None, None
    mean = geomean(ratios)
    if len(ratios) < 2:
        return mean, None, None
    step = math.exp(_NORMAL * statistics.stdev(map(math.log, ratios)) / math.sqrt(len(ratios)))
    return mean, mean / step, mean * step


def _named(found: Sequence[float | None]) -> dict[str, float | None]:
    return dict(zip(("geomean", "low", "high"), found, strict=True))


def _common(results: Sequence[Raw]) -> dict[str, object]:
    """The conditions of measurement that are the same in all."""
    found = [step["measurement"]["conditions"] for one in results for step in one["steps"] if step["measurement"]]
    return {name: value for name, value in (found or [{}])[0].items() if all(of.get(name) == value for of in found)}


def census(raw: Raw) -> Sum:
    """Of `benchmarks.census`, whose raw run is as short as its summary. It needs no device."""
    levels = raw["levels"]
    settings = raw.get("settings") or {
        "levels": list(levels),
        "tasks": {name: of["tasks"] for name, of in levels.items()},
    }
    return Sum(conditions(raw, device="none: graphs of tensors without memory", settings=settings), only(raw, "levels"))


def real_kernels(raw: Raw) -> Sum:
    """Of `benchmarks.real_kernels`, whose raw run is as short as its summary. It needs no device."""
    return Sum(conditions(raw, device="none: kernels run in Triton's interpreter"), raw["figures"])


def cuda_files(raw: Raw) -> Sum:
    """Of `benchmarks.cuda_files`, whose raw run is as short as its summary. It needs no device."""
    return Sum(conditions(raw, device="none: kernels run in the emulator of CUDA"), raw["figures"])


def autopilot(raw: Sequence[Raw]) -> Sum:
    """Of `benchmarks.autopilot`: a row for each kernel; one without a kept step counts as 1."""
    run = next(row for row in reversed(raw) if row["$"] == "Conditions")
    played = [row for row in raw if row["$"] == "Played"]
    speedups = [one["speedup"] for one in played if one["speedup"]]
    return Sum(
        conditions(run),
        {
            "kernels": len(played),
            "offered": sum(bool(one["offered"]) for one in played),
            "kept": sum(bool(one["kept"]) for one in played),
            "with a verified step": len(speedups),
            "speedup": geomean(speedups) if speedups else None,
            "seconds": statistics.median(one["seconds"] for one in played) if played else None,
        },
        {
            "kernels": Table(
                ("kernel", "line", "offered", "kept", "speedup", "seconds", "why"),
                [_autopilot(one) for one in sorted(played, key=lambda one: -(one["speedup"] or 0.0))],
            )
        },
    )


def _autopilot(one: Raw) -> tuple[Any, ...]:
    """The kernel by file, where its workload line is from, strategies, the speedup or why there is none."""
    name = f"{one['file'].rpartition('/')[2].removesuffix('.py')}.{one['kernel']}"
    offered, kept = (" ".join(id.removeprefix("triton.") for id in one[which]) for which in ("offered", "kept"))
    why = "" if one["ending"] == "measured" else one["ending"][:60]
    return name, one["source"], offered, kept, one["speedup"], one["seconds"], why


def cpu_pinning(raw: Raw) -> Sum:
    """Of `benchmarks.cpu_pinning`: a row for each text and way."""
    columns = tuple(dict.fromkeys(name for row in raw["rows"] for name in row))
    rows = [tuple(row.get(name) for name in columns) for row in raw["rows"]]
    return Sum(
        conditions(raw, settings=only(raw, "threads", "runs")),
        {"trials": sum(row["measured"] for row in raw["rows"])},
        {"texts": Table(columns, rows)},
    )
