"""Workload lines from calls that really happen: a command is run once, and the kernels that it reaches are noted."""

import ast
import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.languages import LanguageSupport
from kernelwright.languages.kept import with_kept
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload.find import definitions
from kernelwright.source.workload.lines import by_entry, entry_of, few_of
from kernelwright.source.workload.signature import Parameters, signature_of
from kernelwright.values import Edits, KeptLines, Kernel, Language, TextEdit, digest

PROGRAM = "kernelwright.proof.worker.recording.program"
"""The module that runs a program of CUDA C++, whose path and arguments follow."""
SITE = Path(__file__).parent / "proof" / "worker" / "recording" / "site"
_SKIPPED = frozenset({"site-packages", "node_modules", "__pycache__", "build", "dist"})
_GPUS = ("/dev/nvidiactl", "/dev/kfd")


@dataclass(frozen=True)
class Entry:
    """What a workload line of a file would call, for which of its kernels. Lines count from 0, the last is not included."""

    file: str
    name: str
    kernels: tuple[str, ...]
    kind: str  # see proof/worker/recording/recorder.py
    start_line: int
    end_line: int


@dataclass(frozen=True)
class Recorded:
    """The calls of one entry. `lines`: without a comment sign, those to keep; `seen`: how many distinct ones there were.

    `refused`: why others cannot be written as a line, or do not run, each as a clause. `unreached`: kernels of the entry that
    the lines are known not to launch.
    """

    entry: Entry
    lines: tuple[str, ...]
    seen: int
    refused: tuple[str, ...]
    unreached: tuple[str, ...] = ()


def source_files(places: Iterable[Path], suffixes: tuple[str, ...] = (".py",)) -> list[Path]:
    """The files below some folders, and files that are named themselves, in order; hidden and installed ones are left out."""
    found: dict[Path, None] = {}
    for place in places:
        if place.is_file():
            found[place.resolve()] = None
            continue
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(
                f
                for f in folders
                if not f.startswith(".") and f not in _SKIPPED and not Path(folder, f, "pyvenv.cfg").exists()
            )
            # realpath, since resolve() raises for a ring of links
            found |= {
                Path(os.path.realpath(Path(folder, name))): None for name in sorted(names) if name.endswith(suffixes)
            }
    return list(found)


def entries_of(file: Path, text: str) -> list[Entry]:
    """What could be recorded in a Python file: the entries of its kernels, and the kernels that nothing there launches."""
    if "torch" not in text and "triton" not in text:
        return []
    return grouped(file, ((kernel, _kind(text, kernel)) for kernel in find_kernels(parse(text))))


def grouped(file: Path, kernels: Iterable[tuple[Kernel, str]]) -> list[Entry]:
    """The entries of kernels, each with its kind, in order of the text."""
    found: dict[tuple[str, str], list[Kernel]] = {}
    for kernel, kind in kernels:
        found.setdefault((kernel.entry or kernel.name, kind), []).append(kernel)
    return [
        Entry(str(file), name, tuple(kernel.name for kernel in kernels), kind, *_span(kernels[0]))
        for (name, kind), kernels in found.items()
    ]


def _kind(text: str, kernel: Kernel) -> str:
    if kernel.language is Language.TRITON and kernel.entry in (None, kernel.name):
        return "kernel"
    start = definitions(text).get(kernel.entry or kernel.name, (0, 0))[0]
    words = text[start:].split(maxsplit=1)
    return {"class": "class", "def": "function", "async": "function"}.get(words[0] if words else "", "alias")


def _span(kernel: Kernel) -> tuple[int, int]:
    if kernel.entry_start_line is None or kernel.entry_end_line is None:
        return kernel.start_line, kernel.end_line
    return kernel.entry_start_line, kernel.entry_end_line


@dataclass(frozen=True)
class Watch:
    """What a Python command is to be run with, so that its calls of `entries` are noted, and those of its child processes.

    `without_gpu`: the CPU stands in for a GPU, since none is to be seen here.
    """

    environment: Mapping[str, str]
    entries: tuple[Entry, ...]
    without_gpu: bool
    out: Path

    def found(self) -> list[Recorded]:
        """What has been noted by now; a command that was ended early counts as far as it came."""
        return _read(self.out, self.entries)


@contextlib.contextmanager
def watch(entries: Sequence[Entry], environment: Mapping[str, str]) -> Iterator[Watch]:
    """A Watch, whose notes are gone at the end."""
    without = runs_without_gpu(environment)
    with tempfile.TemporaryDirectory(prefix="kernelwright-record-") as folder:
        plan, out = Path(folder, "plan.json"), Path(folder, "calls")
        out.mkdir()
        watched = [(e.file, e.name, e.kind, e.start_line + 1, e.end_line) for e in entries]
        plan.write_text(json.dumps({"watched": watched, "out": str(out), "without_gpu": without}), encoding="utf-8")
        path = os.pathsep.join(filter(None, (str(SITE), environment.get("PYTHONPATH"))))
        interpreted = {"TRITON_INTERPRET": "1"} if without else {}
        asked = {**environment, **interpreted, "PYTHONPATH": path, "KERNELWRIGHT_RECORD": str(plan)}
        yield Watch(asked, tuple(entries), without, out)


def runs_without_gpu(environment: Mapping[str, str]) -> bool:
    """Whether a command would see no GPU here; not where it is told to compile its kernels all the same."""
    hidden = environment.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1")
    here = any(map(os.path.exists, _GPUS)) or shutil.which("nvidia-smi") is not None
    return (hidden or not here) and environment.get("TRITON_INTERPRET", "1") == "1"


def _read(folder: Path, entries: Sequence[Entry]) -> list[Recorded]:
    rows = [
        json.loads(line)
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    found: list[Recorded] = []
    for entry in entries:
        own = [row for row in rows if (row["file"], row["entry"]) == (entry.file, entry.name)]
        if not own:
            continue
        text = Path(entry.file).read_text(encoding="utf-8", errors="replace")
        lines = dict.fromkeys(_shortened(row["line"], text) for row in own if row["line"])
        refused = dict.fromkeys(row["refused"] for row in own if row["refused"])
        found.append(Recorded(entry, few_of(lines), len(lines), tuple(refused)))
    return found


def _shortened(line: str, text: str) -> str:
    """The line without arguments that are what the parameters default to; a launch of CUDA C++ as it is."""
    if "<<<" in line:
        return line
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call)
    named = call.func
    while not isinstance(named, ast.Name):
        named = named.func if isinstance(named, ast.Call) else named.value  # type: ignore[attr-defined]
    signature = signature_of(text, named.id)
    if signature is None or signature.call is None:
        return line
    dropped = _drop(call, signature.call)
    if isinstance(call.func, ast.Call) and signature.init is not None:
        dropped += _drop(call.func, signature.init)
    return ast.unparse(call) if dropped else line


def _drop(call: ast.Call, parameters: Parameters) -> int:
    """Drop the keywords, and the last positional arguments, that are the defaults; how many these are."""
    defaults = {parameter.arg: ast.unparse(default) for parameter, default in parameters.all() if default is not None}

    def usual(name: str | None, value: ast.expr) -> bool:
        return ast.unparse(value) == defaults.get(name or "", "").removeprefix("torch.")

    before = len(call.args) + len(call.keywords)
    call.keywords = [k for k in call.keywords if not usual(k.arg, k.value)]
    names = [parameter.arg for parameter in parameters.positional]
    while 0 < len(call.args) <= len(names) and usual(names[len(call.args) - 1], call.args[-1]):
        call.args.pop()
    return before - len(call.args) - len(call.keywords)


def lines_for(text: str, calls: Iterable[str], support: LanguageSupport = PYTHON) -> KeptLines:
    """Calls by entry, as the journal keeps them, but for entries that the text has lines of its own for, which win."""
    own, found = by_entry(support.workload_lines(text)), dict[str, tuple[str, ...]]()
    for call in dict.fromkeys(calls):
        if (entry := entry_of(call)) and entry not in own:
            found[entry] = (*found.get(entry, ()), call)
    return tuple(found.items())


def edits_of_kept(text: str, lines: KeptLines, support: LanguageSupport = PYTHON) -> Edits:
    """What the journal keeps, written above what it calls."""
    kernels = with_kept(support, lines).kernels(text)
    entries = grouped(Path(), ((kernel, "") for kernel in kernels))
    calls = dict(lines)
    found = [Recorded(one, calls[one.name], len(calls[one.name]), ()) for one in entries if one.name in calls]
    return edits_for(text, found, support)


def edits_for(text: str, recorded: Sequence[Recorded], support: LanguageSupport = PYTHON) -> Edits:
    """The lines above what they call, in one version of the file's text, but for those that it has already."""
    have = {case.text for case in support.workload_lines(text)}
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    newline = "\r\n" if "\r\n" in text else "\n"
    edits = []
    for one in sorted(recorded, key=lambda one: one.entry.start_line):
        new = [f"{support.workload_sign}{line}{newline}" for line in one.lines if line not in have]
        if new:
            offset = starts[one.entry.start_line]
            edits.append(TextEdit(offset, offset, "".join(new)))
    return Edits(digest(text), tuple(edits))
