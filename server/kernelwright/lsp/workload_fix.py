"""A kernel without a workload: the hint at its name, and the line that would give it one."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Edits, Kernel, Refusal, TextEdit, Workload, WorkloadSource

CODE = "no-workload"
INFER, FORGET = "kernelwright.infer", "kernelwright.forgetLines"


def lacking(snapshot: Snapshot) -> Iterator[tuple[Kernel, str]]:
    """Kernels that cannot be called, with the reason; not those whose own workload line is wrong, which is said there."""
    for kernel in snapshot.kernels:
        if (reason := lacks(snapshot, kernel)) is not None:
            yield kernel, reason


def fixes(snapshot: Snapshot, where: lsp.Range) -> Iterator[tuple[str, lsp.Range, str, Edits]]:
    """Lines taken over from calls in the file, for kernels named in `where`; one guessed from the signature where no worker
    could try it."""
    lines = range(where.start.line, where.end.line + 1)
    for kernel in snapshot.kernels_near(lines):
        place = snapshot.name_range(kernel)
        if kernel.name_line in lines and (kept := kept_of(snapshot, kernel)):
            from kernelwright import recording

            title = f"Write the workload lines for {kept[0]} that the journal keeps into the file"
            yield title, place, CODE, recording.edits_of_kept(snapshot.text, (kept,), snapshot.support)
        if kernel.name_line not in lines or lacks(snapshot, kernel) is None:
            continue
        taken = snapshot.support.lines_from_calls(snapshot.text, kernel)
        if not isinstance(taken, Refusal):
            title = f"Write workload lines for {kernel.entry} from the calls in this file"
            yield title, place, CODE, above(snapshot, kernel, taken)
        if (program := snapshot.support.program_line(snapshot.text, kernel)) is not None:
            title = "Write a workload line that compares what main prints"
            yield title, place, CODE, _at(snapshot, program[0], (program[1],))
        if snapshot.support.tries_lines:
            continue
        guessed = snapshot.support.lines_from_signature(snapshot.text, kernel)
        if not isinstance(guessed, Refusal):
            title = f"Write a workload line for {kernel.entry} from its parameters"
            yield title, place, CODE, above(snapshot, kernel, guessed[:1])


def to_try(session: Session, snapshot: Snapshot, where: lsp.Range) -> Iterator[tuple[lsp.Range, lsp.Command]]:
    """The command that infers lines, tries them and writes those that ran, for kernels named in `where`; for one whose lines
    lie in the journal, the command that forgets them.
    """
    lines = range(where.start.line, where.end.line + 1)
    for kernel in snapshot.kernels_near(lines) if snapshot.support.tries_lines else ():
        if kernel.name_line in lines and (kept := kept_of(snapshot, kernel)):
            about = {"uri": snapshot.uri, "kernel": kernel.name, "detached": True}
            title = f"Forget the workload lines for {kept[0]} that the journal keeps"
            yield snapshot.name_range(kernel), lsp.Command(title, FORGET, arguments=[about])
        if kernel.name_line in lines and lacks(*session.whole(snapshot, kernel)) is not None:
            title = f"Write a workload line for {kernel.entry or kernel.name} that runs"
            about = {"uri": snapshot.uri, "kernel": kernel.name, "detached": True}
            yield snapshot.name_range(kernel), lsp.Command(title, INFER, arguments=[about])


def lacks(snapshot: Snapshot, kernel: Kernel) -> str | None:
    """Why the kernel cannot be called; None where it can, or its own workload line is wrong."""
    from kernelwright.source.workload.lines import by_entry

    workload = snapshot.workload(kernel)
    if not isinstance(workload, Refusal) or kernel.entry in by_entry(snapshot.support.workload_lines(snapshot.text)):
        return None
    return workload.reason


def kept_of(snapshot: Snapshot, kernel: Kernel) -> tuple[str, tuple[str, ...]] | None:
    """The entry whose lines in the journal are the kernel's workload, and these."""
    workload = snapshot.workload(kernel) if snapshot.kept else None
    if not isinstance(workload, Workload) or workload.source is not WorkloadSource.JOURNAL:
        return None
    return next((one for one in snapshot.kept if one[0] == workload.entry), None)


def above(snapshot: Snapshot, kernel: Kernel, lines: tuple[str, ...]) -> Edits:
    """Above the function that the line calls."""
    number = kernel.entry_start_line if kernel.entry_start_line is not None else kernel.start_line
    return _at(snapshot, number, lines)


def _at(snapshot: Snapshot, number: int, lines: tuple[str, ...]) -> Edits:
    offset = snapshot.lines.starts[number]
    return Edits(snapshot.hash, (TextEdit(offset, offset, "".join(f"{line}\n" for line in lines)),))
