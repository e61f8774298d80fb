"""What travels on the private pipe: a length, then JSON of one of these values. Standard library only, both ends."""

import json
import struct
from dataclasses import dataclass

from kernelwright.proof.jobs import Answer, Job
from kernelwright.values.plain import plain_json
from kernelwright.wire import NotDecodable, decode, encode

HEADER = struct.Struct(">4sI")
MAGIC = b"KWF1"
LARGEST = 32 << 20  # bytes of one frame: what the server can parse without anybody noticing


class BadFrame(Exception):
    """The bytes on the pipe are not a frame: somebody else wrote there."""


@dataclass(frozen=True)
class Hello:
    """The interpreter runs the worker; torch is imported next."""


@dataclass(frozen=True)
class Ready:
    """The worker takes jobs. `gpu` says whether it saw a GPU, for which it has prepared itself."""

    gpu: bool = False


@dataclass(frozen=True)
class TooOld:
    """The interpreter started, but its version cannot run the worker."""

    python: str


@dataclass(frozen=True)
class Request:
    id: int
    job: Job


@dataclass(frozen=True)
class Stage:
    """What the job with this id is doing now, in words."""

    id: int
    words: str


@dataclass(frozen=True)
class Reply:
    """The answer of the job with this id. `spent`: this process must not be used again."""

    id: int
    answer: Answer
    spent: bool = False


@dataclass(frozen=True)
class Ping:
    """Does the worker still listen? Sent before a job to one that has waited."""

    id: int


@dataclass(frozen=True)
class Pong:
    """The worker takes jobs: the answer to the Ping with this id."""

    id: int


Frame = Hello | Ready | TooOld | Request | Stage | Reply | Ping | Pong


def pack(frame: Frame) -> bytes:
    """The frame as bytes."""
    body = json.dumps(encode(frame), ensure_ascii=True, separators=(",", ":")).encode()
    return HEADER.pack(MAGIC, len(body)) + body


def body_length(header: bytes, magic: bytes = MAGIC, largest: int = LARGEST) -> int:
    """How many bytes follow this header. Raises BadFrame."""
    found, length = HEADER.unpack(header)
    if found != magic or length > largest:
        raise BadFrame(f"the header {header!r} is not ours")
    return length


def unpack(body: bytes, *, untrusted: bool = False) -> Frame:
    """The frame in `body`; of an `untrusted` one, which a worker has sent, all words are made plain. Raises BadFrame."""
    try:
        data = json.loads(body)
        return decode(Frame, plain_json(data) if untrusted else data)
    except (ValueError, NotDecodable, TypeError, KeyError, RecursionError) as error:
        raise BadFrame(f"{type(error).__name__}: {str(error)[:300]}") from error
