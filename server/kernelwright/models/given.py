"""One reply that is there already: from a file, or from an agent that wrote it."""

import asyncio

from kernelwright.models import Bounds, Report
from kernelwright.models.estimates import estimated
from kernelwright.values import Conversation, NoReply, Reply


class Given:
    """Answers once with `text`, whatever it is asked."""

    stays_here = True

    def __init__(self, text: str, name: str = "given") -> None:
        self.name = name
        self._texts = [text]

    def unavailable(self) -> None:
        return None

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        if not self._texts:
            return NoReply("There is no further reply.")
        text = self._texts.pop()
        return Reply(text, self.name, estimated(conversation, text))

    async def close(self) -> None:
        return None
