"""Run a job for a person: progress in words, a cancel that reaches the worker, and an end when its text moves on."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from kernelwright.lsp.session import Running, Session
from kernelwright.lsp.snapshot import Snapshot
from kernelwright.values import Failure, FailureKind, Refusal, Step

_PATIENCE = 0.5  # seconds: a shorter job shows no progress

CANCELLED = "Cancelled; nothing was changed."

Report = Callable[[str], None]
Outdated = Callable[[Snapshot | None], str]
"""Says of the document as it is now, None for a closed one, why a job's result is of no use; "" while it is."""


@dataclass(frozen=True)
class MovedOn(Refusal):
    """The document was changed while the job ran, so that its result would have been of no use."""


class Progress:
    """Progress of one job. It appears when the job has lasted a while, or at once when the client gave a token.

    A client that shows no progress is told once that the job runs.
    """

    def __init__(self, session: Session, title: str, cancel: asyncio.Event, token: lsp.ProgressToken | None) -> None:
        self._session = session
        self._progress = session.server.work_done_progress
        self._title = title
        self._cancel = cancel
        self._token = token
        self._stage = ""
        self._shown = False
        self._appearing: asyncio.Task[None] | None = None

    def start(self, *, background: bool) -> None:
        if self._token is not None:
            self._begin(self._token)
        elif self._session.client.can("window.work_done_progress"):
            self._appearing = asyncio.get_running_loop().create_task(self._appear())
        elif not background:
            self._appearing = asyncio.get_running_loop().create_task(self._announce())

    def report(self, stage: str) -> None:
        self._stage = stage
        if self._shown and self._token is not None:
            self._progress.report(self._token, lsp.WorkDoneProgressReport(message=stage, cancellable=True))

    def end(self, message: str) -> None:
        if self._appearing is not None:
            self._appearing.cancel()
        if self._shown and self._token is not None:
            self._progress.end(self._token, lsp.WorkDoneProgressEnd(message=message))
            self._progress.tokens.pop(self._token, None)

    async def _appear(self) -> None:
        await asyncio.sleep(_PATIENCE)
        token = str(uuid.uuid4())
        try:
            await self._progress.create_async(token)
        except JsonRpcException:
            return  # the client wants no progress for now; the job goes on without
        self._token = token
        self._begin(token)

    async def _announce(self) -> None:
        await asyncio.sleep(_PATIENCE)
        self._session.client.tell(f"{self._title} is running; what comes of it is shown as a diagnostic or a message.")

    def _begin(self, token: lsp.ProgressToken) -> None:
        self._shown = True
        begin = lsp.WorkDoneProgressBegin(title=self._title, message=self._stage or None, cancellable=True)
        self._progress.begin(token, begin)
        loop = asyncio.get_running_loop()
        # The client's cancel notification cancels this future; the job polls the event.
        self._progress.tokens[token].add_done_callback(lambda _: loop.call_soon_threadsafe(self._cancel.set))


T = TypeVar("T")


async def run(
    session: Session,
    subject: tuple[str, str],
    title: str,
    job: Callable[[Report, asyncio.Event], Awaitable[T]],
    said: Callable[[T], str],
    token: lsp.ProgressToken | None = None,
    *,
    outdated: Outdated = lambda now: "",
    background: bool = False,
) -> T | Refusal:
    """The job's answer; `subject` is its document and kernel, which has one job at a time.

    `said` puts the answer into the words that end the progress. A job in the `background` is cancelled by one that a
    person asks for. When the document becomes `outdated`, the job is cancelled, and the answer is a MovedOn.
    """
    while (other := session.running.get(subject)) is not None:
        if background or not other.background:
            return Refusal(f"A job for {subject[1]} is running already; cancel it or wait for its end.")
        other.cancel.set()
        await other.ended.wait()
    running = Running(background)
    session.running[subject] = running
    watching = session.spawn(_watch(session, subject[0], outdated, running))
    progress = Progress(session, title, running.cancel, token)
    progress.start(background=background)
    message = "Stopped by an error; see the log."
    try:
        answer = await job(progress.report, running.cancel)
        if running.outdated.is_set() and is_cancelled(answer):
            moved = MovedOn(outdated(session.documents.get(subject[0])) or "The file was edited meanwhile.")
            message = moved.reason
            return moved
        message = said(answer)
        return answer
    except asyncio.CancelledError:
        message = CANCELLED
        raise
    finally:
        watching.cancel()
        del session.running[subject]
        running.ended.set()
        progress.end(message)
        session.notice()


def is_cancelled(answer: object) -> bool:
    failure = answer.failure if isinstance(answer, Step) else answer
    return isinstance(failure, Failure) and failure.kind is FailureKind.CANCELLED


async def _watch(session: Session, uri: str, outdated: Outdated, running: Running) -> None:
    await session.documents.wait_until(uri, outdated)
    running.outdated.set()
    running.cancel.set()
