"""Replies by files: each request is written into a folder, and whoever likes puts the reply beside it."""

import asyncio
import os
import time
from pathlib import Path

from kernelwright.models import Bounds, Report
from kernelwright.models.digest import digest
from kernelwright.models.estimates import estimated
from kernelwright.values import Conversation, NoReply, Refusal, Reply, Usage

_POLL = 0.2  # seconds between looks for a reply
_MOST_BYTES = 4 << 20


class Directory:
    """The folder `path`. A reply that is there already is taken at once: a run that was stopped goes on from there."""

    stays_here = True

    def __init__(self, path: Path) -> None:
        self._folder = path
        self.name = f"dir:{path.name or path}"

    def unavailable(self) -> Refusal | None:
        if self._folder.exists() and not self._folder.is_dir():
            return Refusal(f"{self._folder} is no folder: name one for requests and replies.")
        return None

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        started = time.monotonic()
        name = digest(conversation)
        request, reply = self._folder / f"request-{name}.md", self._folder / f"reply-{name}.md"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(request, as_text(conversation, reply.name))
            content = _content(reply)
            if content is not None:
                text: str | None = _text(content)
            else:
                report(f"Waiting for {reply}, the answer to {request}")
                text = await _written(reply, bounds.seconds, cancel)
        except OSError as error:
            return NoReply(
                f"{error.filename or self._folder} cannot be used ({error.strerror}): choose another folder."
            )
        except ValueError as error:
            return NoReply(f"{reply} {error}.")
        if text is not None:
            return Reply(text, self.name, estimated(conversation, text, time.monotonic() - started))
        usage = Usage(seconds=time.monotonic() - started)
        if cancel is not None and cancel.is_set():
            return NoReply("Cancelled.", usage=usage)
        return NoReply(f"{reply} was not written within {bounds.seconds:g} s: write it and try again.", usage=usage)

    async def close(self) -> None:
        return None


def as_text(conversation: Conversation, reply: str) -> str:
    """The request as Markdown: what to do, then what each message says."""
    head = f"Write the answer to these messages into the file {reply} in this folder, and nothing else into it.\n"
    end = "Do not change this file: its name follows from the messages, which begin below.\n"
    messages = (f"\n# {message.role.value}\n\n{message.text.rstrip()}\n" for message in conversation)
    return head + end + "".join(messages)


def _write(target: Path, text: str) -> None:
    """Put the whole text there at once, unless it is there."""
    content = text.encode("utf-8", "backslashreplace")
    if target.exists() and target.read_bytes() == content:
        return
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    beside.write_bytes(content)
    os.replace(beside, target)


async def _written(reply: Path, seconds: float, cancel: asyncio.Event | None) -> str | None:
    """The reply once it has been the same for two looks: whoever writes it may do so in several goes."""
    end = time.monotonic() + seconds
    last: bytes | None = None
    while time.monotonic() < end and not (cancel is not None and cancel.is_set()):
        await asyncio.sleep(_POLL)
        content = _content(reply)
        if content is not None and content == last:
            return _text(content)
        last = content
    return None


def _content(reply: Path) -> bytes | None:
    """What is in the file; None while it is not there, or empty. Raises ValueError where it is too much."""
    try:
        if reply.stat().st_size > _MOST_BYTES:
            raise ValueError(f"has more than {_MOST_BYTES >> 20} MiB: shorten it")
        return reply.read_bytes() or None
    except FileNotFoundError:
        return None


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("is no UTF-8 text: save it as UTF-8") from None
