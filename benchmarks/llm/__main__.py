"""Compares one strategy at a time with rewriting everything at once, by the same model and number of calls.

`python -m benchmarks.llm PROVIDER DIR --tasks 1-40 2-12 [--calls N] [--out FILE] [--resume]`. PROVIDER is litellm:MODEL,
dir:FOLDER or replay:FILE as in docs/models.md, or replay:FOLDER for what an earlier run kept with --log; DIR holds
KernelBench. Each arm gets each task with a journal of its own, and N calls. One JSON line an arm and task is added to FILE.
"""

import argparse
import asyncio
import dataclasses
import datetime
import json
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.llm.arms import ARMS
from benchmarks.llm.metered import Metered
from benchmarks.llm.table import Line, label, speedup, table
from benchmarks.summary import KEPT, keep
from benchmarks.versions import versions

from kernelwright import files, prompting, wire, words
from kernelwright.cli import console
from kernelwright.cli.kernelbench import append, read_results, summary_of, task_files
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.macro.strategies import switched_off
from kernelwright.mistakes import BadInput
from kernelwright.models import Provider
from kernelwright.settings import Settings
from kernelwright.values import CPU

SCHEMA = 1
WITHOUT_GPU = (
    "There is no GPU here: verdicts count as they are, but Triton kernels run in an interpreter and are not timed, and the "
    "times of other code are those of this CPU."
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        return _run(options)
    except BadInput as mistake:
        print(mistake, file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    """Play what is missing in the file, print the table of all that is in it. Raises BadInput."""
    tasks = [(level, *found) for level, number in options.tasks for found in task_files(options.folder, level, number)]
    files.check_result(options.out)
    if options.out.exists() and not options.resume:
        raise BadInput(f"{options.out} exists already; add --resume to go on with it, or choose another --out.")
    settings, known = _settings(options), _known(options)
    lines = read_results(options.out)
    if any(line.get(name) != value for line in lines for name, value in known.items()):
        raise BadInput(f"{options.out} holds a run of another provider, or with other options; choose another --out.")
    done = {(line["level"], line["task"], line["arm"]) for line in lines}
    for level, number, file in tasks:
        for arm in ARMS:
            if (level, number, arm) in done:
                continue
            found = asyncio.run(_played(options, settings, arm, f"{level}-{number}-{arm}", file))
            line = wire.encode({"level": level, "task": number, "name": file.stem, "arm": arm, **known, **found})
            append(options.out, json.dumps(line))
            print(_one_line(line), flush=True)
    lines = read_results(options.out)
    keep("llm", options.out)
    print(f"\n{table(lines)}")
    if any(line["device"] and line["device"]["kind"] == CPU.kind for line in lines):
        print(f"\n{WITHOUT_GPU}")
    return 0


async def _played(
    options: argparse.Namespace, settings: Settings, arm: str, name: str, file: Path
) -> dict[str, object]:
    """What one arm comes to on one task. Raises BadInput where nobody answers: that says nothing of the arm."""
    began, text = time.monotonic(), files.read(file)
    provider = Metered(_provider(settings, name), options.calls, options.log and options.log / f"{name}.jsonl")
    engine = Engine(file.parent, settings, journal=open_in_memory(file.parent), provider=provider)
    try:
        with console.progress(name) as report:
            played = await ARMS[arm](engine, Request(str(file.resolve()), text, "Model"), provider, report)
    finally:
        await engine.close()
        await provider.close()
    if provider.unanswered:
        raise BadInput(f"{name} has no answer: {provider.unanswered} What is done is kept; go on with --resume.")
    last = played.kept[-1] if played.kept else None
    timed = last.measurement if last and words.measured(last.verdict, last.measurement) else None
    return {
        "device": played.device,
        "versions": versions("torch", "triton"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "steps": [{**summary_of(one.step), "usage": one.variant.usage} for one in played.attempts],
        "speedup": timed and {"ratio": timed.speedup, "low": timed.speedup_low, "high": timed.speedup_high},
        "unmeasured": last.reason if last and timed is None else "",
        "ending": played.ending,
        "usage": provider.usage,
        "seconds": round(time.monotonic() - began, 1),
    }


def _provider(settings: Settings, name: str) -> Provider:
    """The provider of one arm on one task. Raises BadInput."""
    word, _, folder = settings.model.partition(":")
    if word == "replay" and Path(folder).is_dir():
        settings = dataclasses.replace(settings, model=f"replay:{Path(folder) / name}.jsonl")
    found = console.provider_for(settings)
    if found is None or (refusal := found.unavailable()) is not None:
        raise BadInput(refusal.reason if found else "PROVIDER is empty: name one.")
    return found


def _settings(options: argparse.Namespace) -> Settings:
    """Those of a user, with a budget for each arm on each task in place of those for steps and days. Raises BadInput."""
    for name in switched_off(options.without)[1]:
        raise BadInput(f"No strategy is called {name}.")
    return Settings(
        disabled_strategies=options.without,
        verify_timeout=options.limit,
        model=options.provider,
        model_base_url=options.model_url,
        model_rounds=options.rounds,
        model_timeout=options.seconds,
        model_tokens_per_step=0,
        model_tokens_per_day=0,
        model_dollars_per_step=0.0,
        model_dollars_per_day=options.dollars,
    )


def _known(options: argparse.Namespace) -> dict[str, object]:
    """What all lines of a run have in common; of a path its last part."""
    word, _, rest = options.provider.partition(":")
    provider = f"{word}:{rest if word == 'litellm' else Path(rest).name}"
    asked = {"calls": options.calls, "rounds_of_a_step": options.rounds, "prompts": prompting.VERSION}
    asked |= {"without": options.without} if options.without else {}
    return {"schema": SCHEMA, "provider": provider, "settings": {**asked, "limit_s": options.limit}}


def _one_line(line: Line) -> str:
    passed = sum(step["verdict"] == "passed" for step in line["steps"])
    ratio = speedup(line)
    told = "not timed" if ratio is None else f"{ratio:.2f}x"
    calls = line["usage"]["calls"]
    return f"{label(line)} {line['arm']}: {calls} calls, {passed} passed, {told}. {line['ending']}".rstrip()


def _task(words: str) -> tuple[int, str]:
    """The level and the number of a task, or of several: "1-40", "2-1-20"."""
    match = re.fullmatch(r"(\d)-(\d+(?:-\d+)?)", words)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{words!r} is no task: write its level and number like 1-40, or 2-1-20 for several"
        )
    return int(match[1]), match[2]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm", description=__doc__)
    parser.add_argument("provider", metavar="PROVIDER", help="who answers")
    parser.add_argument("folder", metavar="DIR", type=Path, help="the folder that holds level1, level2, …")
    parser.add_argument("--tasks", type=_task, nargs="+", required=True, help="1-40 is task 40 of level 1")
    parser.add_argument("--calls", type=int, default=4, help="of the model, for each arm on each task")
    parser.add_argument("--rounds", type=int, default=3, help="most answers in one step of a strategy")
    parser.add_argument("--without", metavar="IDS", default="", help="strategies not to try, separated by commas")
    parser.add_argument("--seconds", type=float, default=180.0, help="that one answer may take")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one verification may take")
    parser.add_argument("--dollars", type=float, default=1.0, help="most that an arm may cost on one task; 0: no limit")
    parser.add_argument("--model-url", default="", help="address of a model's server of your own")
    parser.add_argument("--log", type=Path, help="a folder for the answers of each arm and task, to be replayed")
    parser.add_argument("--out", type=Path, default=Path("llm.jsonl"), help=f"one JSON line an arm and task; {KEPT}")
    parser.add_argument("--resume", action="store_true", help="skip what FILE already holds")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
