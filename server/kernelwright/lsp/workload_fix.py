"""A kernel without a workload: the hint at its name, and the line that would give it one."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Edits, Kernel, Refusal, TextEdit

CODE = "no-workload"


def lacking(snapshot: Snapshot) -> Iterator[tuple[Kernel, str]]:
    """Kernels that cannot be called, with the reason; not those whose own workload line is wrong, which is said there."""
    for kernel in snapshot.kernels:
        if (reason := lacks(snapshot, kernel)) is not None:
            yield kernel, reason


def fixes(snapshot: Snapshot, where: lsp.Range) -> Iterator[tuple[str, lsp.Range, str, Edits]]:
    """Lines taken over from calls in the file, and a line guessed from the signature, for kernels named in `where`."""
    lines = range(where.start.line, where.end.line + 1)
    for kernel in snapshot.kernels_near(lines):
        if kernel.name_line not in lines or lacks(snapshot, kernel) is None:
            continue
        place = snapshot.name_range(kernel)
        taken = snapshot.support.lines_from_calls(snapshot.text, kernel)
        if not isinstance(taken, Refusal):
            title = f"Write workload lines for {kernel.entry} from the calls in this file"
            yield title, place, CODE, _above(snapshot, kernel, taken)
        guessed = snapshot.support.line_from_signature(snapshot.text, kernel)
        if not isinstance(guessed, Refusal):
            title = f"Write a workload line for {kernel.entry} from its parameters"
            yield title, place, CODE, _above(snapshot, kernel, (guessed,))


def lacks(snapshot: Snapshot, kernel: Kernel) -> str | None:
    """Why the kernel cannot be called; None where it can, or its own workload line is wrong."""
    workload = snapshot.workload(kernel)
    return workload.reason if isinstance(workload, Refusal) and workload.line is None else None


def _above(snapshot: Snapshot, kernel: Kernel, lines: tuple[str, ...]) -> Edits:
    """Above the function that the line calls."""
    number = kernel.entry_start_line if kernel.entry_start_line is not None else kernel.start_line
    offset = snapshot.lines.starts[number]
    return Edits(snapshot.hash, (TextEdit(offset, offset, "".join(f"{line}\n" for line in lines)),))
