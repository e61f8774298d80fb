"""What "record" in an editor does: which test or script it runs for which files, and the edits that come of it."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright import callers, recording
from kernelwright.entries import launched_by
from kernelwright.languages import of_file
from kernelwright.lsp import applying, kept
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.recording import Entry, Recorded
from kernelwright.values import Refusal

CUDA = "cuda-cpp"
_MOST_ASKED = 4  # files that a message can offer


@dataclass(frozen=True)
class Plan:
    """What to run, and the files whose entries are looked for."""

    root: Path
    script: Path
    texts: Mapping[Path, str]
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        return os.path.relpath(self.script, self.root)


async def planned(session: Session, snapshot: Snapshot, script: str | None) -> Plan | Refusal:
    """The run of `script`, or of the one that the person chooses, for the kernels of a document.

    For a document without a kernel it is the run of the document itself, for the kernels of all that it comes to.
    """
    root, file = session.root_of(snapshot.path), Path(snapshot.path).resolve()
    if _differs(snapshot):
        return Refusal(f"Save {file.name} first: what is run is the file as it lies on the disk.")
    if snapshot.support.id == CUDA:
        return _plan_of_program(root, file, snapshot.text)
    own = tuple(recording.entries_of(file, snapshot.text))
    if not own:
        return await asyncio.to_thread(_plan_of, root, file)
    chosen = Path(script) if script else await _chosen(session, root, snapshot)
    if isinstance(chosen, Refusal):
        return chosen
    if not chosen.is_file():
        return Refusal(f"{chosen} does not exist; choose another test or script.")
    return Plan(root, chosen, {file: snapshot.text}, own)


async def callers_of(session: Session, snapshot: Snapshot) -> list[Path]:
    """The tests and scripts that come to a document, the likeliest first; itself where it has no kernel."""
    return await asyncio.to_thread(_callers_of, session.root_of(snapshot.path), snapshot)


def _callers_of(root: Path, snapshot: Snapshot) -> list[Path]:
    file = Path(snapshot.path).resolve()
    entries = recording.entries_of(file, snapshot.text)
    if not entries or snapshot.support.id == CUDA:
        return [file]
    texts = {**callers.read_all(recording.source_files([root])), file: snapshot.text}
    written = {name for entry in entries for name in (entry.name, *entry.kernels)}
    return callers.callers(texts, callers.imports(texts), file, written)


async def _chosen(session: Session, root: Path, snapshot: Snapshot) -> Path | Refusal:
    found = await callers_of(session, snapshot)
    name = Path(snapshot.path).name
    if not found:
        said = f"No test or script below {root} imports {name}"
        return Refusal(
            f"{said}; write a workload line, or run `kernelwright record -- COMMAND` with a command of yours."
        )
    if len(found) == 1:
        return found[0]
    named = {os.path.relpath(one, root): one for one in found[:_MOST_ASKED]}
    question = f"Which of these is to be run once, to record how it calls the kernels of {name}?"
    answer = await session.client.ask(question, *named)
    return named[answer] if answer else Refusal("Nothing was run.")


def _plan_of_program(root: Path, file: Path, text: str) -> Plan | Refusal:
    if not callers.is_program(file, text):
        return Refusal(f"{file.name} has no main function that could be run; have a workload line guessed instead.")
    own = tuple(launched_by(file, text))
    return Plan(root, file, {file: text}, own) if own else Refusal(f"{file.name} has no kernel.")


def _plan_of(root: Path, script: Path) -> Plan | Refusal:
    texts = callers.read_all({*recording.source_files([root]), script})
    if not callers.is_runnable(script, texts[script]):
        return Refusal(f"{script.name} has neither a kernel nor a test, and does nothing when it is run.")
    files = callers.reached(callers.imports(texts), script)
    entries = tuple(entry for file in files for entry in recording.entries_of(file, texts[file]))
    if not entries:
        return Refusal(f"No file of this workspace that {script.name} imports has a kernel.")
    return Plan(root, script, {Path(entry.file): texts[Path(entry.file)] for entry in entries}, entries)


async def write(session: Session, plan: Plan, found: Sequence[Recorded]) -> Refusal | None:
    """Put the lines above what they call, in all files at once, or into the journal, as the settings say; why not, where the
    editor or the files stand against it.
    """
    if session.settings.recorded_workloads == "journal" and any(one.lines for one in found):
        return kept.keep(
            session, [(session.document(file, text), _calls(found, file)) for file, text in plan.texts.items()]
        )
    changed = []
    for file, text in plan.texts.items():
        edits = recording.edits_for(text, [one for one in found if one.entry.file == str(file)], of_file(file))
        if edits.edits:
            changed.append((session.document(file, text), edits))
    if not changed:
        return Refusal("The files have these workload lines already.") if any(one.lines for one in found) else None
    return await applying.apply_to_all(session, changed, "Kernelwright: recorded workloads")


def _calls(found: Sequence[Recorded], file: Path) -> list[str]:
    return [line for one in found if one.entry.file == str(file) for line in one.lines]


def _differs(snapshot: Snapshot) -> bool:
    """Whether a file has been edited since it was saved."""
    try:
        return Path(snapshot.path).read_text(encoding="utf-8", errors="replace") != snapshot.text
    except OSError:
        return True
