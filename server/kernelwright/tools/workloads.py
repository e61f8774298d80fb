"""Tools that find out how kernels are called: from a test's own calls, or by guessing."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from kernelwright import callers, files, recording, running
from kernelwright.entries import entries_of, lacks_workload, launched_by, recorded
from kernelwright.languages import of_file
from kernelwright.mistakes import BadInput
from kernelwright.recording import Entry, Recorded
from kernelwright.tools.asking import Asked, Report, Told, carried_out, told
from kernelwright.tools.parameters import File, OneKernel, Write
from kernelwright.tools.results import EntryRow, Lines
from kernelwright.tools.workspace import Opened, Workspace, given, no_answer
from kernelwright.values import Failure, apply

_RUNNERS = ("pytest", "python")

Command = Annotated[
    list[str],
    'A test or script of the workspace that calls the kernels: ["pytest", "tests/test_norm.py", …] or '
    '["python", "bench.py", …], or a program of CUDA C++ that launches its own, ["norm.cu", …]; with further arguments for it.',
]


async def record_workloads(command: Command, asked: Asked, write: Write = False) -> Told[Lines]:
    """Run a test or script once, and write down how it calls kernels, as workload lines: the best way to get a workload.

    The command runs as the user's own would, outside of the sandbox, in the workspace. All kernels of the workspace that it
    calls are found. Lines are written only above what has no workload.
    """
    workspace = asked.workspace
    arguments = _arguments(workspace, command)

    async def work(report: Report, cancel: asyncio.Event) -> tuple[tuple[Recorded, ...], str, list[str]]:
        async with workspace.writing:
            texts, entries = await asyncio.to_thread(_entries, workspace, command)
            if not entries:
                raise BadInput("There is no kernel in this workspace.")
            settings = workspace.engine.settings
            ran = given(await running.run(settings, arguments, workspace.root, entries, report, cancel))
            written = _write(workspace, texts, ran.found) if write and not cancel.is_set() else []
            return ran.found, running.told(ran, command[0 if command[0].endswith(".cu") else 1]), written

    found, said, written = await carried_out(asked, work)
    return _told(workspace, found, said, written)


async def infer_workloads(file: File, asked: Asked, kernel: OneKernel = None, write: Write = False) -> Told[Lines]:
    """Guess workload lines for the kernels of a file that have none, and keep those that ran.

    Use it where no test calls the kernels. The sizes are guesses: look at them, and have the user agree, before you time them.
    """
    workspace = asked.workspace

    async def work(report: Report, cancel: asyncio.Event) -> tuple[list[Recorded], list[str]]:
        async with workspace.writing:
            opened = workspace.open(file)
            wanted = opened.kernel(kernel).name if kernel else None
            entries = [one for one in entries_of(opened.path, opened.text) if wanted is None or wanted in one.kernels]
            found = []
            for entry in (entry for entry in entries if lacks_workload(entry, opened.text, opened.support)):
                answer = await workspace.engine.infer(
                    entry.file, opened.text, entry.kernels[0], support=opened.support, report=report, cancel=cancel
                )
                if isinstance(answer, Failure) and not answer.about_kernel:
                    raise no_answer(answer)
                found.append(recorded(entry, answer))
            written = _write(workspace, {opened.path: opened.text}, found) if write and not cancel.is_set() else []
            return found, written

    found, written = await carried_out(asked, work)
    kernels = sum(len(one.entry.kernels) for one in found)
    ran = sum(len(one.entry.kernels) for one in found if one.lines)
    said = f"{ran} of {kernels} kernels without a workload have a line that ran." if found else "None lacks a workload."
    return _told(workspace, found, said, written)


def _entries(workspace: Workspace, command: Sequence[str]) -> tuple[dict[Path, str], list[Entry]]:
    """The texts of the files whose kernels the command may call, those that can be read, and their entries."""
    texts: dict[Path, str] = {}
    if command[0].endswith(".cu"):
        program = workspace.inside(command[0])
        text = files.read(program)
        return {program: text}, launched_by(program, text)
    for file in recording.source_files([workspace.root]):
        if file.is_relative_to(workspace.root):  # a link may lead elsewhere
            with contextlib.suppress(BadInput):
                texts[file] = files.read(file)
    return texts, [entry for file, text in texts.items() for entry in recording.entries_of(file, text)]


def _arguments(workspace: Workspace, command: Sequence[str]) -> Sequence[str]:
    """What Python is started with. Raises BadInput for what is no test or script of the workspace."""
    if command and command[0].endswith(".cu"):
        program = workspace.inside(command[0])
        if not program.is_file() or not callers.is_program(program, files.read(program)):
            raise BadInput(f"{command[0]} is no program of this workspace.")
        return running.arguments_for(program, *command[1:])
    if len(command) < 2 or command[0] not in _RUNNERS:
        raise BadInput(
            'Name a test or script of this workspace, ["pytest", FILE, …] or ["python", FILE, …], or a program, ["FILE.cu", …].'
        )
    script = workspace.inside(command[1].partition("::")[0])
    if not script.is_file():
        raise BadInput(f"{command[1]} is no file of this workspace.")
    runner = ("-m", "pytest", "-q") if command[0] == "pytest" else ()
    return (*runner, *command[1:])


def _write(workspace: Workspace, texts: Mapping[Path, str], found: Sequence[Recorded]) -> list[str]:
    """Write the lines above what they call and has no workload, or into the journal; the files they are of. Raises BadInput.

    A workload that is there stays: the kernel is judged on it.
    """
    written = []
    places = ((one, Path(one.entry.file)) for one in found)
    lacking = [
        one for one, file in places if lacks_workload(one.entry, texts[file], workspace.language(file, texts[file]))
    ]
    for file in dict.fromkeys(Path(one.entry.file) for one in lacking):
        own = [one for one in lacking if one.entry.file == str(file)]
        if workspace.engine.settings.recorded_workloads == "journal":
            calls = (line for one in own for line in one.lines)
            workspace.engine.journal.keep_lines(file, recording.lines_for(texts[file], calls, of_file(file)))
            written.append(workspace.name(file))
            continue
        edits = recording.edits_for(texts[file], own, of_file(file))
        if edits.edits:
            opened = Opened((workspace.inside(str(file)),), texts[file], of_file(file))
            workspace.write(opened, apply(edits, texts[file]))
            written.append(workspace.name(file))
    return written


def _told(workspace: Workspace, found: Sequence[Recorded], said: str, written: Sequence[str]) -> Told[Lines]:
    rows = tuple(
        EntryRow(_name(workspace, one.entry), one.entry.name, one.entry.kernels, one.lines, one.refused)
        for one in found
    )
    lines = [f"{of_file(Path(row.file)).workload_sign}{line}" for row in rows for line in row.lines]
    lines += [f"{row.entry}: {reason}." for row in rows for reason in row.refused]
    kept = workspace.engine.settings.recorded_workloads == "journal"
    wrote = f"{'The journal keeps the lines of' if kept else 'Wrote'} {', '.join(written)}." if written else ""
    return told("\n".join(filter(None, (said, *lines, wrote))), Lines(rows, tuple(written)))


def _name(workspace: Workspace, entry: Entry) -> str:
    return workspace.name(Path(entry.file))
