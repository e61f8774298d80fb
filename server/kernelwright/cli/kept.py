"""`kernelwright lines FILE`: the workload lines that the journal keeps for a file, shown, written into it, or forgotten."""

from pathlib import Path

from rich.markup import escape

from kernelwright import files, recording
from kernelwright.cli import console
from kernelwright.cli.console import OUT
from kernelwright.cli.ending import DONE
from kernelwright.languages import of_file
from kernelwright.languages.kept import kept_by
from kernelwright.values import apply


def show_lines(file: Path, kernel: str | None, write: bool, forget: bool, json_out: Path | None) -> int:
    """Print the lines of a file, or of what runs one of its kernels. Raises BadInput."""
    files.check_result(json_out, file)
    text, support, own = files.read(file), console.languages([file])[file], of_file(file)
    found = kept_by(support)
    if kernel is not None:
        entry = console.find_kernel(file, text, kernel).entry
        found = tuple(one for one in found if one[0] == entry)
    for _, calls in found:
        for call in calls:
            OUT.print(f"{own.workload_sign}{call}", markup=False, highlight=False, soft_wrap=True)
    whose = escape(f"{kernel} in {file}" if kernel else str(file))
    if not found:
        OUT.print(f"The journal keeps no workload line for {whose}.")
    edits = recording.edits_of_kept(text, found, own)
    if write and edits.edits:
        files.replace(file, text, apply(edits, text))
        OUT.print(f"Wrote the workload lines to {escape(str(file))}.")
    if forget and found:
        console.keep_lines(file, tuple((entry, ()) for entry, _ in found))
        OUT.print(f"The journal has forgotten the workload lines of {whose}.")
    console.write_json(json_out, {"file": str(file), "lines": dict(found)})
    return DONE
