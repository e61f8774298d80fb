"""What the server and the process that asks hosted models say to each other: one JSON object a line."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernelwright import wire
from kernelwright.values import Conversation, Usage

LONGEST = 4 << 20
"""Bytes of a line. A longer one is not sent, and ends the process that sends it."""


@dataclass(frozen=True)
class Start:
    """The first line: the variables that were kept from the environment of the process, because they are secrets."""

    variables: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class Ask:
    """One request. `base_url`: empty for the provider's own address. `key`: empty for that of the environment."""

    id: int
    model: str
    base_url: str
    key: str = field(repr=False)
    temperature: float | None
    messages: Conversation = field(repr=False)
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Cancel:
    id: int


@dataclass(frozen=True)
class Ready:
    """The process takes requests."""


@dataclass(frozen=True)
class Missing:
    """A module that the process needs is not installed there."""

    module: str


@dataclass(frozen=True)
class Progress:
    """How many characters the model has written, and how many it has thought before that."""

    id: int
    written: int
    thought: int


@dataclass(frozen=True)
class Waiting:
    """The request is sent again after `seconds`."""

    id: int
    seconds: float
    why: "Cause"


@dataclass(frozen=True)
class Answered:
    id: int
    text: str
    model: str
    usage: Usage


class Cause(StrEnum):
    """Why there is no answer."""

    KEY = "key"
    NO_PROVIDER = "no provider"
    UNKNOWN_MODEL = "unknown model"
    TOO_LONG = "too long"
    RATE_LIMIT = "rate limit"
    SERVER = "server"
    UNREACHABLE = "unreachable"
    TIME = "time"
    CUT = "cut"
    TOKENS = "tokens"
    ENDLESS = "endless"
    REFUSED = "refused"
    EMPTY = "empty"
    CANCELLED = "cancelled"
    OTHER = "other"


@dataclass(frozen=True)
class Failed:
    """`status`: of the HTTP answer, 0 where there was none. `words`: what the provider says. `variables`: where litellm
    looks for a key."""

    id: int
    cause: Cause
    usage: Usage
    status: int = 0
    words: str = ""
    variables: tuple[str, ...] = ()


FromServer = Start | Ask | Cancel
FromProcess = Ready | Missing | Progress | Waiting | Answered | Failed


def line(message: FromServer) -> bytes:
    return json.dumps(wire.encode(message)).encode("ascii") + b"\n"


def read(text: bytes) -> FromProcess:
    """The message of a line. Raises ValueError for anything else."""
    message: FromProcess = wire.decode(FromProcess, json.loads(text))
    return message
