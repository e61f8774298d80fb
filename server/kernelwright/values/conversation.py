"""What is said to a language model, what it answers, and what that took."""

from dataclasses import dataclass
from enum import StrEnum

from kernelwright.values.refusal import Refusal


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True)
class Message:
    role: Role
    text: str


Conversation = tuple[Message, ...]
"""What a model is asked to continue: a system message first, the last one a user's."""


@dataclass(frozen=True)
class Usage:
    """What asking language models took: calls, tokens, US dollars as far as prices are known, and seconds of waiting."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.dollars + other.dollars,
            self.seconds + other.seconds,
        )


NOTHING_SPENT = Usage()
ONE_CALL = Usage(calls=1)


@dataclass(frozen=True)
class Reply:
    """What a model answered. `model`: its name, as the provider says it."""

    text: str
    model: str
    usage: Usage = ONE_CALL


@dataclass(frozen=True)
class NoReply(Refusal):
    """Why a model did not answer. `usage`: what was spent all the same, as for an answer that was cut off."""

    usage: Usage = NOTHING_SPENT
