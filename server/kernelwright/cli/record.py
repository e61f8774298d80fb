"""`kernelwright record -- COMMAND`: workload lines from the calls that a test or script makes."""

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernelwright import callers, files, recording, running
from kernelwright.cli import console, lines
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.entries import launched_by
from kernelwright.mistakes import BadInput
from kernelwright.recording import Entry

_STDERR = 2
_COMMANDS = {"pytest": ("-m", "pytest"), "python": (), "python3": ()}  # with what a Python runs as they do
_MOST_FILES, _MOST_CALLERS, _MOST_NAMED = 20, 2, 8  # files whose callers are looked for, of each, and of all


def record_command(
    command: Sequence[str], places: Sequence[Path], write: bool, json_out: Path | None, how: Mapping[str, object]
) -> int:
    """Run `command` once; print the lines of each entry that it called, or write them as `how` says. Raises BadInput."""
    files.check_result(json_out)
    program = Path(command[0]).resolve() if command and command[0].endswith(".cu") else None
    texts, entries = _in_program(program) if program is not None else lines.entries_in(places)
    if not entries:
        where = ", ".join(map(str, places)) or "this folder"
        raise BadInput(f"There is no kernel in {where}; name the files or folders that have some with --in.")
    if not command:
        raise BadInput(_what_to_run(texts, entries))
    with recording.watch(entries, os.environ) as watch:
        try:
            said = _STDERR if json_out == files.STDOUT else None
            run = command if program is None else [sys.executable, *running.arguments_for(program, *command[1:])]
            status = subprocess.run(run, env=watch.environment, check=False, stdout=said).returncode
        except KeyboardInterrupt:
            status = None
        except OSError as error:
            raise BadInput(f"{command[0]} cannot be started: {error.strerror or error}.") from None
        found = watch.found()
    ended = (
        "The command was stopped. " if status is None else f"The command ended with status {status}. " if status else ""
    )
    if not found:
        other = _of_another_python(command) if status else ""
        raise BadInput(f"{ended}It called none of the {len(entries)} entries that were looked for.{other}")
    if program is not None:
        OUT.print("The program ran in the emulator, on the CPU.")
    elif watch.without_gpu:
        OUT.print("The command ran without a GPU, its launches in Triton's interpreter on the CPU.")
    for one in found:
        calls = "1 distinct call" if one.seen == 1 else f"{one.seen} distinct calls"
        lines.show(one, calls, "A call cannot be written as a line")
    kernels = sum(len(one.entry.kernels) for one in found if one.lines)
    OUT.print(f"{ended}{kernels} of {sum(len(e.kernels) for e in entries)} kernels have a recorded workload.")
    if write:
        lines.write(texts, found, console.settings_for(None, **how))
    console.write_json(json_out, {"status": status, "without_gpu": watch.without_gpu, "recorded": found})
    return DONE


def _of_another_python(command: Sequence[str]) -> str:
    """A sentence where `pytest` or `python` is that of another environment than this one, which has the kernels' packages."""
    here, found = Path(sys.executable), shutil.which(command[0])
    if command[0] not in _COMMANDS or found is None or Path(found).parent == here.parent:
        return ""
    again = shlex.join((str(here), *_COMMANDS[command[0]], *command[1:]))
    return f" {command[0]} is {found}, of another Python than kernelwright; with the latter: kernelwright record -- {again}"


def _in_program(program: Path) -> tuple[dict[Path, str], list[Entry]]:
    """The text of a program of CUDA C++, and its kernels. Raises BadInput."""
    text = files.read(program)
    if not callers.is_program(program, text):
        raise BadInput(
            f"{program.name} has no main function that could be run; `kernelwright infer` guesses lines for it."
        )
    return {program: text}, launched_by(program, text)


def _what_to_run(texts: Mapping[Path, str], entries: Sequence[Entry]) -> str:
    """A command for each of the tests and scripts below this folder that come to the kernels, the likeliest ones."""
    found = callers.read_all(recording.source_files([Path.cwd()]))
    graph = callers.imports({**found, **texts})
    names: dict[Path, set[str]] = {}
    for entry in entries:
        names.setdefault(Path(entry.file), set()).update((entry.name, *entry.kernels))
    likely = (
        caller
        for file, called in itertools.islice(names.items(), _MOST_FILES)
        for caller in callers.callers({**found, **texts}, graph, file, called)[:_MOST_CALLERS]
    )
    commands = [lines.runs(caller) for caller in itertools.islice(dict.fromkeys(likely), _MOST_NAMED)]
    if not commands:
        return "Name a command behind --, such as a test that calls these kernels."
    return "\n".join(
        ("Name a command. These come to the kernels:", *(f"  kernelwright record -- {c}" for c in commands))
    )
