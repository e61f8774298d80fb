"""A process that asks hosted models by way of litellm; run as a script, so that any Python that has litellm can do it.

It reads the messages of `messages.py` from a socket and writes its own there. What libraries print goes elsewhere.
"""

import asyncio
import contextlib
import ctypes
import email.utils
import json
import math
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

try:
    import httpx
    import litellm
except ModuleNotFoundError as error:
    os.write(int(sys.argv[1]), json.dumps({"$": "Missing", "module": error.name}).encode("ascii") + b"\n")
    sys.exit(1)

Message = dict[str, Any]

_LONGEST = 4 << 20  # bytes of a line
_PAUSES = (0.5, 2.0)  # seconds before a request is sent again, unless the server says how long; each once
_PROGRESS = 0.25  # seconds between two messages about one answer
_CLOSING = 0.5  # seconds for a connection to close
_TOKEN = 4  # characters of a token where nobody counts them
_LONG_TOKEN = 8  # what has more characters than tokens of this length could give has no end
_MOST_CHARACTERS = 300_000  # fits into a line, however it is escaped
_WORDS = 300  # characters of what a provider says about a failure
_SECRET = 8  # characters: what is shorter is not looked for in such words

_PREFIX = re.compile(r"^([\w.]+(Error|Exception|Timeout)\b(:| -) *)+")  # "litellm.RateLimitError: OpenAIException - "
_REPEATING = "repeating the same chunk"  # litellm ends such a stream by an error of its own

_CLASSES = (
    (litellm.ContextWindowExceededError, "too long"),
    (litellm.ContentPolicyViolationError, "refused"),
    (litellm.Timeout, "time"),
)
_STATUSES = {401: "key", 403: "key", 404: "unknown model", 408: "time", 413: "too long", 429: "rate limit"}
_AGAIN = ("rate limit", "server", "unreachable")
_FINISHES = {"length": "tokens", "content_filter": "refused", "": "cut"}
_NO_PRICE = (litellm.exceptions.ModelNotMappedError, litellm.BadRequestError, LookupError, ValueError, TypeError)
_SPENT = ("time", "cancelled", "cut")  # the model may have read all that was asked


class Endless(Exception):
    """The model writes more than it may."""


@dataclass
class Answer:
    """What has come of an answer so far."""

    texts: list[str] = field(default_factory=list)
    written: int = 0
    thought: int = 0
    finish: str = ""
    model: str = ""
    usage: Any = None
    begun: bool = False

    def take(self, chunk: Any) -> None:
        self.begun = True
        self.model = chunk.model or self.model
        self.usage = getattr(chunk, "usage", None) or self.usage
        for choice in chunk.choices:
            text = choice.delta.content or ""
            self.texts.append(text)
            self.written += len(text)
            self.thought += len(getattr(choice.delta, "reasoning_content", None) or "")
            self.finish = choice.finish_reason or self.finish


@dataclass(frozen=True)
class Failure:
    cause: str
    status: int = 0
    words: str = ""
    pause: float = 0.0  # seconds, as the server wishes


class Process:
    """Serves the requests that come over the connection, all at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Return when the server is gone."""
        self._say("Ready")
        while line := await self._reader.readline():
            message = json.loads(line)
            number = message["id"]
            if message["$"] == "Ask":
                self._tasks[number] = asyncio.create_task(self._answer(message), name=str(number))
                self._tasks[number].add_done_callback(self._over)
            elif number in self._tasks:
                self._tasks[number].cancel()

    def _say(self, kind: str, **fields: object) -> None:
        self._writer.write(json.dumps({"$": kind, **fields}).encode("ascii") + b"\n")

    def _over(self, task: asyncio.Task[None]) -> None:
        number = int(task.get_name())
        del self._tasks[number]
        if task.cancelled() or (error := task.exception()) is not None:
            words = "" if task.cancelled() else f"{type(error).__name__}: {error}"
            cause = "cancelled" if task.cancelled() else "other"
            self._say("Failed", id=number, cause=cause, words=words[:_WORDS], usage={"calls": 1})

    async def _answer(self, ask: Message) -> None:
        answer = Answer()
        try:
            failure = await self._attempts(ask, answer)
        except asyncio.CancelledError:
            failure = Failure("cancelled")
        spent = failure is None or answer.begun or failure.cause in _SPENT
        usage = usage_of(ask, answer) if spent else {"calls": 1}
        if failure is None:
            self._say("Answered", id=ask["id"], text="".join(answer.texts), model=answer.model, usage=usage)
            return
        variables = key_variables(ask) if failure.cause == "key" else ()
        words = without_secrets(failure.words, ask["key"])
        told = {"cause": failure.cause, "status": failure.status, "words": words, "variables": variables}
        self._say("Failed", id=ask["id"], usage=usage, **told)

    async def _attempts(self, ask: Message, answer: Answer) -> Failure | None:
        end = time.monotonic() + ask["seconds"]
        for pause in (*_PAUSES, math.inf):
            failure = await self._attempt(ask, answer, end - time.monotonic())
            if failure is None or failure.cause not in _AGAIN or answer.begun:
                return failure
            seconds = max(pause, failure.pause)
            if time.monotonic() + seconds > end:
                return failure
            self._say("Waiting", id=ask["id"], seconds=seconds, why=failure.cause)
            await asyncio.sleep(seconds)
        return failure

    async def _attempt(self, ask: Message, answer: Answer, seconds: float) -> Failure | None:
        """A task of its own, since libraries raise what they like."""
        task = asyncio.create_task(self._stream(ask, answer, seconds))
        try:
            done, _ = await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=_CLOSING)
        if not done:
            return Failure("time")
        error = task.exception()
        if error is not None:
            return failure_of(error, ask, answer)
        cause = _FINISHES.get(answer.finish) or ("" if "".join(answer.texts).strip() else "empty")
        return Failure(cause) if cause else None

    async def _stream(self, ask: Message, answer: Answer, seconds: float) -> None:
        most = min(ask["tokens"] * _LONG_TOKEN, _MOST_CHARACTERS)
        optional = {"base_url": ask["base_url"], "api_key": ask["key"], "temperature": ask["temperature"]}
        stream: Any = await litellm.acompletion(
            model=ask["model"],
            messages=[{"role": message["role"], "content": message["text"]} for message in ask["messages"]],
            max_tokens=min(ask["tokens"], known(ask["model"]).get("max_output_tokens") or ask["tokens"]),
            stream=True,
            stream_options={"include_usage": True},
            timeout=seconds,
            max_retries=0,
            num_retries=0,
            **{name: value for name, value in optional.items() if value not in ("", None)},
        )
        told = time.monotonic()
        try:
            async for chunk in stream:
                answer.take(chunk)
                if answer.written + answer.thought > most:
                    raise Endless
                if time.monotonic() - told >= _PROGRESS:
                    told = time.monotonic()
                    self._say("Progress", id=ask["id"], written=answer.written, thought=answer.thought)
        finally:
            await stream.aclose()


def failure_of(error: BaseException, ask: Message, answer: Answer) -> Failure:
    errors = tuple(chain(error))
    words = _PREFIX.sub("", str(error)).partition("\n")[0].partition(" Original exception: ")[0][:_WORDS]
    status = next((each.response.status_code for each in errors if isinstance(each, httpx.HTTPStatusError)), 0)
    status = status or getattr(error, "status_code", 0)
    for kind, cause in _CLASSES:
        if isinstance(error, kind):
            return Failure(cause, status, words)
    if isinstance(error, Endless) or _REPEATING in words:
        return Failure("endless")
    if answer.begun:
        return Failure("cut", status, words)
    if any(isinstance(each, httpx.TransportError | OSError) for each in errors):
        return Failure("unreachable", 0, words)
    if not known_provider(ask["model"]):
        return Failure("no provider")
    if not ask["key"] and not any(isinstance(each, httpx.HTTPStatusError) for each in errors) and missing_keys(ask):
        return Failure("key")  # it was not asked at all
    cause = _STATUSES.get(status) or ("server" if status >= 500 else "other")
    return Failure(cause, status, words, asked_to_wait(errors))


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def asked_to_wait(errors: tuple[BaseException, ...]) -> float:
    """The seconds of a Retry-After, which may also be a date."""
    values = (getattr(getattr(error, "response", None), "headers", {}).get("retry-after") for error in errors)
    value = next((value for value in values if value), "0")
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    date = email.utils.parsedate_tz(value)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0


def known(model: str) -> dict[str, Any]:
    """What litellm's own list, which needs no network, says of the model."""
    costs: dict[str, dict[str, Any]] = litellm.model_cost
    return costs.get(model) or costs.get(model.partition("/")[2]) or {}


def known_provider(model: str) -> bool:
    try:
        litellm.get_llm_provider(model)
    except litellm.BadRequestError:
        return False
    return True


def missing_keys(ask: Message) -> tuple[str, ...]:
    return tuple(litellm.validate_environment(ask["model"])["missing_keys"])


def key_variables(ask: Message) -> tuple[str, ...]:
    """Where litellm looks for the key of this request."""
    if ask["key"]:
        return ()
    name = f"{litellm.get_llm_provider(ask['model'])[1].upper()}_API_KEY"
    return missing_keys(ask) or ((name,) if name in os.environ else ())


def usage_of(ask: Message, answer: Answer) -> Message:
    """As the server counts it, else by the lengths of the texts."""
    if answer.usage is not None:
        tokens_in, tokens_out = answer.usage.prompt_tokens, answer.usage.completion_tokens
    else:
        tokens_in = math.ceil(sum(len(message["text"]) for message in ask["messages"]) / _TOKEN)
        tokens_out = math.ceil((answer.written + answer.thought) / _TOKEN)
    counts = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "usage_object": answer.usage}
    dollars = 0.0
    with contextlib.suppress(*_NO_PRICE):
        dollars = sum(litellm.cost_per_token(ask["model"], **counts))
    return {"calls": 1, "tokens_in": tokens_in, "tokens_out": tokens_out, "dollars": dollars}


def without_secrets(words: str, key: str) -> str:
    for secret in (key, *_secrets):
        words = words.replace(secret, "…") if len(secret) >= _SECRET else words
    return words


_secrets: list[str] = []


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: no other process of this user may read its memory
    with connection.makefile("rb", buffering=0) as lines:
        variables = json.loads(lines.readline())["variables"]
    os.environ.update(variables)
    _secrets.extend(variables.values())
    litellm.drop_params = True
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.disable_hf_tokenizer_download = True
    asyncio.run(serve(connection))
    os._exit(0)  # whatever threads of libraries still do


async def serve(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection, limit=_LONGEST)
    await Process(reader, writer).serve()


if __name__ == "__main__":
    main()
