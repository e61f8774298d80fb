"""What `list`, `record` and `infer` share: the texts that they look at, and how lines that were found are shown and written."""

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from kernelwright import callers, entries, files, recording
from kernelwright.cli import console
from kernelwright.cli.console import OUT
from kernelwright.languages import of_file
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.mistakes import BadInput
from kernelwright.recording import Entry, Recorded
from kernelwright.settings import Settings
from kernelwright.values import apply


def entries_in(places: Sequence[Path]) -> tuple[dict[Path, str], list[Entry]]:
    """The texts of files, those that can be read, and their entries. Raises BadInput."""
    if missing := next((place for place in places if not place.exists()), None):
        raise BadInput(f"{missing} does not exist; name files or folders whose kernels are meant.")
    texts: dict[Path, str] = {}
    for file in entries.files_in(places or [Path.cwd()]):
        with contextlib.suppress(BadInput):
            texts[file] = files.read(file)
    return texts, [entry for file, text in texts.items() for entry in entries.entries_of(file, text)]


def runs(caller: Path) -> str:
    """The command that runs a test or script; a program of CUDA C++ is named alone, as `record` builds and runs it."""
    path = shlex.quote(os.path.relpath(caller))
    return path if of_file(caller).id == CUDA.id else f"{'pytest' if callers.is_test(caller) else 'python'} {path}"


def show(one: Recorded, seen: str, refused: str) -> None:
    """The lines of one entry; `seen` says how many calls or guesses there were, `refused` what a reason is about."""
    OUT.print(f"[bold]{escape(one.entry.name)}[/]  {escape(os.path.relpath(one.entry.file))}, {seen}")
    for line in one.lines:
        OUT.print(
            f"  {of_file(Path(one.entry.file)).workload_sign}{line}", markup=False, highlight=False, soft_wrap=True
        )
    for reason in one.refused:
        OUT.print(f"  {refused}: {reason}.", markup=False, highlight=False)


def write(texts: Mapping[Path, str], found: Sequence[Recorded], settings: Settings) -> None:
    """Write the lines above what they call, or into the journal, as the settings say. Raises BadInput."""
    if settings.recorded_workloads == "journal":
        _keep(texts, found)
        return
    for file in dict.fromkeys(one.entry.file for one in found):
        text = texts[Path(file)]
        edits = recording.edits_for(text, [one for one in found if one.entry.file == file], of_file(Path(file)))
        if edits.edits:
            files.replace(Path(file), text, apply(edits, text))
            OUT.print(f"Wrote the workload lines to {escape(os.path.relpath(file))}.")


def _keep(texts: Mapping[Path, str], found: Sequence[Recorded]) -> None:
    for file in dict.fromkeys(Path(one.entry.file) for one in found if one.lines):
        calls = [line for one in found if Path(one.entry.file) == file for line in one.lines]
        kept, shown = recording.lines_for(texts[file], calls, of_file(file)), escape(os.path.relpath(file))
        if not kept:
            OUT.print(f"{shown} has workload lines of its own for these entries, which count.")
            continue
        console.keep_lines(file, kept)
        OUT.print(f"The journal keeps the workload lines of {', '.join(entry for entry, _ in kept)} in {shown}.")
