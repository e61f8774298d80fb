"""Counts what Kernelwright can do with the CUDA C++ of other projects; needs no GPU.

`python -m benchmarks.cuda_files RAW PLACE… [--draw N] [--keys N] [--verify N] [--list] [--json OUT]`. A place is a folder or a
file; files that define a kernel count, and of a folder with more than N of them N that are drawn by chance. RAW is a JSON
lines file: of the files that it has rows of nothing is asked again. For each file: its kernels, its findings, where it does
not parse, the processor's time from a key to all findings, workload lines from `kernelwright infer`, and the strategies that
are enabled with these. Of N kernels with a line, drawn by chance, those are told that verify against themselves here. Of the
projects nothing is kept but counts and reasons.
"""

import argparse
import asyncio
import dataclasses
import datetime
import itertools
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.incremental import machine, quantiles, typed
from benchmarks.real_kernels import Found, enabled, plain, verified
from benchmarks.summary import KEPT, write
from benchmarks.versions import versions

from kernelwright import wire
from kernelwright.engine import Engine
from kernelwright.entries import entries_of, files_in, lacks_workload, recorded
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
from kernelwright.macro.policy import menu
from kernelwright.macro.strategy import Observation
from kernelwright.recording import Recorded, edits_for
from kernelwright.settings import DEFAULTS
from kernelwright.values import Kernel, Refusal, Workload, apply
from kernelwright.values.targets import DEFAULT_TARGET

SUPPORT = of_file(Path("kernel.cu"))
_MOST_REASONS = 6
_KERNEL = re.compile(r"\b__global__\b")
_TYPED, _INFERRED = "lines in the file", "inferred"


@dataclass(frozen=True)
class Read:
    """One file. `lines`: what was written above its entries; `unread`: where it does not parse; `key_ms`: one of each key."""

    project: str
    file: str
    length: int
    lines: tuple[Recorded, ...]
    unread: str
    findings: Mapping[str, int]
    kernels: tuple[Found, ...]
    refusals: Mapping[str, int]
    key_ms: tuple[float, ...]


def files_of(places: Iterable[Path], draw: int) -> dict[Path, Path]:
    """The files that define kernels, with the folder that they are from, those of one after each other."""
    found = {}
    for place in places:
        files = [file for file in files_in([place]) if _KERNEL.search(text_of(file))]
        drawn = random.Random(0).sample(files, draw) if 0 < draw < len(files) else files
        whole = place.resolve()
        found |= dict.fromkeys(sorted(drawn), whole if whole.is_dir() else whole.parent)
    return found


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.suffix.startswith(".cu") else ""


async def read(engine: Engine, file: Path, project: str, keys: int) -> Read:
    """What can be done with a file."""
    text = text_of(file)
    problem = SUPPORT.syntax_problem(text)
    found = SUPPORT.findings(text, SUPPORT.kernels(text))
    lines = await _inferred(engine, file, text)
    lined = text_with(text, lines)
    examined = [_examined(str(file), lined, kernel, lines) for kernel in SUPPORT.kernels(lined)]
    refusals = Counter(reason for _, reasons in examined for reason in reasons)
    return Read(
        project,
        str(file),
        text.count("\n"),
        lines,
        f"line {problem.line + 1}: {problem.message}" if problem is not None else "",
        dict(Counter(one.code for one in found)),
        tuple(one for one, _ in examined),
        dict(refusals),
        tuple(_keys(text, keys)),
    )


def text_with(text: str, lines: Sequence[Recorded]) -> str:
    """A file's text with the lines that were found for it."""
    return apply(edits_for(text, [one for one in lines if one.lines], SUPPORT), text)


async def _inferred(engine: Engine, file: Path, text: str) -> tuple[Recorded, ...]:
    """The lines of the entries that have none, each looked for as the command does it."""
    found = []
    for entry in entries_of(file, text):
        if lacks_workload(entry, text, of_file(file)):
            answer = await engine.infer(str(file), text, entry.kernels[0], support=SUPPORT)
            found.append(recorded(entry, answer))
    return tuple(found)


def _examined(file: str, text: str, kernel: Kernel, lines: Sequence[Recorded]) -> tuple[Found, tuple[str, ...]]:
    """What can be done with one kernel, and where no strategy is enabled for its line, why each is not."""
    found = next((one for one in lines if kernel.name in one.entry.kernels), None)
    workload = SUPPORT.workload(text, kernel.entry)
    if isinstance(workload, Refusal) or (found is not None and kernel.name in found.unreached):
        said = found.refused[0] if found is not None and found.refused else "its entry's lines launch other kernels"
        return Found(file, kernel.name, reason=plain(said, kernel)), ()
    with_gpu, without = (enabled(file, text, kernel, workload, on, SUPPORT) for on in (True, False))
    source = _INFERRED if found is not None else _TYPED
    refusals = () if with_gpu else _refusals(file, text, kernel, workload)
    return Found(file, kernel.name, source, with_gpu=with_gpu, without_gpu=without), refusals


def _refusals(file: str, text: str, kernel: Kernel, workload: Workload) -> tuple[str, ...]:
    offers = menu(Observation(file, text, kernel, workload, DEFAULT_TARGET, support=SUPPORT))
    return tuple(f"{one.strategy.id}: {plain(one.refusal.reason, kernel)}" for one in offers if one.refusal is not None)


def _keys(text: str, keys: int) -> Iterable[float]:
    """Milliseconds of the processor from each key to all findings of the file."""
    random_ = random.Random(len(text))
    SUPPORT.findings(text, SUPPORT.kernels(text))
    for _ in range(keys):
        now = typed(text, random_)
        began = time.process_time()
        SUPPORT.findings(now, SUPPORT.kernels(now))
        yield round((time.process_time() - began) * 1e3, 2)


def figures(rows: Sequence[Read], ended: Sequence[str]) -> dict[str, object]:
    """The figures of a run, project by project, with what is most frequent in all of them."""
    kernels = [one for row in rows for one in row.kernels]
    refusals, findings = Counter[str](), Counter[str]()
    for row in rows:
        refusals.update(row.refusals)
        findings.update(row.findings)
    times = [one for row in rows for one in row.key_ms]
    outcomes = Counter(re.sub(r"\d+", "n", one)[:110] for one in ended)
    passed = outcomes.pop("passed", 0)
    longest = sorted((row for row in rows if len(row.key_ms) > 1), key=lambda row: -row.length)[:5]
    return {
        "projects": {name: _counted([row for row in rows if row.project == name]) for name in _names(rows)},
        "all": _counted(rows),
        "verified against themselves": f"{passed} of {len(ended)}",
        "not verified": dict(outcomes.most_common(_MOST_REASONS)),
        "findings": dict(findings.most_common()),
        "no workload": dict(Counter(one.reason[:110] for one in kernels if not one.source).most_common(_MOST_REASONS)),
        "no strategy": dict(refusals.most_common(_MOST_REASONS)),
        "strategies": dict(Counter(id for one in kernels for id in one.with_gpu).most_common()),
        "key to findings, ms": dataclasses.asdict(quantiles(times)) if len(times) > 1 else {},
        "in the longest": [[row.length, quantiles(list(row.key_ms)).p95] for row in longest],
    }


def _names(rows: Sequence[Read]) -> list[str]:
    return list(dict.fromkeys(row.project for row in rows))


def _counted(rows: Sequence[Read]) -> dict[str, int]:
    kernels = [one for row in rows for one in row.kernels]
    return {
        "files": len(rows),
        "do not parse": sum(bool(row.unread) for row in rows),
        "kernels": len(kernels),
        "with a line that ran": sum(bool(one.source) for one in kernels),
        "strategy on a GPU": sum(bool(one.with_gpu) for one in kernels),
        "strategy without": sum(bool(one.without_gpu) for one in kernels),
    }


def rows_of(raw: Path) -> list[Read]:
    """The rows that a run has written."""
    before = raw.read_text(encoding="utf-8").splitlines() if raw.exists() else []
    return [wire.decode(Read, json.loads(line)) for line in before]


async def read_all(files: Mapping[Path, Path], raw: Path, keys: int) -> list[Read]:
    """The files, those that `raw` has no row of with a row added to it."""
    rows = {row.file: row for row in rows_of(raw)}
    for place, several in itertools.groupby(files, files.__getitem__):
        engine = Engine(place, DEFAULTS, journal=open_in_memory(place))
        try:
            for file in several:
                if str(file) not in rows:
                    rows[str(file)] = await read(engine, file, place.name, keys)
                    _append(raw, rows[str(file)])
                print(f"{file.name}: {_counted([rows[str(file)]])}", flush=True)
        finally:
            await engine.close()
    return [rows[str(file)] for file in files]


async def _verified(rows: Sequence[Read], most: int) -> list[str]:
    having = [one for row in rows for one in row.kernels if one.source]
    drawn = random.Random(0).sample(having, min(most, len(having)))
    texts = {row.file: text_with(text_of(Path(row.file)), row.lines) for row in rows}
    return await verified(drawn, texts, "", SUPPORT)


def _append(file: Path, row: Read) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(wire.encode(row)) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("raw", type=Path)
    parser.add_argument("places", type=Path, nargs="+")
    parser.add_argument("--draw", type=int, default=0, metavar="N")
    parser.add_argument("--keys", type=int, default=20, metavar="N")
    parser.add_argument("--verify", type=int, default=0, metavar="N")
    parser.add_argument("--json", type=Path, default=None, help=KEPT)
    parser.add_argument("--list", action="store_true", help="print each kernel")
    options = parser.parse_args()
    wanted = asyncio.run(read_all(files_of(options.places, options.draw), options.raw, options.keys))
    for one in (one for row in wanted for one in row.kernels) if options.list else ():
        print(one.file, one.kernel, one.source or one.reason, *one.with_gpu)
    ended = asyncio.run(_verified(wanted, options.verify))
    whole = figures(wanted, ended)
    print(json.dumps(whole, indent=1, ensure_ascii=False))
    if options.json is not None:
        conditions = {
            "date": datetime.date.today().isoformat(),
            "versions": versions("kernelwright", "torch", "tree-sitter-cuda"),
            "settings": {"verified": len(ended), "effort": "quick, standard where that is too short"},
            "machine": machine(),
        }
        write("cuda_files", {**conditions, "figures": whole}, options.json)


if __name__ == "__main__":
    main()
