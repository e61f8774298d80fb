"""`kernelwright.autopilot`: step after step, each its own undo, until the engine stops or the person does."""

import asyncio

from lsprotocol.types import ExecuteCommandParams, MessageType

from kernelwright.lsp import jobs
from kernelwright.lsp.commands import optimizing
from kernelwright.lsp.commands.answers import declined, sentence
from kernelwright.lsp.commands.arguments import Subject, arguments, subject
from kernelwright.lsp.session import Session
from kernelwright.values import Failure, FailureKind, Outcome, Refusal, Step, apply
from kernelwright.wire import Json, encode

_ARRIVAL = 5.0  # seconds for an applied edit to come back as a change of the document


async def autopilot(session: Session, params: ExecuteCommandParams) -> Json:
    """All Steps taken, in order."""
    asked = arguments(params)
    found = asked if isinstance(asked, Refusal) else subject(session, asked)
    if isinstance(found, Refusal):
        return declined(session, found)
    taken = await jobs.run(
        session,
        found.key,
        f"Optimize {found.kernel.name}: autopilot",
        lambda report, cancel: _steps(session, found, report, cancel),
        lambda answer: _told(answer)[0],
        params.work_done_token,
    )
    if isinstance(taken, Refusal):
        return declined(session, taken)
    message, kind = _told(taken)
    session.client.tell(message, kind)
    return [encode(answer) for answer in taken if isinstance(answer, Step)]


async def _steps(
    session: Session, found: Subject, report: jobs.Report, cancel: asyncio.Event
) -> tuple[Step | Refusal | Failure, ...]:
    from kernelwright.engine import Request

    snapshot = found.snapshot
    request = Request(snapshot.path, snapshot.text, found.kernel.name)
    taken: list[Step | Refusal | Failure] = []
    async for answer in session.engine(snapshot.path).autopilot(request, report, cancel):
        taken.append(answer)
        if not isinstance(answer, Step):
            continue
        refused = await optimizing.show(session, snapshot, answer)
        if refused is None and answer.outcome is Outcome.KEPT and answer.edits is not None:
            after = apply(answer.edits, snapshot.text)
            arrived = await session.documents.wait_for_text(snapshot.uri, answer.after_hash, _ARRIVAL)
            snapshot = arrived or snapshot.replaced(after)
        if refused is not None:
            cancel.set()
            return (
                *taken,
                Refusal(f"{refused.reason} The autopilot stopped; start it again on the text as it is now."),
            )
    return tuple(taken)


def _told(taken: tuple[Step | Refusal | Failure, ...]) -> tuple[str, MessageType]:
    steps = [answer for answer in taken if isinstance(answer, Step)]
    kept = [step for step in steps if step.outcome is Outcome.KEPT]
    count = f"{len(kept)} of {len(steps)} steps kept." if steps else ""
    last = optimizing.told(kept[-1]) + "." if kept else ""
    ended = sentence(taken[-1]) if taken and not isinstance(taken[-1], Step) else ""
    failed = taken and isinstance(taken[-1], Failure) and taken[-1].kind is not FailureKind.CANCELLED
    said = " ".join(part for part in (count, last, ended) if part)
    return said or "Nothing was done.", MessageType.Warning if failed else MessageType.Info
