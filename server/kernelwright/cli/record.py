"""`kernelwright record -- COMMAND`: workload lines from the calls that a test or script makes."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernelwright import recording
from kernelwright.cli import console, files, lines
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE, BadInput


def record_command(command: Sequence[str], places: Sequence[Path], write: bool, json_out: Path | None) -> int:
    """Run `command` once; print the lines of each entry that it called, or write them above those. Raises BadInput."""
    files.check_result(json_out)
    texts, entries = lines.entries_in(places)
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
        calls = "1 distinct call" if one.seen == 1 else f"{one.seen} distinct calls"
        lines.show(one, calls, "A call cannot be written as a line")
    kernels = sum(len(one.entry.kernels) for one in found if one.lines)
    OUT.print(f"{ended}{kernels} of {sum(len(e.kernels) for e in entries)} kernels have a recorded workload.")
    console.write_json(json_out, {"status": status, "without_gpu": watch.without_gpu, "recorded": found})
    if write:
        lines.write(texts, found)
    return DONE
