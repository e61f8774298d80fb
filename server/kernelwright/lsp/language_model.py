"""The editor's own language models, over the protocol: `kernelwright/lm/complete`, `part`, `cancel` and `key`.

A client that declares `experimental.kernelwrightLanguageModels` answers these requests; no key is needed then.
"""

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

from pygls.exceptions import JsonRpcException

from kernelwright.values import Conversation, NoReply, Refusal, Reply, Usage
from kernelwright.values.plain import plain

if TYPE_CHECKING:
    from kernelwright.lsp.session import Session
    from kernelwright.models import Bounds, Report

COMPLETE, CANCEL = "kernelwright/lm/complete", "kernelwright/lm/cancel"
PART, KEY = "kernelwright/lm/part", "kernelwright/lm/key"
CAPABILITY = "kernelwrightLanguageModels"

_MOST_CHARACTERS = 400_000
_CHARACTERS_PER_TOKEN = 4  # about that: editors do not count


class EditorModel:
    """A Provider that asks the editor. `model`: the id of one of its models; empty: the editor's choice."""

    stays_here = False  # where the editor sends it, nobody says

    def __init__(self, session: "Session", model: str) -> None:
        self.name = f"editor:{model}" if model else "editor"
        self._session = session
        self._model = model
        self._ids = itertools.count(1)

    def unavailable(self) -> Refusal | None:
        declared = self._session.client.capability("experimental")
        if isinstance(declared, dict) and declared.get(CAPABILITY):
            return None
        return Refusal("This editor offers no language models; choose another one in the setting kernelwright.model.")

    async def complete(
        self, conversation: Conversation, bounds: "Bounds", report: "Report", cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        id = f"{self.name} {next(self._ids)}"
        asked = {
            "id": id,
            "model": self._model,
            "messages": [{"role": one.role.value, "text": one.text} for one in conversation],
            "maxTokens": bounds.tokens,
        }
        report(f"Asking {self.name}")
        parts = self._session.parts.setdefault(id, [])
        started = time.monotonic()
        request = asyncio.ensure_future(self._session.server.protocol.send_request_async(COMPLETE, asked))
        try:
            ended = await self._ended(request, parts, bounds, report, cancel)
        finally:
            del self._session.parts[id]
        spent = _usage(conversation, "".join(parts), time.monotonic() - started)
        if ended:
            self._session.server.protocol.notify(CANCEL, {"id": id})
            request.add_done_callback(_retrieved)
            return NoReply(ended, usage=spent)
        try:
            answer = request.result()
        except JsonRpcException as error:
            return NoReply(
                f"The editor's model did not answer: {plain(error.message)}", usage=spent if parts else Usage()
            )
        text = str(_field(answer, "text") or "".join(parts))
        if not text.strip():
            return NoReply("The editor's model gave an empty answer.", usage=spent)
        return Reply(text, str(_field(answer, "model") or self.name), _usage(conversation, text, spent.seconds))

    async def _ended(
        self,
        request: "asyncio.Future[Any]",
        parts: list[str],
        bounds: "Bounds",
        report: "Report",
        cancel: asyncio.Event | None,
    ) -> str:
        """Wait for the answer; "" when it has come, else why it is not waited for any longer."""
        limit = time.monotonic() + bounds.seconds
        seen = 0
        while not request.done():
            await asyncio.wait({request}, timeout=0.2)
            written = sum(map(len, parts))
            if cancel is not None and cancel.is_set():
                return "Cancelled."
            if time.monotonic() > limit:
                return f"{self.name} did not answer within {bounds.seconds:g} s (the setting modelTimeout)."
            if written > min(_MOST_CHARACTERS, bounds.tokens * _CHARACTERS_PER_TOKEN * 2):
                return f"{self.name} has written {written:,} characters without an end."
            if written != seen:
                report(f"{self.name} has written {written:,} characters")
                seen = written
        return ""

    async def close(self) -> None:
        """Nothing is held here."""


async def part(session: "Session", params: Any) -> None:
    """More text of an answer that the editor is still writing; what nobody waits for is left out."""
    written = session.parts.get(str(_field(params, "id")))
    if written is not None:
        written.append(str(_field(params, "text")))


async def key(session: "Session", params: Any) -> None:
    """The model's key from the editor's secret storage: kept in memory, and told to the model's own process alone."""
    session.key = str(_field(params, "key") or "")


def _usage(conversation: Conversation, answer: str, seconds: float) -> Usage:
    asked = sum(len(message.text) for message in conversation)
    return Usage(1, asked // _CHARACTERS_PER_TOKEN, len(answer) // _CHARACTERS_PER_TOKEN, seconds=seconds)


def _field(value: Any, name: str) -> Any:
    """A member of what came over the protocol, which has no type here."""
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _retrieved(future: "asyncio.Future[Any]") -> None:
    """Take notice of an answer that nobody waits for, so that its error is not logged as lost."""
    if not future.cancelled():
        future.exception()
