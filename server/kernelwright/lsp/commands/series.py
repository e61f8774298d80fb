"""Step after step, each its own undo, until the engine stops or the person does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol.types import ExecuteCommandParams, MessageType

from kernelwright.lsp import applying, jobs
from kernelwright.lsp.commands import optimizing
from kernelwright.lsp.commands.answers import declined, sentence
from kernelwright.lsp.commands.arguments import Subject, arguments, whole
from kernelwright.lsp.session import Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Failure, FailureKind, Outcome, Refusal, Step, apply
from kernelwright.wire import Json, encode

if TYPE_CHECKING:
    from kernelwright.engine import Engine, Request

    StepsOf = Callable[[Engine, Request, jobs.Report, asyncio.Event], AsyncIterator[Step | Refusal | Failure]]

_ARRIVAL = 5.0  # seconds for an applied edit to come back as a change of the document


async def take(session: Session, params: ExecuteCommandParams, name: str, steps_of: "StepsOf") -> Json:
    """All Steps taken, in order, of those that `steps_of` makes; `name` is what the series is called."""
    found = await whole(session, arguments(params))
    if isinstance(found, Refusal):
        return declined(session, found)
    flight = _Flight(session, found.snapshot)
    taken = await jobs.run(
        session,
        found.key,
        f"Optimize {found.kernel.name}: {name}",
        lambda report, cancel: _steps(session, found, flight, name, steps_of, report, cancel),
        lambda answer: _told(answer)[0],
        params.work_done_token,
        outdated=flight.outdated,
    )
    if isinstance(taken, Refusal):
        return declined(session, taken)
    message, kind = _told(taken)
    session.client.tell(message, kind)
    return [encode(answer) for answer in taken if isinstance(answer, Step)]


@dataclass
class _Flight:
    """The text that the next step is worked out for. While the last one is `landing`, the document changes by itself."""

    session: Session
    snapshot: Snapshot
    landing: bool = False

    def outdated(self, now: Snapshot | None) -> str:
        return "" if self.landing else applying.moved_on(self.session, self.snapshot, now)


async def _steps(
    session: Session,
    found: Subject,
    flight: _Flight,
    name: str,
    steps_of: "StepsOf",
    report: jobs.Report,
    cancel: asyncio.Event,
) -> tuple[Step | Refusal | Failure, ...]:
    from kernelwright.engine import Request

    uri = flight.snapshot.uri
    snapshot = flight.snapshot
    request = Request(snapshot.path, snapshot.text, found.kernel.name, support=snapshot.support)
    taken: list[Step | Refusal | Failure] = []
    async for answer in steps_of(session.engine(request.path), request, report, cancel):
        taken.append(answer)
        moved = ""
        if isinstance(answer, Step) and not jobs.is_cancelled(answer):
            flight.landing = True
            refused = await optimizing.show(session, flight.snapshot, answer)
            if refused is None and answer.outcome is Outcome.KEPT and answer.edits is not None:
                after = flight.snapshot.replaced(apply(answer.edits, flight.snapshot.text))
                flight.snapshot = await applying.arrived(session, after, _ARRIVAL)
            flight.landing = False
            moved = refused.reason if refused else ""
        if moved := moved or flight.outdated(session.documents.get(uri)):
            cancel.set()
            return *taken, Refusal(f"{moved} The {name} stopped; start it again on the text as it is now.")
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise asyncio.CancelledError  # while the editor made the edit
    return tuple(taken)


def _told(taken: tuple[Step | Refusal | Failure, ...]) -> tuple[str, MessageType]:
    steps = [answer for answer in taken if isinstance(answer, Step)]
    kept = [step for step in steps if step.outcome is Outcome.KEPT]
    count = f"{len(kept)} of {len(steps)} steps kept." if steps else ""
    last = optimizing.told(kept[-1]) + "." if kept else ""
    ended = " ".join(sentence(answer) for answer in taken if not isinstance(answer, Step))
    failed = taken and isinstance(taken[-1], Failure) and taken[-1].kind is not FailureKind.CANCELLED
    said = " ".join(part for part in (count, last, ended) if part)
    return said or "Nothing was done.", MessageType.Warning if failed else MessageType.Info
