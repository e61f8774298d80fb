"""Asks a provider within a budget, and writes down what that took."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.journal import Journal
from kernelwright.models import Bounds, Provider, Report
from kernelwright.models.replay import record
from kernelwright.settings import Settings
from kernelwright.values import NOTHING_SPENT, Conversation, NoReply, Refusal, Reply, Usage

_CHARACTERS_PER_TOKEN = 4  # about that; for what has not been counted yet
_LOOK = 0.2  # seconds between looks at a cancel while another answer is waited for
_LEAST_ANSWER = 1024  # tokens: with fewer left, nothing useful can be answered


@dataclass(frozen=True)
class Account:
    """`provider` with the settings' budget. What is spent goes to the journal at once, also for what came to nothing.

    One answer at a time is judged against the budget, so that two steps together cannot go beyond it.
    """

    provider: Provider
    settings: Settings
    journal: Journal
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def unavailable(self) -> Refusal | None:
        """Say why nothing can be asked: the provider, or what the settings forbid."""
        if self.settings.model_stays_here and not self.provider.stays_here:
            return Refusal(
                f"{self.provider.name} is not on this machine, and the setting modelStaysHere says that no code may leave it."
            )
        return self.provider.unavailable()

    async def ask(
        self, conversation: Conversation, step: Usage, report: Report, cancel: asyncio.Event | None
    ) -> Reply | NoReply:
        """The answer, or why there is none. `step`: what the step that asks has spent before."""
        if (refusal := self.unavailable()) is not None:
            return NoReply(refusal.reason)
        while not await self._is_my_turn():
            if cancel is not None and cancel.is_set():
                return NoReply("Cancelled.")
        try:
            left = tokens_left(self.settings, step, self.journal.spent_today(), conversation)
            if isinstance(left, Refusal):
                return NoReply(left.reason)
            bounds = Bounds(min(left, Bounds().tokens), self.settings.model_timeout)
            answer = await self.provider.complete(conversation, bounds, report, cancel)
            if answer.usage != NOTHING_SPENT:
                self.journal.spend(self.provider.name, answer.usage)
        finally:
            self._turn.release()
        if isinstance(answer, Reply) and self.settings.model_log:
            try:
                record(Path(self.settings.model_log).expanduser(), conversation, answer)
            except OSError as error:
                report(f"{self.settings.model_log} (the setting modelLog) cannot be written: {error.strerror}.")
        return answer

    async def _is_my_turn(self) -> bool:
        try:
            return await asyncio.wait_for(self._turn.acquire(), _LOOK)
        except TimeoutError:
            return False


def tokens_left(settings: Settings, step: Usage, day: Usage, conversation: Conversation) -> int | Refusal:
    """How many tokens an answer may have within the budgets of a step and of a day; why none. 0 in a setting: no limit."""
    asked = sum(len(message.text) for message in conversation) // _CHARACTERS_PER_TOKEN
    left = [Bounds().tokens]
    for name, spent, most, unit in (
        ("modelTokensPerStep", step.tokens, settings.model_tokens_per_step, "tokens"),
        ("modelTokensPerDay", day.tokens, settings.model_tokens_per_day, "tokens"),
        ("modelDollarsPerStep", step.dollars, settings.model_dollars_per_step, "US dollars"),
        ("modelDollarsPerDay", day.dollars, settings.model_dollars_per_day, "US dollars"),
    ):
        if not most:
            continue
        room = most - spent - (asked + _LEAST_ANSWER if unit == "tokens" else 0)
        if room <= 0:
            return Refusal(f"The budget is used up: {spent:.6g} of {most:.6g} {unit} (the setting {name}).")
        if unit == "tokens":
            left.append(int(room) + _LEAST_ANSWER)
    return min(left)
