"""An HTTP server on loopback that speaks OpenAI's chat completions: it answers as scripted and keeps what it was asked.

    with OpenAIServer([Says("Hello."), Fails(429, retry_after=1)]) as server:
        Hosted("openai/some-model", base_url=server.url, key=lambda: "a key")

It runs in a thread, so any process may ask it while the test waits. Once all scripted answers are used up, it refuses.
"""

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "served-model"
_LONGEST = 60.0  # seconds after which an answer without an end is given up


@dataclass(frozen=True)
class Says:
    """The whole answer. `tokens`: in and out, as the server counts them; None: it does not count."""

    text: str
    tokens: tuple[int, int] | None = (11, 7)
    thought: str = ""
    finish: str = "stop"
    piece: int = 5  # characters in each part of a stream
    pause: float = 0.0  # seconds after each part


@dataclass(frozen=True)
class Fails:
    """An error status and its message, in which {key} stands for the key that was sent."""

    status: int
    message: str = "something is wrong"
    code: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True)
class Cuts:
    """The beginning of an answer. Then the connection ends: broken off, or as if all had been said (`politely`)."""

    text: str
    politely: bool = False


@dataclass(frozen=True)
class Writes:
    """An answer without an end: numbered words, or the same `word` again and again."""

    pause: float = 0.01
    word: str = ""


@dataclass(frozen=True)
class IsSilent:
    """Takes the request and says nothing."""


Answer = Says | Fails | Cuts | Writes | IsSilent


@dataclass(eq=False)
class Asked:
    """A request, and what became of it."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    at: float = field(default_factory=time.monotonic)
    written: int = 0
    """The parts of a stream that were sent."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set when the client closed the connection before the answer was over."""
    left_at: float = 0.0

    @property
    def key(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def texts(self) -> list[str]:
        """What the messages say."""
        return [message["content"] for message in self.body["messages"]]


class Left(Exception):
    """The client has closed the connection."""


class OpenAIServer:
    """Use as a context manager. `answers`: one for each request in the order of their arrival, or a function that finds it."""

    def __init__(self, answers: Iterable[Answer] | Callable[[Asked], Answer]) -> None:
        self._answers: Iterator[Answer] | Callable[[Asked], Answer]
        self._lock = threading.Lock()
        self.will(answers)
        self._closing = threading.Event()
        self._http = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": self}))

    def will(self, answers: Iterable[Answer] | Callable[[Asked], Answer]) -> None:
        """Answer so from now on, as if nothing had been asked before."""
        with self._lock:
            self.asked: list[Asked] = []
            self._answers = answers if callable(answers) else iter(answers)

    @property
    def url(self) -> str:
        """The base URL, as clients of the protocol want it."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> "OpenAIServer":
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            if callable(self._answers):
                return self._answers(asked)
            return next(self._answers, Fails(400, "There is no further scripted answer."))

    def rest(self, asked: Asked, connection: socket.socket, seconds: float) -> None:
        """Wait, unless the client leaves meanwhile. Raises Left, also when this server closes."""
        end = time.monotonic() + seconds
        while True:
            readable, _, _ = select.select([connection], [], [], max(0.0, min(0.05, end - time.monotonic())))
            if readable and connection.recv(1, socket.MSG_PEEK) == b"":
                raise Left
            if self._closing.is_set() or time.monotonic() - asked.at > _LONGEST:
                raise Left
            if time.monotonic() >= end:
                return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that has left is part of the script


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    scripted: OpenAIServer

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(body, {name.lower(): value for name, value in self.headers.items()})
        answer = self.scripted.answer(asked)
        if self.path != "/v1/chat/completions":
            answer = Fails(404, f"There is no {self.path}.")
        try:
            match answer:
                case Fails():
                    self._fail(asked, answer)
                case IsSilent():
                    self.scripted.rest(asked, self.connection, _LONGEST)
                case Says() if not body.get("stream"):
                    self._whole(answer)
                case _:
                    self._stream(asked, answer)
        except (Left, OSError):
            asked.left_at = time.monotonic()
            asked.left.set()
            self.close_connection = True

    def _fail(self, asked: Asked, answer: Fails) -> None:
        message = answer.message.replace("{key}", asked.key)
        error = {"message": message, "type": "error", "param": None, "code": answer.code}
        after = {} if answer.retry_after is None else {"Retry-After": f"{answer.retry_after:g}"}
        self._json(answer.status, {"error": error}, after)

    def _whole(self, answer: Says) -> None:
        message = {"role": "assistant", "content": answer.text, **_thought(answer.thought)}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish}
        self._json(200, {**_head("chat.completion"), "choices": [choice], "usage": _usage(answer.tokens)}, {})

    def _json(self, status: int, data: object, headers: Mapping[str, str]) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, asked: Asked, answer: Says | Cuts | Writes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event({**_head(), "choices": [_choice({"role": "assistant", "content": ""})]})
        for thought, text, pause in _parts(answer):
            self._event({**_head(), "choices": [_choice({"content": text, **_thought(thought)})]})
            asked.written += 1
            self.scripted.rest(asked, self.connection, pause)
        match answer:
            case Says():
                self._event({**_head(), "choices": [_choice({}, answer.finish)]})
                if answer.tokens and asked.body.get("stream_options", {}).get("include_usage"):
                    self._event({**_head(), "choices": [], "usage": _usage(answer.tokens)})
                self._chunk(b"data: [DONE]\n\n")
                self._chunk(b"")
            case Cuts(politely=True):
                self._chunk(b"")
            case Cuts():
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

    def _event(self, data: object) -> None:
        self._chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))


def _parts(answer: Says | Cuts | Writes) -> Iterator[tuple[str, str, float]]:
    """Of each part of a stream: what is thought in it, what is said, and the seconds to wait after it."""
    match answer:
        case Says(text=text, thought=thought, piece=piece, pause=pause):
            yield from ((thought[at : at + piece], "", pause) for at in range(0, len(thought), piece))
            yield from (("", text[at : at + piece], pause) for at in range(0, len(text), piece))
        case Cuts(text=text):
            yield "", text, 0.0
        case Writes(pause=pause, word=word):
            number = 0
            while True:
                number += 1
                yield "", word or f"word {number} ", pause


def _head(kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": MODEL}


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}


def _thought(text: str) -> dict[str, str]:
    return {"reasoning_content": text} if text else {}


def _usage(tokens: tuple[int, int] | None) -> dict[str, int] | None:
    return tokens and {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
