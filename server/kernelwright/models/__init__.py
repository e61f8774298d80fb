"""Who answers a prompt: providers of language models. None of them decides anything; the gate does.

Each is chosen by the first word of the setting `model` (`choosing.py`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kernelwright.values import Conversation, NoReply, Refusal, Reply

Report = Callable[[str], None]


@dataclass(frozen=True)
class Bounds:
    """How long one answer may get and take: tokens, and seconds from the request to its last word."""

    tokens: int = 16_384
    seconds: float = 180.0


class Provider(Protocol):
    """Answers conversations. Safe to ask several times at once, in one event loop."""

    @property
    def name(self) -> str:
        """What a Step names as its author: the model, or where the answers come from."""

    @property
    def stays_here(self) -> bool:
        """Says whether nothing that is sent leaves this machine."""

    def unavailable(self) -> Refusal | None:
        """Says why it cannot be asked at all, without asking it; None where it can."""

    async def complete(
        self, conversation: Conversation, bounds: Bounds, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        """Return the model's answer, or why there is none. `cancel` ends it, and the spending, within a second."""

    async def close(self) -> None:
        """Let go of processes and connections."""
