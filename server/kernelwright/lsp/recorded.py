"""What "record" in an editor does: which test or script it runs for which files, the run, and the edits that come of it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pygls.uris import from_fs_path

from kernelwright import callers, recording
from kernelwright.lsp import applying, jobs
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.proof.worker.sandbox.secrets import names, scrubbed
from kernelwright.recording import Entry, Recorded
from kernelwright.settings import Settings
from kernelwright.values import Refusal

_MOST_ASKED = 4  # files that a message can offer
_SHOWN = 100  # characters of a line of the run's output
_LAST_WORDS = 1.0  # seconds


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


@dataclass(frozen=True)
class Ran:
    """How a run ended: None for the status of one that the person stopped. `last`: of its output."""

    status: int | None
    last: str
    found: tuple[Recorded, ...]


async def planned(session: Session, snapshot: Snapshot, script: str | None) -> Plan | Refusal:
    """The run of `script`, or of the one that the person chooses, for the kernels of a document.

    For a document without a kernel it is the run of the document itself, for the kernels of all that it comes to.
    """
    root, file = session.root_of(snapshot.path), Path(snapshot.path).resolve()
    if _differs(snapshot):
        return Refusal(f"Save {file.name} first: what is run is the file as it lies on the disk.")
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
    if not entries:
        return [file]
    texts = {**callers.read_all(recording.python_files([root])), file: snapshot.text}
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


def _plan_of(root: Path, script: Path) -> Plan | Refusal:
    texts = callers.read_all({*recording.python_files([root]), script})
    if not callers.is_runnable(script, texts[script]):
        return Refusal(f"{script.name} has neither a kernel nor a test, and does nothing when it is run.")
    files = callers.reached(callers.imports(texts), script)
    entries = tuple(entry for file in files for entry in recording.entries_of(file, texts[file]))
    if not entries:
        return Refusal(f"No file of this workspace that {script.name} imports has a kernel.")
    return Plan(root, script, {Path(entry.file): texts[Path(entry.file)] for entry in entries}, entries)


async def run(settings: Settings, plan: Plan, report: jobs.Report, cancel: asyncio.Event) -> Ran | Refusal:
    """Run the plan's script once, until it ends or is cancelled; its environment has no secrets, as that of workers."""
    command = [settings.interpreter or sys.executable]
    command += ["-m", "pytest", "-q", str(plan.script)] if callers.is_test(plan.script) else [str(plan.script)]
    with recording.watch(plan.entries, scrubbed(os.environ, names(settings.keep_environment))) as watch:
        if watch.without_gpu:
            report("Without a GPU, in Triton's interpreter")
        try:
            process = await _started(command, watch.environment, plan.root)
        except OSError as error:
            why = f"{command[0]} cannot be started ({error.strerror})"
            return Refusal(f"{why}: set kernelwright.interpreter to your Python.")
        status, last = await _followed(process, report, cancel)
        return Ran(status, last, tuple(await asyncio.to_thread(watch.found)))


async def _started(command: Sequence[str], environment: Mapping[str, str], root: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


async def _followed(
    process: asyncio.subprocess.Process, report: jobs.Report, cancel: asyncio.Event
) -> tuple[int | None, str]:
    """The exit status, None where it was stopped, and the last line of the output, which is reported as it comes."""
    said = [""]

    async def listen() -> None:
        assert process.stdout is not None
        tail = b""
        while chunk := await process.stdout.read(4096):
            tail = (tail + chunk)[-4096:]
            lines = [line.strip() for line in tail.decode(errors="replace").splitlines() if line.strip()]
            said[0] = lines[-1][:_SHOWN] if lines else said[0]
            report(said[0])

    listening, stopped = asyncio.ensure_future(listen()), asyncio.ensure_future(cancel.wait())
    ended = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({listening}, timeout=0 if cancel.is_set() else _LAST_WORDS)  # a child may hold the pipe open
        return (ended.result() if ended.done() else None), said[0]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        listening.cancel()
        stopped.cancel()


async def write(session: Session, plan: Plan, found: Sequence[Recorded]) -> Refusal | None:
    """Put the lines above what they call, in all files at once; why not, where the editor or the files stand against it."""
    changed = []
    for file, text in plan.texts.items():
        edits = recording.edits_for(text, [one for one in found if one.entry.file == str(file)])
        if edits.edits:
            changed.append((_document(session, file, text), edits))
    if not changed:
        return Refusal("The files have these workload lines already.") if any(one.lines for one in found) else None
    return await applying.apply_to_all(session, changed, "Kernelwright: recorded workloads")


def _document(session: Session, file: Path, text: str) -> Snapshot:
    found = next((one for one in session.documents if Path(one.path).resolve() == file), None)
    if found is not None:
        return found
    crlf = b"\r\n" in file.read_bytes()
    return Snapshot(from_fs_path(str(file)) or "", str(file), "python", None, text, session.client.encoding, crlf)


def _differs(snapshot: Snapshot) -> bool:
    """Whether a file has been edited since it was saved."""
    try:
        return Path(snapshot.path).read_text(encoding="utf-8", errors="replace") != snapshot.text
    except OSError:
        return True


def told(ran: Ran | Refusal, name: str) -> str:
    """The sentence for a person: how many lines for how many kernels, or why there are none."""
    if isinstance(ran, Refusal):
        return ran.reason
    ended = "was stopped" if ran.status is None else f"ended with status {ran.status}" if ran.status else ""
    why = f" It {ended}{f': {ran.last}' if ran.status else ''}." if ended else ""
    lines = sum(len(one.lines) for one in ran.found)
    kernels = sum(len(one.entry.kernels) for one in ran.found if one.lines)
    if lines:
        return f"Recorded {_count(lines, 'workload line')} for {_count(kernels, 'kernel')} from {name}.{why}"
    refused = next((f" {one.entry.name} was called, but {one.refused[0]}." for one in ran.found if one.refused), "")
    return f"{name} called no kernel in a way that a workload line can say.{refused}{why}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
