"""`kernelwright infer PLACE…`: workload lines that are guessed from what launches the kernels, and tried."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelwright.cli import console, files, lines
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE, BadInput
from kernelwright.engine import Engine
from kernelwright.inferring import Inferred
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
from kernelwright.recording import Entry, Recorded
from kernelwright.source.workload.lines import by_entry
from kernelwright.values import Failure, FailureKind, Refusal, Workload

_MOST_REASONS = 3


def infer_places(places: Sequence[Path], write: bool, json_out: Path | None, interpreter: str | None) -> int:
    """Print lines that ran for each entry that has no workload, or write them above what they call. Raises BadInput."""
    files.check_result(json_out)
    texts, entries = lines.entries_in(places)
    lacking = [entry for entry in entries if _lacks(entry, texts[Path(entry.file)])]
    if not entries:
        raise BadInput(
            f"There is no kernel in {', '.join(map(str, places)) or 'this folder'}; name files that have some."
        )
    found = asyncio.run(_infer(texts, lacking, interpreter))
    kernels = sum(len(one.entry.kernels) for one in found if one.lines)
    have = sum(len(entry.kernels) for entry in entries if entry not in lacking)
    OUT.print(
        f"{kernels} of {sum(len(entry.kernels) for entry in lacking)} kernels without a workload have a line that ran"
        f"{f'; {have} had one before' if have else ''}."
    )
    console.write_json(json_out, {"recorded": found})
    if write:
        lines.write(texts, found)
    return DONE


def _lacks(entry: Entry, text: str) -> bool:
    """Not where a line is there and wrong: that is for a person to mend."""
    support = of_file(Path(entry.file))
    called = by_entry(support.workload_lines(text))
    return entry.name not in called and not isinstance(support.workload(text, entry.name), Workload)


async def _infer(texts: Mapping[Path, str], entries: Sequence[Entry], interpreter: str | None) -> list[Recorded]:
    found: list[Recorded] = []
    if not entries:
        return found
    workspace = console.workspace_of(Path(entries[0].file))
    engine = Engine(workspace, console.settings_for(interpreter), journal=open_in_memory(workspace))
    try:
        for entry in entries:
            file = Path(entry.file)
            with console.progress(f"Inferring {entry.name}") as report:
                answer = await engine.infer(
                    entry.file, texts[file], entry.kernels[0], support=of_file(file), report=report
                )
            if isinstance(answer, Failure) and answer.kind is FailureKind.NO_INTERPRETER:
                raise console.no_result(answer)
            found.append(_recorded(entry, answer))
            tried = "1 line tried" if found[-1].seen == 1 else f"{found[-1].seen} lines tried"
            lines.show(found[-1], tried, "A line does not run")
    finally:
        await engine.close()
    return found


def _recorded(entry: Entry, answer: Inferred | Refusal | Failure) -> Recorded:
    if isinstance(answer, Inferred):
        calls = tuple(line.partition(": ")[2] for line in answer.lines)
        return Recorded(entry, calls, answer.tried, () if calls else answer.refused[:_MOST_REASONS])
    reason = answer.reason if isinstance(answer, Refusal) else answer.message
    return Recorded(entry, (), 0, (reason.rstrip("."),))
