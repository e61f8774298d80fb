"""A private socket between judge and host: lengths, bodies, and now and then a file descriptor."""

import array
import json
import pickle
import socket
import time

from kernelwright.proof.worker.frames import HEADER, BadFrame, body_length
from kernelwright.proof.worker.hosts.messages import Reply, Request
from kernelwright.wire import NotDecodable, decode, encode

_MAGIC = b"KWH1"
_LARGEST = 64 << 20  # bytes of one message; tensors do not travel here
_BODY_LIMIT = 10.0  # seconds from a message's header to its end; each is written in one go
_ONE_DESCRIPTOR = socket.CMSG_SPACE(array.array("i").itemsize)


class Ended(Exception):
    """The other side is gone."""


class TooSlow(Exception):
    """No answer in time."""


def send_request(pipe: socket.socket, request: Request, descriptor: int | None = None) -> None:
    """Raises Ended, and what pickling raises for an argument that cannot leave the process."""
    _send(pipe, pickle.dumps(request), descriptor)


def receive_request(pipe: socket.socket) -> tuple[Request, int | None] | None:
    """The next request and the descriptor that came with it; None when the judge has closed."""
    try:
        body, descriptor = _receive(pipe)
    except Ended:
        return None
    return pickle.loads(body), descriptor


def send_reply(pipe: socket.socket, reply: Reply) -> None:
    _send(pipe, json.dumps(encode(reply)).encode(), None)


def receive_reply(pipe: socket.socket, seconds: float) -> Reply:
    """Raises Ended, BadFrame or TooSlow (after `seconds` for the whole reply)."""
    body, _ = _receive(pipe, time.monotonic() + seconds)
    try:
        return decode(Reply, json.loads(body))
    except (ValueError, NotDecodable, TypeError, KeyError, RecursionError) as error:
        raise BadFrame(f"{type(error).__name__}: {str(error)[:200]}") from error


def _send(pipe: socket.socket, body: bytes, descriptor: int | None) -> None:
    try:
        if descriptor is None:
            pipe.sendall(HEADER.pack(_MAGIC, len(body)) + body)
        else:
            socket.send_fds(pipe, [HEADER.pack(_MAGIC, len(body))], [descriptor])
            pipe.sendall(body)
    except OSError as error:
        raise Ended(str(error)) from error


def _receive(pipe: socket.socket, deadline: float | None = None) -> tuple[bytes, int | None]:
    header, descriptor = _exactly(pipe, HEADER.size, deadline)
    length = body_length(header, _MAGIC, _LARGEST)
    if deadline is not None:
        deadline = min(deadline, time.monotonic() + _BODY_LIMIT)
    try:
        body, _ = _exactly(pipe, length, deadline)
    except TooSlow:
        raise BadFrame("a message that does not end") from None
    return body, descriptor


def _exactly(pipe: socket.socket, count: int, deadline: float | None) -> tuple[bytes, int | None]:
    parts: list[bytes] = []
    descriptor: int | None = None
    while count:
        try:
            if deadline is not None:
                pipe.settimeout(max(deadline - time.monotonic(), 1e-3))
            part, ancillary, _, _ = pipe.recvmsg(min(count, 1 << 20), _ONE_DESCRIPTOR)
        except TimeoutError as error:
            raise TooSlow from error
        except OSError as error:
            raise Ended(str(error)) from error
        if not part:
            raise Ended
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptor = array.array("i", data[: array.array("i").itemsize])[0]
        parts.append(part)
        count -= len(part)
    return b"".join(parts), descriptor
