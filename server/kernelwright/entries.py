"""The entries of files in any language: which lack a workload, and what looking for lines came to for one of them."""

from collections.abc import Iterable
from pathlib import Path

from kernelwright import recording
from kernelwright.inferring import Inferred
from kernelwright.languages import LANGUAGES, LanguageSupport, of_file
from kernelwright.recording import Entry, Recorded
from kernelwright.source.workload.lines import by_entry
from kernelwright.values import Failure, Language, Refusal, Workload

_MOST_REASONS = 3


def files_in(places: Iterable[Path]) -> list[Path]:
    """The files below some folders that a language reads, and files that are named themselves."""
    return recording.source_files(places, tuple(suffix for row in LANGUAGES.values() for suffix in row.suffixes))


def entries_of(file: Path, text: str) -> list[Entry]:
    """What a workload line of a file could call."""
    support = of_file(file)
    recorded = recording.entries_of(file, text) if support.id == "python" else []
    names = {entry.name for entry in recorded}
    others = (one for one in support.kernels(text) if support.id != "python" or one.language is Language.CUDA)
    return [*recorded, *recording.grouped(file, ((one, "function") for one in others if one.entry not in names))]


def launched_by(program: Path, text: str) -> list[Entry]:
    """What the launches of a program of CUDA C++ could be written above: each of its kernels."""
    return [
        Entry(str(program), one.name, (one.name,), "kernel", one.start_line, one.end_line)
        for one in of_file(program).kernels(text)
    ]


def lacks_workload(entry: Entry, text: str, support: LanguageSupport) -> bool:
    """Whether an entry of `text` has no workload. Not where a line is there and wrong: that is for a person to mend."""
    called = by_entry(support.workload_lines(text))
    return entry.name not in called and not isinstance(support.workload(text, entry.name), Workload)


def recorded(entry: Entry, answer: Inferred | Refusal | Failure) -> Recorded:
    """What came of an entry, in the form in which lines are written above it."""
    if isinstance(answer, Inferred):
        calls = tuple(line.partition(": ")[2] for line in answer.lines)
        refused = () if calls else answer.refused[:_MOST_REASONS]
        return Recorded(entry, calls, answer.tried, refused, answer.unreached if calls else ())
    reason = answer.reason if isinstance(answer, Refusal) else answer.message
    return Recorded(entry, (), 0, (reason.rstrip("."),))
