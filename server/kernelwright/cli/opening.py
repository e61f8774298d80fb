"""The kernel that a command is about, with all files that a step on it may change."""

from dataclasses import dataclass
from pathlib import Path

from kernelwright import callers, files, joining, recording
from kernelwright.cli.console import find_kernel, workspace_of
from kernelwright.languages import of_file
from kernelwright.mistakes import BadInput
from kernelwright.values import Kernel, Refusal, Workload, pages, with_texts


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
        both = zip(self.files, pages(before), pages(after), strict=True)
        return [(file, one.text, other.text) for file, one, other in both if one.text != other.text]


def opened(file: Path, name: str | None, *, whole: bool = False) -> Opened:
    """The kernel of a file that is meant, as `console.find_kernel` says; one that only another file launches with that file.

    It can be named in the launching file, too. Raises BadInput.
    """
    text = files.read(file)
    try:
        kernel = find_kernel(file, text, name, whole=whole)
        found = _joined(file, text, kernel.name) if joining.may_be_joined(kernel) else []
        if not found:
            return Opened((file,), text, kernel)
    except BadInput:
        found = _joined(file, text, name)
        if not found:
            raise
    if len(found) > 1:
        choices = ", ".join(one.kernel.name for one in found if isinstance(one, joining.Joined))
        raise BadInput(f"{file} has several kernels with a workload; choose one with --kernel: {choices}.")
    (one,) = found
    if isinstance(one, Refusal):
        raise BadInput(one.reason)
    own = file.resolve()
    places = tuple(file if other == own else shown(other) for other in one.files)
    text = with_texts(one.text, [files.read(place) for place in places])
    return Opened(places, text, find_kernel(places[0], text, one.kernel.name))


def _joined(file: Path, text: str, name: str | None) -> list[joining.Joined | Refusal]:
    """The kernel called `name`, or those with a workload, else the first one: of this file, or of others that it launches."""
    support, own = of_file(file), file.resolve()
    if support.id != "python":
        return []
    texts = {**callers.read_all(recording.source_files([workspace_of(file)])), own: text}
    graph = callers.imports(texts)
    kernels = [one for one in support.kernels(text) if joining.may_be_joined(one)]
    here = (joining.with_launcher(texts, graph, own, one, support) for one in kernels if name in (None, one.name))
    found = [one for one in (*here, *joining.launched_in(texts, graph, own, support, name)) if one is not None]
    ready: list[joining.Joined | Refusal] = [
        one
        for one in found
        if isinstance(one, joining.Joined) and isinstance(support.workload(one.text, one.kernel.entry), Workload)
    ]
    return ready or found[:1]


def shown(file: Path) -> Path:
    """A path as it is shown: from the working directory where it lies below that."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
