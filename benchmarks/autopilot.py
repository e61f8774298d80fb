"""Runs the autopilot on Triton or CUDA kernels drawn from other projects, on the device at hand, as many as the time allows.

`python -m benchmarks.autopilot OUT PLACE… (--inferred JSON… | --cuda RAW) [--draw N] [--part K/N] [--steps N] [--seconds S]
[--seconds-limit S]`. Places and JSON files are those of `benchmarks.real_kernels`, RAW is that of `benchmarks.cuda_files`,
whose files below the places count; the kernels are drawn by chance among those with a workload line, of CUDA among those
with an offer, the same ones each time. A part is every N-th of them from the K-th on, for runs beside each other. OUT has a
JSON line for each kernel; what is in it is not run again. The files stay as they are. The last text is verified against the
first on fresh seeds and timed beside it.
"""

import argparse
import asyncio
import dataclasses
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import cuda_files, summary
from benchmarks.real_kernels import Found, enabled, examine, files_of, recorded_in
from benchmarks.trials import NoDevice, in_time
from benchmarks.versions import versions

from kernelwright import wire
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import TrialResult
from kernelwright.settings import DEFAULTS, Settings
from kernelwright.values import Device, Failure, Measurement, Outcome, Refusal, Step, apply

_FRESH = 1000  # the first seed of the last trial, far from those of the steps


@dataclass(frozen=True)
class Conditions:
    """What all kernels of a run have in common."""

    date: str
    device: Device
    versions: Mapping[str, str]
    settings: Mapping[str, float]

    def alike(self, other: "Conditions") -> bool:
        return (self.device.name, self.versions, self.settings) == (other.device.name, other.versions, other.settings)


@dataclass(frozen=True)
class Played:
    """What became of one kernel. `file`: from the first place on; `source`: of its workload.

    `ending`: "measured", or why there is no number; `reasons`: what became of each step that was tried.
    `speedup` is that of the last text over the first, with its 95 % interval; 1 where steps were verified and none was kept.
    """

    file: str
    kernel: str
    source: str
    offered: tuple[str, ...]
    tried: tuple[str, ...]
    kept: tuple[str, ...]
    ending: str
    seconds: float
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    baseline_ms: float | None = None
    candidate_ms: float | None = None
    reasons: tuple[str, ...] = ()


def drawn(places: Sequence[Path], inferred: Sequence[Path], count: int) -> list[tuple[Found, str]]:
    """Kernels with a workload line, each with its text, in the order in which they are run."""
    given = {"inferred": recorded_in(inferred)}
    examined = [examine(file, given) for file in files_of(places)]
    having = [
        (one, text) for text, found in examined for one in found if one.source in ("inferred", "lines in the file")
    ]
    return random.Random(0).sample(having, min(count, len(having)))


def drawn_of_cuda(raw: Path, places: Sequence[Path], count: int) -> list[tuple[Found, str]]:
    """Kernels of CUDA C++ that something is offered for, each with its text, in the order in which they are run."""
    rows = [row for row in cuda_files.rows_of(raw) if any(Path(row.file).is_relative_to(place) for place in places)]
    having = [(one, row) for row in rows for one in row.kernels if one.with_gpu]
    chosen = random.Random(0).sample(having, min(count, len(having)))
    texts = [cuda_files.text_with(cuda_files.text_of(Path(row.file)), row.lines) for _, row in chosen]
    return [(_offered_now(one, text), text) for (one, _), text in zip(chosen, texts, strict=True)]


def _offered_now(one: Found, text: str) -> Found:
    """The kernel with what is offered for it by this version, not by that of the count."""
    kernel = next(kernel for kernel in cuda_files.SUPPORT.kernels(text) if kernel.name == one.kernel)
    workload = cuda_files.SUPPORT.workload(text, kernel.entry)
    if isinstance(workload, Refusal):
        return one
    return dataclasses.replace(one, with_gpu=enabled(one.file, text, kernel, workload, True, cuda_files.SUPPORT))


def part(text: str) -> slice:
    """Read "2/3": every third of what was drawn, from the second on. Raises ValueError."""
    first, of = map(int, text.split("/"))
    if not 1 <= first <= of:
        raise ValueError(text)
    return slice(first - 1, None, of)


async def play(name: str, one: Found, text: str, settings: Settings, limit: float) -> Played:
    """Run the autopilot on one kernel, and hold its last text against the first. `name`: what its file is called."""
    began = time.monotonic()
    engine = Engine(Path(one.file).parent, settings, journal=open_in_memory(Path(one.file).parent))
    steps: list[Step] = []
    try:
        async with asyncio.timeout(limit):
            last, ending = await _steered(engine, one, text, steps)
            measured = await _final(engine, one, text, last) if last != text else ending
    except TimeoutError:
        measured = f"No result within {limit:g} s."
    finally:
        await engine.close()
    kept = tuple(step.action.strategy for step in steps if step.outcome is Outcome.KEPT)
    tried = tuple(step.action.strategy for step in steps)
    told = (name, one.kernel, one.source, one.with_gpu, tried, kept)
    reasons = tuple(step.reason for step in steps)
    seconds = round(time.monotonic() - began, 1)
    if isinstance(measured, str):
        verified = any(step.verdict is not None and step.verdict.passed for step in steps)
        return Played(*told, measured, seconds, speedup=1.0 if verified and not kept else None, reasons=reasons)
    return Played(
        *told,
        "measured",
        seconds,
        measured.speedup,
        measured.speedup_low,
        measured.speedup_high,
        measured.baseline.median_ms,
        measured.candidate.median_ms,
        reasons,
    )


async def _steered(engine: Engine, one: Found, text: str, steps: list[Step]) -> tuple[str, str]:
    """The last text, and why the autopilot ended. The steps are added to `steps` as they come."""
    last, ending = text, "No step was kept."
    async for answer in engine.autopilot(Request(one.file, text, one.kernel, support=of_file(Path(one.file)))):
        if not isinstance(answer, Step):
            return last, answer.reason if isinstance(answer, Refusal) else answer.message
        steps.append(answer)
        ending = answer.reason
        if answer.outcome is Outcome.KEPT and answer.edits is not None:
            last = apply(answer.edits, last)
    return last, ending


async def _final(engine: Engine, one: Found, text: str, last: str) -> Measurement | str:
    known = one.file, last, one.kernel
    support = of_file(Path(one.file))
    answer = await engine.trial(*known, baseline=text, measure=True, first_seed=_FRESH, support=support)
    if not isinstance(answer, TrialResult):
        return answer.reason if isinstance(answer, Refusal) else answer.message
    if not answer.verdict.passed:
        return f"The last text was not verified against the first: {answer.verdict.reason}"
    return answer.measurement or answer.unmeasured


def row(one: Played) -> str:
    """A line of the table."""
    number = f"{one.speedup:.2f}x" if one.speedup is not None else "-"
    interval = f"({one.low:.2f} to {one.high:.2f})" if one.low is not None and one.high is not None else ""
    ids = lambda strategies: ", ".join(id.partition(".")[2] for id in strategies) or "-"
    why = "" if one.ending == "measured" else f"  {one.ending[:100]}"
    return (
        f"{Path(one.file).stem + '.' + one.kernel:<56} {one.source:<10} {number:>7} {interval:<16} {one.seconds:5.0f} s  "
        f"{ids(one.kept)} of {ids(one.offered)}{why}"
    )


def read(file: Path) -> tuple[Conditions | None, list[Played]]:
    """The conditions of the last run in the file, and all kernels; a last line that was cut off is left out."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    runs = [wire.decode(Conditions, row) for row in rows if row["$"] == "Conditions"]
    played = [wire.decode(Played, row) for row in rows if row["$"] == "Played"]
    return (runs[-1] if runs else None), played


def _append(file: Path, value: Conditions | Played) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(wire.encode(value)) + "\n")


async def _device() -> Device:
    workers = Workers()
    try:
        device = await workers.device()
    finally:
        await workers.close()
    if isinstance(device, Failure):
        raise NoDevice(device.message)
    return device


async def _run(options: argparse.Namespace) -> None:
    date, known = datetime.now(UTC).isoformat(timespec="seconds"), {"steps": options.steps, "seconds": options.seconds}
    conditions = Conditions(date, await _device(), versions("torch", "triton"), known)
    before, found = read(options.out)
    if before is not None and not before.alike(conditions):
        raise NoDevice(f"{options.out} is of another device, other versions or settings; name another file.")
    done = {(one.file, one.kernel) for one in found}
    if options.cuda is not None:
        every = drawn_of_cuda(options.cuda, options.places, options.draw)
    else:
        every = drawn(options.places, options.inferred, options.draw)
    chosen = every[options.part]
    settings = dataclasses.replace(DEFAULTS, max_steps=options.steps, autopilot_budget=options.seconds / 2)
    base = options.places[0] if options.places[0].is_dir() else options.places[0].parent
    named = [(os.path.relpath(one.file, base.resolve()), one, text) for one, text in chosen]
    left = [(name, one, text) for name, one, text in named if (name, one.kernel) not in done]
    print(f"{len(chosen)} kernels drawn, {len(chosen) - len(left)} of them done before.", flush=True)
    _append(options.out, conditions)
    for name, one, text in in_time(iter(left), options.seconds_limit):
        _append(options.out, played := await play(name, one, text, settings, options.seconds))
        print(row(played), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("out", type=Path, help=f"JSON lines; {summary.KEPT}")
    add("places", type=Path, nargs="+")
    add("--inferred", type=Path, nargs="*", default=[], metavar="JSON")
    add("--cuda", type=Path, default=None, metavar="RAW", help="rows of benchmarks.cuda_files")
    add("--draw", type=int, default=50, help="how many kernels; 0: only the table of what is in OUT")
    add("--part", type=part, default=part("1/1"), metavar="K/N", help="every N-th kernel, from the K-th on")
    add("--steps", type=int, default=4, help="most steps for a kernel")
    add("--seconds", type=float, default=240.0, help="for one kernel; no step begins in the second half of them")
    add("--seconds-limit", type=float, default=0.0, help="start no kernel that may end later; 0: no limit")
    options = parser.parse_args()
    try:
        if options.draw:
            asyncio.run(_run(options))
    except NoDevice as none:
        print(none, file=sys.stderr)
        return 2
    summary.keep("autopilot", options.out)
    print()
    for one in sorted(read(options.out)[1], key=lambda one: -(one.speedup or 0.0)):
        print(row(one))
    return 0


if __name__ == "__main__":
    sys.exit(main())
