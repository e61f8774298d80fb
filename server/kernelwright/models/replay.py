"""A log of conversations and replies: answered from again, and written."""

import asyncio
import collections
import json
from pathlib import Path

from kernelwright import wire
from kernelwright.models import Bounds, Report
from kernelwright.models.digest import digest
from kernelwright.values import Conversation, NoReply, Refusal, Reply, Usage


class Replay:
    """Answers from the file `path`, one JSON object with "reply" a line, each line once.

    A line with "conversation" answers the conversation of that digest. A file without any answers in the order of its lines.
    """

    stays_here = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = f"replay:{path.name}"
        self._replies: dict[str, collections.deque[Reply]] | Refusal | None = None

    def unavailable(self) -> Refusal | None:
        replies = self._read()
        return replies if isinstance(replies, Refusal) else None

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        replies = self._read()
        if isinstance(replies, Refusal):
            return NoReply(replies.reason)
        name = digest(conversation)
        key = "" if set(replies) == {""} else name
        if replies.get(key):
            return replies[key].popleft()
        if key:
            return NoReply(f"{self._path} has no further reply to the conversation {name}: record one.")
        return NoReply(f"{self._path} has no further reply.")

    async def close(self) -> None:
        return None

    def _read(self) -> dict[str, collections.deque[Reply]] | Refusal:
        """The replies by the conversations that they answer; "" for lines that name none."""
        if self._replies is None:
            self._replies = read(self._path)
        return self._replies


def read(path: Path) -> dict[str, collections.deque[Reply]] | Refusal:
    """The replies of a log by the digests of their conversations, in the order of the lines."""
    replies: dict[str, collections.deque[Reply]] = collections.defaultdict(collections.deque)
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        return Refusal(f"The log {path} cannot be read ({error.strerror}): name a file of recorded replies.")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            usage = wire.decode(Usage, data.get("usage", {"calls": 1}))
            reply = Reply(
                wire.decode(str, data["reply"]), wire.decode(str, data.get("model", f"replay:{path.name}")), usage
            )
            replies[wire.decode(str, data.get("conversation", ""))].append(reply)
        except (ValueError, KeyError, AttributeError):
            return Refusal(
                f'Line {number + 1} of {path} is no JSON object with a "reply": correct it or remove it.', number
            )
    return replies


def record(path: Path, conversation: Conversation, reply: Reply) -> None:
    """Append what `Replay` answers this conversation from. Raises OSError."""
    data = {
        "conversation": digest(conversation),
        "reply": reply.text,
        "model": reply.model,
        "usage": wire.encode(reply.usage),
    }
    with path.open("ab") as log:
        log.write(json.dumps(data).encode("ascii") + b"\n")
