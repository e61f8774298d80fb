"""A provider that answers so many times and no more, and can keep what it answers, in order."""

import asyncio
import json
from pathlib import Path

from kernelwright import wire
from kernelwright.models import Bounds, Provider, Report
from kernelwright.values import NOTHING_SPENT, Conversation, NoReply, Refusal, Reply


class Metered:
    """Asks `provider` at most `calls` times, and writes its replies to the file `log`, which `replay:` answers from.

    What was not answered, and cost nothing, is no call: `unanswered` then says why.
    """

    def __init__(self, provider: Provider, calls: int, log: Path | None = None) -> None:
        self.name = provider.name
        self.stays_here = provider.stays_here
        self.left = calls
        self.usage = NOTHING_SPENT
        self.unanswered = ""
        self._provider = provider
        self._log = log
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("")  # also where nothing will be asked: then a replay asks nothing either

    def unavailable(self) -> Refusal | None:
        return self._provider.unavailable()

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        if not self.left:
            return NoReply("All calls are used up.")
        answer = await self._provider.complete(conversation, bounds, report, cancel)
        if isinstance(answer, NoReply) and not answer.usage.tokens_out:
            self.unanswered = answer.reason
            return answer
        self.left -= 1
        self.usage += answer.usage
        if self._log is not None and isinstance(answer, Reply):
            line = {"reply": answer.text, "model": answer.model, "usage": wire.encode(answer.usage)}
            with self._log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")
        return answer

    async def close(self) -> None:
        await self._provider.close()
