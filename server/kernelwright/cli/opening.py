"""The kernel that a command is about, with all files that a step on it may change."""

from dataclasses import dataclass
from pathlib import Path

from kernelwright import files, joining
from kernelwright.cli.console import find_kernel, languages, workspace_of
from kernelwright.mistakes import BadInput
from kernelwright.values import Kernel, Refusal, with_texts


@dataclass(frozen=True)
class Opened:
    """A kernel and its text: that of its file, or of its file and the one that launches it."""

    files: tuple[Path, ...]
    text: str
    kernel: Kernel

    @property
    def path(self) -> str:
        """The file that the journal knows the kernel by."""
        return str(self.files[0].resolve())

    @property
    def named(self) -> str:
        return " and ".join(map(str, self.files))

    def changes(self, before: str, after: str) -> list[tuple[Path, str, str]]:
        """The files that differ between two versions of the text, with what each held and is to hold."""
        return joining.changes(self.files, before, after)


def opened(file: Path, name: str | None, *, whole: bool = False) -> Opened:
    """The kernel of a file that is meant, as `console.find_kernel` says; one that only another file launches with that file.

    It can be named in the launching file, too. Raises BadInput.
    """
    text, own, support = files.read(file), file.resolve(), languages([file])[file]
    try:
        kernel = find_kernel(file, text, name, whole=whole)
        found = (
            joining.meant(workspace_of(file), own, text, kernel.name, support) if joining.may_be_joined(kernel) else []
        )
        if not found:
            return Opened((file,), text, kernel)
    except BadInput:
        found = joining.meant(workspace_of(file), own, text, name, support)
        if not found:
            raise
    if len(found) > 1:
        choices = ", ".join(one.kernel.name for one in found if isinstance(one, joining.Joined))
        raise BadInput(f"{file} has several kernels with a workload; choose one with --kernel: {choices}.")
    (one,) = found
    if isinstance(one, Refusal):
        raise BadInput(one.reason)
    places = tuple(file if other == own else shown(other) for other in one.files)
    text = with_texts(one.text, [files.read(place) for place in places])
    return Opened(places, text, find_kernel(places[0], text, one.kernel.name))


def shown(file: Path) -> Path:
    """A path as it is shown: from the working directory where it lies below that."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
