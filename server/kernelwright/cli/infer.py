"""`kernelwright infer PLACE…`: workload lines that are guessed from what launches the kernels, or by a model, and tried."""

import asyncio
import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kernelwright import files
from kernelwright.cli import console, lines
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.engine import Engine
from kernelwright.entries import lacks_workload, recorded
from kernelwright.journal import open_in_memory
from kernelwright.languages import of_file
from kernelwright.mistakes import BadInput
from kernelwright.recording import Entry, Recorded
from kernelwright.settings import Settings
from kernelwright.values import Failure, FailureKind

_MOST_NAMES = 20


def infer_places(
    places: Sequence[Path],
    kernel: str | None,
    write: bool,
    json_out: Path | None,
    interpreter: str | None,
    how: Mapping[str, object],
) -> int:
    """Print lines that ran for each entry that has no workload, or write them as `how` says. Raises BadInput.

    Of several kernels, only for the entries that run the one called `kernel`.
    """
    files.check_result(json_out)
    texts, entries = lines.entries_in(places)
    supports, shown = console.languages(texts), ", ".join(map(str, places)) or "this folder"
    if not entries:
        raise BadInput(f"There is no kernel in {shown}; name files that have some.")
    names = dict.fromkeys(name for entry in entries for name in entry.kernels)
    if kernel is not None and kernel not in names:
        raise BadInput(f"There is no kernel {kernel!r} in {shown}; there {_are(names)}.")
    entries = [one for one in entries if kernel is None or kernel in one.kernels]
    lacking = [one for one in entries if lacks_workload(one, texts[Path(one.file)], supports[Path(one.file)])]
    settings = console.settings_for(interpreter, **how)
    found = asyncio.run(_infer(texts, lacking, settings))
    kernels = sum(len(one.entry.kernels) - len(one.unreached) for one in found if one.lines)
    have = sum(len(entry.kernels) for entry in entries if entry not in lacking)
    OUT.print(
        f"{kernels} of {sum(len(entry.kernels) for entry in lacking)} kernels without a workload have a line that ran"
        f"{f'; {have} had one before' if have else ''}."
    )
    if write:
        lines.write(texts, found, settings)
    console.write_json(json_out, {"recorded": found})
    return DONE


def _are(names: Collection[str]) -> str:
    """Which kernels there are, as the end of a sentence."""
    some = ", ".join(itertools.islice(names, _MOST_NAMES))
    rest = len(names) - _MOST_NAMES
    return f"{'is' if len(names) == 1 else 'are'} {some}{f' and {rest} more' if rest > 0 else ''}"


async def _infer(texts: Mapping[Path, str], entries: Sequence[Entry], settings: Settings) -> list[Recorded]:
    found: list[Recorded] = []
    if not entries:
        return found
    workspace = console.workspace_of(Path(entries[0].file))
    provider = console.provider_for(settings)
    engine = Engine(workspace, settings, journal=open_in_memory(workspace), provider=provider)
    try:
        for entry in entries:
            file = Path(entry.file)
            with console.progress(f"Inferring {entry.name}") as report:
                answer = await engine.infer(
                    entry.file, texts[file], entry.kernels[0], support=of_file(file), report=report
                )
            if isinstance(answer, Failure) and answer.kind is FailureKind.NO_INTERPRETER:
                raise console.no_result(answer)
            found.append(recorded(entry, answer))
            tried = "1 line tried" if found[-1].seen == 1 else f"{found[-1].seen} lines tried"
            lines.show(found[-1], tried, "A line does not run")
    finally:
        await engine.close()
        if provider is not None:
            await provider.close()
    return found
