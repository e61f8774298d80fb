"""How a command ends: the answer as data for clients, and words for the person where nothing else shows them."""

import asyncio
from collections.abc import Awaitable, Callable

from lsprotocol.types import MessageType

from kernelwright import words
from kernelwright.lsp.jobs import CANCELLED
from kernelwright.lsp.session import Session
from kernelwright.values import Failure, FailureKind, Refusal
from kernelwright.wire import Json, encode

_AGAIN = "Run again"


async def offered_again(session: Session, moved: Refusal, what: str, again: Callable[[], Awaitable[Json]]) -> Json:
    """Ask the person, after the text has moved on, whether to run `what` again on the text as it is now."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    if await session.client.ask(f"{moved.reason} Run {what} again on the text as it is now?", _AGAIN) == _AGAIN:
        return await again()
    return encode(Failure(FailureKind.CANCELLED, moved.reason))  # the person has been told, and does not want it


def declined(session: Session, answer: Refusal | Failure) -> Json:
    """Says why nothing came of it. A cancelled job needs no words: the person asked for that."""
    message = sentence(answer)
    if isinstance(answer, Refusal):
        session.client.tell(message, MessageType.Info)
    elif answer.kind is not FailureKind.CANCELLED:
        session.client.tell(message, MessageType.Warning)
        if answer.detail:
            session.client.log(answer.detail)
    return encode(answer)


def sentence(answer: Refusal | Failure) -> str:
    if isinstance(answer, Refusal):
        return answer.reason
    return CANCELLED if answer.kind is FailureKind.CANCELLED else words.of_failure(answer)
