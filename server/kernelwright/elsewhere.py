"""A kernel that no call of its file comes to: where other files launch it, and workload lines, for which these are called,
and what they launch it with is the line."""

import asyncio
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright import callers
from kernelwright.languages import LANGUAGES, LanguageSupport
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import TriedLines, TryLines
from kernelwright.proof.worker.toolchain.headers import headers_of
from kernelwright.recording import source_files
from kernelwright.source.workload.find import code, definitions, uses
from kernelwright.source.workload.lines import by_entry
from kernelwright.values import Kernel, Language, Refusal

_MOST_FILES, _MOST_ENTRIES, _OF_AN_ENTRY = 3, 4, 6
_LONGEST = 1 << 17  # characters of a header that is read
_SECONDS = 30.0  # for the calls of one file


@dataclass(frozen=True)
class Site:
    """Where a file launches a kernel: in which of its functions and classes, "" outside of all."""

    file: Path
    function: str


def sites(
    texts: Mapping[Path, str], graph: callers.Graph, path: Path, names: Collection[str]
) -> dict[str, tuple[Site, ...]]:
    """For each of the kernels of a file, where other files that come to it by their imports launch it, the nearest first."""
    found = {}
    for name in names:
        users = callers.users(texts, graph, path, name)
        found[name] = tuple(Site(file, function) for file in users for function in _launching(texts[file], name))
    return found


def _launching(text: str, name: str) -> list[str]:
    """The top-level definitions around the launches of a kernel, each once, in order."""
    launch = re.compile(rf"\b{re.escape(name)}\s*\[")
    spans = definitions(text).items()
    around = (
        next((one for one, (start, end) in spans if start <= match.start() < end), "")
        for match in launch.finditer(code(text))
    )
    return list(dict.fromkeys(around))


async def launches(
    path: str,
    text: str,
    kernel: Kernel,
    support: LanguageSupport,
    root: Path,
    workers: Workers,
    import_seconds: float,
    report: Callable[[str], None],
    cancel: asyncio.Event | None,
) -> tuple[str, ...]:
    """Launches of a kernel as lines without a comment sign, the best first, from the first file whose calls come to it."""
    report("Looking for what launches the kernel")
    home = Path(path).resolve()
    for file, other in await asyncio.to_thread(_launchers, root, home, text, kernel):
        calls = tuple(_calls(other, kernel.name, support))
        if not calls:
            continue
        report(f"Calling {file.name}")
        job = TryLines(str(file), other, calls, (kernel.name,), budget=_SECONDS, language=support.id, written=str(home))
        answer = await workers.run(job, timeout=job.budget + import_seconds, report=report, cancel=cancel)
        if isinstance(answer, TriedLines):
            # The last call of a line is made with NaN in fresh memory, which tells what the kernel only writes.
            lines = [line for one in answer.lines if not one.reason for line in reversed(one.written)]
            if lines:
                return tuple(dict.fromkeys(lines))
    return ()


def beside(root: Path, path: str, text: str, name: str, support: LanguageSupport) -> tuple[str, ...]:
    """The texts that say how a kernel of CUDA C++ is launched: of files that launch it, and of the headers of its own."""
    headers = headers_of(Path(path).resolve().parent, text)
    return (*launching(root, path, name, support), *(one.text for one in headers if len(one.text) < _LONGEST))


def launching(root: Path, path: str, name: str, support: LanguageSupport) -> tuple[str, ...]:
    """The texts of files below `root` that write a launch of a kernel of CUDA C++, those of the nearest files first."""
    home = Path(path).resolve()
    files = [one for one in source_files([root], LANGUAGES[support.id].suffixes) if one != home]
    launch = re.compile(rf"\b{re.escape(name)}\s*(?:<(?!<)[^;{{}}]*)?<<<")
    near = sorted(files, key=lambda file: (-callers.shared(file, home), str(file)))
    found = (text for text in callers.read_all(near).values() if launch.search(text))
    return tuple(itertools.islice(found, _MOST_FILES))


def _launchers(root: Path, path: Path, text: str, kernel: Kernel) -> list[tuple[Path, str]]:
    """The files below `root` that import the kernel's file and write its name, with their texts.

    Before them the file itself where it launches the kernel, as in a backward pass.
    """
    texts = {**callers.read_all(source_files([root])), path: text}
    found = callers.users(texts, callers.imports(texts), path, kernel.name)[:_MOST_FILES]
    return [(file, texts[file]) for file in ([path, *found] if kernel.launches else found)]


def _calls(text: str, name: str, support: LanguageSupport) -> Iterator[str]:
    """Calls of what comes to the kernel in a file that imports it: its own workload lines; of each the best guesses."""
    written = by_entry(support.workload_lines(text))
    yield from (case.text for entry, cases in written.items() if uses(text, entry, name) for case in cases)
    entries = (one for one in definitions(text) if not one.startswith(("test", "bench")) and uses(text, one, name))
    guessed: Mapping[str, tuple[str, ...] | Refusal] = {
        entry: support.lines_from_signature(text, Kernel(Language.TORCH, entry, 0, 0, 0, 0, entry=entry))
        for entry in itertools.islice(entries, _MOST_ENTRIES)
    }
    found = [lines[:_OF_AN_ENTRY] for lines in guessed.values() if not isinstance(lines, Refusal)]
    for turn in itertools.zip_longest(*found):
        yield from (line.removeprefix(support.workload_sign) for line in turn if line is not None)
