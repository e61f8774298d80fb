"""Counts what Kernelwright can do with the Triton kernels of other projects; needs no GPU.

`python -m benchmarks.real_kernels PLACE… [--recorded JSON…] [--inferred JSON…] [--verify N] [--interpreter PYTHON]
[--note WORDS] [--json OUT] [--list]`. A place is a folder, a Python file, or a text file that lists such. The JSON
files are what `kernelwright record --json` and `kernelwright infer --json` have written for these files. Counted are
kernels with a workload that launches them and where it is from, kernels for which a strategy that needs no model is
enabled with that workload, on a GPU machine and without one, and, of N kernels with a workload drawn by chance, those
that verify against themselves here. Of the projects nothing is kept but counts and reasons.
"""

import argparse
import asyncio
import dataclasses
import datetime
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.summary import KEPT, write
from benchmarks.versions import versions

from kernelwright import wire
from kernelwright.engine import Engine
from kernelwright.journal import open_in_memory
from kernelwright.languages import LanguageSupport
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.macro.policy import menu
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.proof.jobs import TrialResult
from kernelwright.recording import Recorded, edits_for, source_files
from kernelwright.settings import DEFAULTS
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import find_workload
from kernelwright.source.workload.benchmark import from_benchmark
from kernelwright.values import CPU, Kernel, Language, Refusal, Workload, apply
from kernelwright.values.targets import DEFAULT_TARGET

PATIENCE = 180.0  # seconds for one verdict
MOST_REASONS = 12
_LINES = "lines in the file"
_UNREACHED = "The lines of its entry that ran launch other kernels."
_SHORT = "left out for time"  # as the gate says it


@dataclass(frozen=True)
class Found:
    """One kernel. `source`: of its workload, empty where it has none, and then `reason` says why.

    `itself`: whether the line launches the kernel, and does not call what launches it.
    """

    file: str
    kernel: str
    source: str = ""
    reason: str = ""
    itself: bool = False
    with_gpu: tuple[str, ...] = ()
    without_gpu: tuple[str, ...] = ()


def files_of(places: Iterable[Path]) -> list[Path]:
    """The files that the places name, those that mention Triton."""
    named = [place.parent / line for place in places if place.suffix == ".txt" for line in place.read_text().split()]
    found = source_files([*named, *(place for place in places if place.suffix != ".txt")])
    return [file for file in found if "triton" in file.read_text(encoding="utf-8", errors="replace")]


def examine(file: Path, given: Mapping[str, Sequence[Recorded]]) -> tuple[str, list[Found]]:
    """The file's text with the lines that are `given` of it by their source, and what can be done with its Triton kernels."""
    text = file.read_text(encoding="utf-8", errors="replace")
    sources: dict[str, str] = {}
    unreached: set[str] = set()
    for source, recorded in given.items():
        own = [one for one in recorded if one.entry.file == str(file) and one.lines and one.entry.name not in sources]
        text = apply(edits_for(text, own), text)
        sources |= dict.fromkeys((name for one in own for name in (one.entry.name, *one.entry.kernels)), source)
        unreached |= {name for one in own for name in one.unreached}
    kernels = [kernel for kernel in find_kernels(parse(text)) if kernel.language is Language.TRITON]
    missed = lambda kernel: Found(str(file), kernel.name, reason=_UNREACHED)
    return text, [
        missed(kernel) if kernel.name in unreached else _examined(str(file), text, kernel, sources)
        for kernel in kernels
    ]


def _examined(file: str, text: str, kernel: Kernel, sources: Mapping[str, str]) -> Found:
    workload, source = find_workload(text, kernel.entry), sources.get(kernel.entry or kernel.name, _LINES)
    if isinstance(workload, Refusal) and not isinstance(lines := from_benchmark(text, kernel), Refusal):
        workload, source = find_workload("\n".join((*lines, text)), kernel.entry), "calls in the file"
    if isinstance(workload, Refusal):
        return Found(file, kernel.name, reason=plain(workload.reason, kernel))
    offered = [enabled(file, text, kernel, workload, on) for on in (True, False)]
    return Found(file, kernel.name, source, "", workload.entry == kernel.name, *offered)


def enabled(
    file: str, text: str, kernel: Kernel, workload: Workload, gpu: bool, support: LanguageSupport = PYTHON
) -> tuple[str, ...]:
    """The strategies that have an Action for it and need no model."""
    offers = menu(Observation(file, text, kernel, workload, DEFAULT_TARGET if gpu else CPU, support=support))
    return tuple(
        one.strategy.id
        for one in offers
        if one.actions and isinstance(one.strategy, Strategy) and one.strategy.intent is not ask
    )


async def verified(
    found: Sequence[Found], texts: Mapping[str, str], interpreter: str, support: LanguageSupport = PYTHON
) -> list[str]:
    """How each kernel's text ends in the gate against itself: "passed", or why not. Where time is short, with more of it."""
    ended = []
    for one in found:
        outcome = await _verified(one, texts[one.file], interpreter, "quick", support)
        if _SHORT in outcome:
            outcome = await _verified(one, texts[one.file], interpreter, "standard", support)
        ended.append(outcome)
        print(f"{one.file} {one.kernel}: {ended[-1][:200]}", flush=True)
    return ended


async def _verified(one: Found, text: str, interpreter: str, effort: str, support: LanguageSupport) -> str:
    settings = dataclasses.replace(DEFAULTS, effort=effort, interpreter=interpreter, verify_timeout=PATIENCE)
    workspace = Path(one.file).parent
    engine = Engine(workspace, settings, journal=open_in_memory(workspace))
    try:
        return _outcome(await engine.trial(one.file, text, one.kernel, baseline=text, measure=False, support=support))
    finally:
        await engine.close()


def _outcome(answer: object) -> str:
    if not isinstance(answer, TrialResult):
        return str(getattr(answer, "message", "") or getattr(answer, "reason", ""))
    verdict = answer.verdict
    if verdict.passed:
        return "passed"
    failed = next((f"{check.name}: {check.detail}" for check in verdict.failed_checks), verdict.reason)
    return f"{verdict.status}: {failed}"


def plain(reason: str, kernel: Kernel) -> str:
    """The reason without what is particular to one file."""
    for name in (kernel.entry, kernel.name):
        reason = re.sub(rf"\b{re.escape(name)}\b", "…", reason) if name else reason
    return re.sub(r"\d+", "n", reason)


def counts(found: Sequence[Found], ended: Sequence[str]) -> dict[str, object]:
    """The figures of a run."""
    outcomes = Counter("passed" if why == "passed" else re.sub(r"\d+", "n", why)[:120] for why in ended)
    return {
        "files": len({one.file for one in found}),
        "kernels": len(found),
        "workloads": dict(Counter(one.source for one in found if one.source)),
        "of which the line launches the kernel itself": sum(one.itself for one in found),
        "strategy enabled on a GPU": sum(bool(one.with_gpu) for one in found),
        "strategy enabled without": sum(bool(one.without_gpu) for one in found),
        "strategies": dict(Counter(id for one in found for id in one.with_gpu)),
        "verified against themselves": f"{outcomes['passed']} of {len(ended)}",
        "no workload": dict(Counter(one.reason for one in found if not one.source).most_common(MOST_REASONS)),
        "not verified": dict(
            Counter({why: n for why, n in outcomes.items() if why != "passed"}).most_common(MOST_REASONS)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", type=Path, nargs="+")
    for source in ("recorded", "inferred"):
        parser.add_argument(f"--{source}", type=Path, nargs="*", default=[], metavar="JSON")
    parser.add_argument("--verify", type=int, default=0, metavar="N")
    parser.add_argument("--interpreter", default="", help="whose packages the projects import")
    parser.add_argument("--note", default="", help="what else is to be said of the conditions, kept with the figures")
    parser.add_argument("--json", type=Path, default=None, help=KEPT)
    parser.add_argument("--list", action="store_true", help="print each kernel")
    options = parser.parse_args()
    given = {source: recorded_in(getattr(options, source)) for source in ("recorded", "inferred")}
    examined = {str(file): examine(file, given) for file in files_of(options.places)}
    found = [one for _, ones in examined.values() for one in ones]
    for one in found if options.list else ():
        print(one.file, one.kernel, one.source or one.reason, *one.with_gpu)
    having = [one for one in found if one.source and one.source != "calls in the file"]
    drawn = random.Random(0).sample(having, min(options.verify, len(having)))
    texts = {file: text for file, (text, _) in examined.items()}
    figures = counts(found, asyncio.run(verified(drawn, texts, options.interpreter)))
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    if options.json is not None:
        settings: dict[str, object] = {"verified": len(drawn), "effort": "quick, standard where that is too short"}
        settings |= {"note": options.note} if options.note else {}
        conditions = {
            "date": datetime.date.today().isoformat(),
            "versions": versions("torch", "triton"),
            "settings": settings,
        }
        write("real_kernels", {**conditions, "figures": figures}, options.json)


def recorded_in(files: Iterable[Path]) -> list[Recorded]:
    """What the JSON files say; a file that one names without a leading slash lies beside it."""
    found = []
    for file in files:
        rows = json.loads(file.read_text(encoding="utf-8"))["recorded"]
        for one in (wire.decode(Recorded, row) for row in rows):
            entry = dataclasses.replace(one.entry, file=str((file.parent / one.entry.file).resolve()))
            found.append(dataclasses.replace(one, entry=entry))
    return found


if __name__ == "__main__":
    main()
