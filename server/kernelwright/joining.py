"""A kernel that another file launches, as one text with that file; and the files of such a text."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright import callers, elsewhere, recording
from kernelwright.languages import LanguageSupport
from kernelwright.source.workload.find import code, definitions
from kernelwright.values import Kernel, Language, Refusal, Workload, joined, pages

_LAUNCHED = re.compile(r"\b(\w+)\s*\[")


@dataclass(frozen=True)
class Joined:
    """The files of a text, that of the kernel first, which the journal knows it by; and the kernel as it stands in the text."""

    files: tuple[Path, ...]
    text: str
    kernel: Kernel


def may_be_joined(kernel: Kernel) -> bool:
    """Whether nothing in the kernel's own file launches it, nor says how: only another file can."""
    return kernel.language is Language.TRITON and not kernel.launches and kernel.entry is None


def changes(files: Sequence[Path], before: str, after: str) -> list[tuple[Path, str, str]]:
    """The files that differ between two versions of a text, with what each held and is to hold."""
    both = zip(files, pages(before), pages(after), strict=True)
    return [(file, one.text, other.text) for file, one, other in both if one.text != other.text]


def meant(root: Path, file: Path, text: str, name: str | None, support: LanguageSupport) -> list[Joined | Refusal]:
    """The kernel called `name`, or those with a workload, else the first one: of `file`, or of others that it launches.

    Joined with the one file below `root` that launches it; nothing where no other file launches it.
    """
    if support.id != "python":
        return []
    texts = {**callers.read_all(recording.source_files([root])), file: text}
    graph = callers.imports(texts)
    kernels = [one for one in support.kernels(text) if may_be_joined(one) and name in (None, one.name)]
    here = (with_launcher(texts, graph, file, one, support) for one in kernels)
    found = [one for one in (*here, *launched_in(texts, graph, file, support, name)) if one is not None]
    ready: list[Joined | Refusal] = [
        one
        for one in found
        if isinstance(one, Joined) and isinstance(support.workload(one.text, one.kernel.entry), Workload)
    ]
    return ready or found[:1]


def with_launcher(
    texts: Mapping[Path, str], graph: callers.Graph, file: Path, kernel: Kernel, support: LanguageSupport
) -> Joined | Refusal | None:
    """A kernel of `file`, joined with the one file that launches it; None where none does."""
    sites = elsewhere.sites(texts, graph, file, [kernel.name])[kernel.name]
    return with_one(file, texts[file], kernel, {site.file: texts[site.file] for site in sites}, support)


def with_one(
    file: Path, text: str, kernel: Kernel, launching: Mapping[Path, str], support: LanguageSupport
) -> Joined | Refusal | None:
    """As `with_launcher`, where the files that launch the kernel are known."""
    if len(launching) > 1:
        named = ", ".join(_name(file, other) for other in launching)
        return Refusal(f"{kernel.name} is launched from several files ({named}); a step can change one of them only.")
    for other, launcher in launching.items():
        both = joined(text, _name(file, other), launcher)
        found = next((one for one in support.kernels(both or "") if one.name == kernel.name), None)
        if both is None or found is None or not found.launches or found.start_line != kernel.start_line:
            continue
        if found.entry in definitions(text):
            said = f"{found.entry}, which launches {kernel.name}, has the name of something in {file.name}"
            return Refusal(f"{said}; rename one of them first.")
        return Joined((file, other), both, found)
    return None


def launched_in(
    texts: Mapping[Path, str], graph: callers.Graph, file: Path, support: LanguageSupport, name: str | None = None
) -> Iterator[Joined | Refusal]:
    """The kernels of other files that `file` launches, each joined with it, those of the nearest files first.

    With `name` only those that are called so.
    """
    names = {found for found in _LAUNCHED.findall(code(texts[file])) if name in (None, found)}
    for other in callers.reached(graph, file):
        if other == file or "triton" not in texts[other] or names.isdisjoint(definitions(texts[other])):
            continue
        for kernel in support.kernels(texts[other]):
            if kernel.name in names and may_be_joined(kernel):
                found = with_launcher(texts, graph, other, kernel, support)
                if found is not None and (isinstance(found, Refusal) or file in found.files):
                    yield found


def _name(file: Path, other: Path) -> str:
    return Path(os.path.relpath(other, file.parent)).as_posix()
