"""`kernelwright.history` and `kernelwright.doctor`: what was tried, and what of the toolchain is here."""

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol.types import ExecuteCommandParams

from kernelwright import words
from kernelwright.lsp import jobs
from kernelwright.lsp.commands.answers import declined
from kernelwright.lsp.commands.arguments import Arguments, arguments
from kernelwright.lsp.commands.optimizing import told
from kernelwright.lsp.session import Session
from kernelwright.values import Refusal, Step
from kernelwright.wire import Json, encode, encode_object

if TYPE_CHECKING:
    from kernelwright.engine import Engine


async def history(session: Session, params: ExecuteCommandParams) -> Json:
    """The Steps of a file, or of one of its kernels, in order; each with `sentence`, the line that a person reads.

    `measured` says whether its number may be said; with `texts` it has the file `before` and `after` it as well.
    """
    asked = arguments(params)
    if isinstance(asked, Refusal):
        return declined(session, asked)
    snapshot = session.documents.get(asked.uri)
    if snapshot is None:
        return declined(session, Refusal(f"{asked.uri} is not open in the editor; open it first."))
    engine = session.engine(snapshot.path)
    steps = [step for step in engine.history(snapshot.path, asked.kernel) if step.id not in session.offered]
    if not asked.quiet:
        lines = [f"{number}. {step.kernel}: {told(step)}" for number, step in enumerate(steps, 1)]
        session.client.tell("\n".join(lines) or "Nothing has been tried on this file yet.")
    return [_entry(engine, step, texts=asked.texts) for step in steps]


def _entry(engine: "Engine", step: Step, *, texts: bool) -> dict[str, Json]:
    said: dict[str, Json] = {"sentence": told(step), "measured": words.measured(step.verdict, step.measurement)}
    return {**encode_object(step), **said, **(_texts(engine, step) if texts else {})}


def _texts(engine: "Engine", step: Step) -> dict[str, Json]:
    """The file before and after a step, None where the journal no longer has it: edits alone do not say what they replaced."""
    return {"before": engine.journal.text(step.before_hash), "after": engine.journal.text(step.after_hash)}


async def doctor(session: Session, params: ExecuteCommandParams) -> Json:
    """One line each for the interpreter, its packages, the device, the tools and the journal."""
    from kernelwright.doctor import examine

    asked = arguments(params) if params.arguments else Arguments("")
    if isinstance(asked, Refusal):
        return declined(session, asked)
    snapshot = session.documents.get(asked.uri)
    root = session.root_of(snapshot.path if snapshot else str(Path.cwd() / "file"))
    engine = session.engine(str(root / "file"))
    lines = await jobs.run(
        session,
        (asked.uri, "the doctor"),
        "Looking at the toolchain",
        lambda report, cancel: examine(engine.workers, root),
        lambda answer: "",
        params.work_done_token,
    )
    if isinstance(lines, Refusal):
        return declined(session, lines)
    said = [f"{line.name}: {line.detail if line.found else f'missing. {line.remedy}'}" for line in lines]
    if not asked.quiet:
        session.client.tell("\n".join(said))
    return [encode(line) for line in lines]
