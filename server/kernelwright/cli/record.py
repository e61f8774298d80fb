"""`kernelwright record -- COMMAND`: workload lines from the calls that a test or script makes."""

import contextlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from kernelwright import recording
from kernelwright.cli import console, files
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE, BadInput
from kernelwright.recording import Recorded
from kernelwright.values import apply


def record_command(command: Sequence[str], places: Sequence[Path], write: bool, json_out: Path | None) -> int:
    """Run `command` once; print the lines of each entry that it called, or write them above those. Raises BadInput."""
    if missing := next((place for place in places if not place.exists()), None):
        raise BadInput(f"{missing} does not exist; name files or folders whose kernels are to be recorded.")
    files.check_result(json_out)
    texts = _texts(recording.python_files(places or [Path.cwd()]))
    entries = [entry for file, text in texts.items() for entry in recording.entries_of(file, text)]
    if not entries:
        where = ", ".join(map(str, places)) or "this folder"
        raise BadInput(f"There is no kernel in {where}; name the files or folders that have some with --in.")
    with recording.watch(entries, os.environ) as watch:
        try:
            status = subprocess.run(command, env=watch.environment, check=False).returncode
        except OSError as error:
            raise BadInput(f"{command[0]} cannot be started: {error.strerror or error}.") from None
        found = watch.found()
    if watch.without_gpu:
        OUT.print("The command ran without a GPU, its launches in Triton's interpreter on the CPU.")
    ended = f"The command ended with status {status}. " if status else ""
    if not found:
        raise BadInput(f"{ended}It called none of the {len(entries)} entries that were looked for.")
    for one in found:
        _show(one)
    kernels = sum(len(one.entry.kernels) for one in found if one.lines)
    OUT.print(f"{ended}{kernels} of {sum(len(e.kernels) for e in entries)} kernels have a recorded workload.")
    console.write_json(json_out, {"status": status, "without_gpu": watch.without_gpu, "recorded": found})
    if write:
        _write(texts, found)
    return DONE


def _texts(found: Sequence[Path]) -> dict[Path, str]:
    """Those that can be read: a folder may hold files of any kind."""
    texts: dict[Path, str] = {}
    for file in found:
        with contextlib.suppress(BadInput):
            texts[file] = files.read(file)
    return texts


def _show(one: Recorded) -> None:
    OUT.print(f"[bold]{escape(one.entry.name)}[/]  {escape(os.path.relpath(one.entry.file))}, {_calls(one.seen)}")
    for line in one.lines:
        OUT.print(f"  # workload: {line}", markup=False, highlight=False, soft_wrap=True)
    for reason in one.refused:
        OUT.print(f"  A call cannot be written as a line: {reason}.", markup=False, highlight=False)


def _calls(number: int) -> str:
    return "1 distinct call" if number == 1 else f"{number} distinct calls"


def _write(texts: dict[Path, str], found: Sequence[Recorded]) -> None:
    for file in dict.fromkeys(one.entry.file for one in found):
        text = texts[Path(file)]
        edits = recording.edits_for(text, [one for one in found if one.entry.file == file])
        if edits.edits:
            files.replace(Path(file), text, apply(edits, text))
            OUT.print(f"Wrote the workload lines to {escape(os.path.relpath(file))}.")
