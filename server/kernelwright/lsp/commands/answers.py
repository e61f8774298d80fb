"""How a command ends: the answer as data for clients, and words for the person where nothing else shows them."""

from lsprotocol.types import MessageType

from kernelwright import words
from kernelwright.lsp.session import Session
from kernelwright.values import Failure, FailureKind, Refusal
from kernelwright.wire import Json, encode


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
    return "Cancelled; nothing was changed." if answer.kind is FailureKind.CANCELLED else words.of_failure(answer)
