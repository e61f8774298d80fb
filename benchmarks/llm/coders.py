"""Who writes in the arms: a model that rewrites everything at once, and a coder that is watched until its calls are used up."""

import asyncio

from benchmarks.llm.metered import Metered

from kernelwright.coders import Attempt, Coder, Report, Variant
from kernelwright.coders.given import problem_of
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.models.account import Account
from kernelwright.prompting.evidence import evidence_of
from kernelwright.prompting.rewriting import asked_again, rewrite_prompt, rewritten_by
from kernelwright.proof import endings
from kernelwright.values import NOTHING_SPENT, Action, Edits, Failure, NoReply, Refusal, Reply, digest


class OneShot:
    """Asks for the fastest equivalent of the whole kernel, then again and again with the evidence of the gate and the clock."""

    does = "asking the model for everything at once"
    races = False

    def __init__(self, account: Account) -> None:
        self.name = account.provider.name
        self._account = account

    def refuses(self, strategy: Strategy) -> Refusal | None:
        return self._account.unavailable()

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        if not attempts:
            return True
        last, failure = attempts[-1].variant.refusal, attempts[-1].step.failure
        return broke_off(last) if isinstance(last, NoReply) else failure is None or failure.about_kernel

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...] | Refusal | Failure:
        conversation = rewrite_prompt(observation)
        for one in attempts:
            if one.variant.answer:
                conversation += asked_again(one.variant.answer, evidence_of(one.step))
        spent = sum((one.variant.usage for one in attempts), NOTHING_SPENT)
        answer = await self._account.ask(conversation, spent, report, cancel)
        if cancel is not None and cancel.is_set():
            return endings.CANCELLED
        return (_variant(observation, action, answer, self.name, f"answer {len(attempts) + 1}"),)


class Watched:
    """Another coder that stops with the last call of `provider`. What became of its answers is kept in `attempts`."""

    def __init__(self, coder: Coder, provider: Metered) -> None:
        self.name, self.does, self.races = coder.name, coder.does, coder.races
        self.refuses = coder.refuses
        self.attempts: tuple[Attempt, ...] = ()
        self._written = 0
        self._coder = coder
        self._provider = provider

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        self.attempts = attempts
        untried = self._written > len(attempts)
        more = self._provider.left > 0 and not self._provider.unanswered
        return (untried or more) and self._coder.goes_on(attempts)

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...] | Refusal | Failure:
        answer = await self._coder.code(observation, action, attempts, report, cancel)
        self._written += len(answer) if isinstance(answer, tuple) else 0
        return answer


def broke_off(answer: object) -> bool:
    """Whether an answer was begun, and is none: it was asked for, and the next one may be better."""
    return isinstance(answer, NoReply) and answer.usage.tokens_out > 0


def _variant(observation: Observation, action: Action, answer: Reply | NoReply, author: str, summary: str) -> Variant:
    before, said = observation.text, answer.text if isinstance(answer, Reply) else ""
    text = rewritten_by(said, observation) if isinstance(answer, Reply) else answer
    problem = text if isinstance(text, Refusal) else problem_of(text, observation)
    if isinstance(text, Refusal) or problem is not None:
        return Variant(action, Edits(digest(before), (), summary), before, author, answer.usage, said, problem)
    return Variant(action, difference(before, text, summary), text, author, answer.usage, said)
