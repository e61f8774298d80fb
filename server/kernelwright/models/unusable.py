"""The provider that stands for a model that cannot be had: it says why, wherever it is asked."""

import asyncio
from dataclasses import dataclass

from kernelwright.models import Bounds, Report
from kernelwright.values import Conversation, NoReply, Refusal, Reply


@dataclass(frozen=True)
class Unusable:
    name: str
    why: Refusal
    stays_here: bool = True  # nothing is ever sent

    def unavailable(self) -> Refusal | None:
        return self.why

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        return NoReply(self.why.reason)

    async def close(self) -> None:
        """Nothing is held here."""
