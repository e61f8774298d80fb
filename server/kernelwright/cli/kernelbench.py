"""`kernelwright bench kernelbench`: every task as a user would run it, each in a fresh worker, one JSON line a task."""

import asyncio
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape

from kernelwright import __version__, files, wire, words
from kernelwright.cli import console
from kernelwright.cli.card import text_after
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.cli.kernelbench_table import Result, reduced, show_table
from kernelwright.cli.optimize import check_strategy
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.macro.policy import menu, summed_up
from kernelwright.macro.strategies import switched_off
from kernelwright.macro.strategy import Observation
from kernelwright.mistakes import BadInput
from kernelwright.proof.jobs import Contest, ContestResult
from kernelwright.settings import Settings
from kernelwright.values import Accuracy, Failure, Outcome, Refusal, Step

SCHEMA = 1


def run_level(
    folder: Path,
    level: int,
    tasks: str,
    out: Path,
    resume: bool,
    how: Mapping[str, object],
    compile_baseline: bool,
    interpreter: str | None,
) -> int:
    for name in switched_off(str(how.get("disabled_strategies", "")))[1]:
        check_strategy(name)
    chosen = task_files(folder, level, tasks)
    files.check_result(out)
    done = {r["task"]: r for r in read_results(out) if r["level"] == level} if resume else {}
    if not resume and out.exists():
        raise BadInput(f"{out} exists already; add --resume to go on with it, or choose another --out.")
    for number, file in chosen:
        if number in done:
            continue
        settings = console.settings_for(interpreter, **how)
        started = time.monotonic()
        result = asyncio.run(run_task(file, settings, compile_baseline))
        result = {
            "schema": SCHEMA,
            "version": __version__,
            "level": level,
            "task": number,
            "name": file.stem,
            "accept_reduced": settings.accept_reduced_accuracy,
            "without": settings.disabled_strategies,
            **result,
        }
        result["seconds"] = round(time.monotonic() - started, 1)
        append(out, json.dumps(wire.encode(result)))
        OUT.print(f"{level}-{number:<3} {file.stem[:48]:<48} {escape(one_line(result))}")
    show_table([r for r in read_results(out) if r["level"] == level])
    return DONE


def task_files(folder: Path, level: int, tasks: str) -> list[tuple[int, Path]]:
    """(number, file) of the tasks asked for, in order. Raises BadInput."""
    level_folder = next(
        (f for f in (folder / f"level{level}", folder / "KernelBench" / f"level{level}") if f.is_dir()), None
    )
    if level_folder is None:
        raise BadInput(f"{folder} has no folder level{level}; name the folder that holds KernelBench's levels.")
    wanted: set[int] = set()
    for part in tasks.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if match is None:
            raise BadInput(f"--tasks {tasks!r} is not a list of numbers and ranges; write it like 1-40,57.")
        wanted |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    numbered = ((int(file.name.split("_")[0]), file) for file in level_folder.glob("[0-9]*_*.py"))
    chosen = sorted(pair for pair in numbered if pair[0] in wanted)
    if not chosen:
        raise BadInput(f"{level_folder} has no task {tasks}; its files begin with their numbers.")
    return chosen


def append(out: Path, line: str) -> None:
    """Add a line, also after one that a kill has cut off. Raises BadInput."""
    try:
        with out.open("ab+") as results:
            size = results.seek(0, os.SEEK_END)
            if size:
                results.seek(size - 1)
            cut_off = size > 0 and results.read(1) != b"\n"
            results.write(("\n" if cut_off else "").encode() + line.encode() + b"\n")
    except OSError as error:
        raise BadInput(f"The result cannot be written to {out}: {error.strerror}; the lines before are kept.") from None


def read_results(out: Path) -> list[Result]:
    """The lines of a results file; a line that was cut off by a kill is left out. Raises BadInput."""
    if not out.exists():
        return []
    results: list[Result] = []
    for number, line in enumerate(files.read(out).splitlines(), 1):
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(result, dict) or not {"level", "task", "steps"} <= result.keys():
            raise BadInput(f"Line {number} of {out} is not a result of this benchmark; choose another --out.")
        results.append(result)
    return results


async def run_task(file: Path, settings: Settings, compile_baseline: bool) -> dict[str, object]:
    """Optimise one task with the autopilot, then time the result beside the baselines."""
    text = files.read(file)
    engine = Engine(file.parent, settings, journal=open_in_memory(file.parent))
    request = Request(str(file.resolve()), text, "Model")
    with console.progress(file.stem) as report:
        try:
            observation = await engine.observe_fully(request.path, request.text, request.kernel, report)
            if not isinstance(observation, Observation):
                return {"applicable": [], "refusals": {}, "steps": [], "ending": _why(observation)}
            applicable, refusals = _applicable(observation)
            result: dict[str, object] = {"device": observation.device, "applicable": applicable, "refusals": refusals}
            if not applicable:
                return {**result, "steps": [], "ending": "No strategy applies."}
            steps, ending = await _autopilot(engine, request, report)
            result |= {"steps": [summary_of(step) for step in steps], "ending": ending}
            kept = [step for step in steps if step.outcome is Outcome.KEPT]
            final = text_after(steps, text)
            if kept:
                result |= {"verified_again": await _verify_again(engine, request, text, final, report)}
            assert observation.workload is not None
            contest = Contest(
                request.path, text, final, observation.workload, compile_baseline, engine.limits, observation.support.id
            )
            report("Timing the baselines")
            answer = await engine.workers.run(contest, timeout=300.0, report=report)
            if isinstance(answer, ContestResult):
                return {
                    **result,
                    "timings": dict(answer.timings),
                    "degenerate": answer.degenerate,
                    "inaccurate": dict(answer.inaccurate),
                }
            assert isinstance(answer, Failure)
            return {**result, "contest_failure": _why(answer)}
        finally:
            await engine.close()


def _applicable(observation: Observation) -> tuple[list[str], dict[str, str]]:
    """The strategies that offer an Action, and why the others do not."""
    applicable: list[str] = []
    refusals: dict[str, str] = {}
    for offer in summed_up(menu(observation)):
        if offer.refusal is not None:
            refusals[offer.strategy.id] = offer.refusal.reason
        else:
            applicable.append(offer.strategy.id)
    return applicable, refusals


async def _autopilot(engine: Engine, request: Request, report: console.Progress) -> tuple[list[Step], str]:
    steps: list[Step] = []
    async for step in engine.autopilot(request, report):
        if not isinstance(step, Step):
            return steps, _why(step)
        steps.append(step)
    return steps, ""


async def _verify_again(
    engine: Engine, request: Request, baseline: str, final: str, report: console.Progress
) -> dict[str, object]:
    """The final text against the baseline once more, on seeds that no step has seen."""
    answer = await engine.trial(
        request.path, final, request.kernel, baseline=baseline, measure=False, report=report, first_seed=10_000
    )
    if isinstance(answer, Failure | Refusal):
        return {"passed": False, "words": _why(answer)}
    return {"passed": answer.verdict.passed, "words": words.of_verdict(answer.verdict)}


def summary_of(step: Step) -> dict[str, object]:
    """A step without the checks' texts, which would make the results file megabytes long."""
    verdict = step.verdict
    return {
        "strategy": step.action.strategy,
        "region": step.action.region.label,
        "variant": step.edits.summary if step.edits else "",
        "outcome": step.outcome,
        "reason": step.reason,
        "verdict": verdict and verdict.status,
        "checks": len(verdict.checks) if verdict else 0,
        "failed_checks": [words.of_check(check) for check in verdict.failed_checks[:3]] if verdict else [],
        "max_error": verdict and verdict.max_error,
        "baseline_error": verdict and verdict.baseline_error,
        "accuracy": verdict and verdict.accuracy,
        "measurement": step.measurement,
        "failure": step.failure and step.failure.message,
        "earlier": list(step.earlier),
    }


def one_line(result: Result) -> str:
    kept = [s for s in result["steps"] if s["outcome"] == "kept"]
    speedup = kept[-1]["measurement"].speedup if kept and kept[-1]["measurement"] else None
    done = "+".join(s["strategy"].split(".")[1] for s in kept) or "-"
    number = f"{speedup:5.2f}x" if speedup else "   -  "
    number += f" ({Accuracy.REDUCED})" if reduced(result) else ""
    return f"{number} {done}  {result['ending'][:90]}  {result['seconds']} s"


def _why(answer: Refusal | Failure) -> str:
    return answer.reason if isinstance(answer, Refusal) else words.of_failure(answer)
