"""The coder that asks a language model: for the one edit that a strategy's instruction describes, again with the evidence
where that was not good enough.

A round is one answer. What cannot be read as an edit, or edits what it may not, is an attempt that ended there.
"""

import asyncio
import dataclasses

from kernelwright.coders import Attempt, Report, Variant
from kernelwright.coders.deterministic import Deterministic
from kernelwright.coders.refining import goes_on
from kernelwright.macro.strategies import with_id
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.micro.edits import difference
from kernelwright.models.account import Account
from kernelwright.observer import Observer
from kernelwright.prompting import action_prompt, repaired
from kernelwright.prompting.evidence import evidence_of
from kernelwright.prompting.reply import applied, blocks_in
from kernelwright.proof import endings
from kernelwright.proof.jobs import CompileResult
from kernelwright.values import (
    NOTHING_SPENT,
    Action,
    Conversation,
    Edits,
    Failure,
    Language,
    NoReply,
    Refusal,
    Reply,
    Resources,
    digest,
)


class Model:
    """Writes one Variant a round. Its own earlier answers in the same step are part of the conversation."""

    does = "asking the model"
    races = False

    def __init__(self, account: Account, observer: Observer) -> None:
        self.name = account.provider.name
        self._account = account
        self._observer = observer

    def refuses(self, strategy: Strategy) -> Refusal | None:
        title = (strategy.group or strategy).title
        if (refusal := self._account.unavailable()) is not None:
            return Refusal(f"{title} needs a language model. {refusal.reason}")
        if strategy.rule_only:
            return Refusal(f"{title} is written by a rule, not by a language model: {strategy.rule_only}.")
        return None

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        own = self._own(attempts)
        return not any(isinstance(one.variant.refusal, NoReply) for one in own) and goes_on(
            tuple(one.step for one in own), self._account.settings.model_rounds
        )

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...] | Refusal | Failure:
        own = self._own(attempts)
        conversation = await self.conversation(observation, action, attempts, report, cancel)
        spent = sum((one.variant.usage for one in own), NOTHING_SPENT)
        answer = await self._account.ask(conversation, spent, report, cancel)
        if cancel is not None and cancel.is_set():
            return endings.CANCELLED
        if isinstance(answer, NoReply):
            report(answer.reason)
            if not own:
                return answer
        return (self._variant(observation, action, answer, len(own) + 1),)

    async def conversation(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> Conversation:
        """What the model is asked: the prompt of the Action, then each of its answers with what that came to."""
        strategy = with_id(action.strategy)
        found = action_prompt(observation, action, strategy, _mechanically(strategy, attempts))
        for one in self._own(attempts):
            resources = await self._resources(observation, one, report, cancel)
            found += repaired(one.variant.answer, evidence_of(one.step, resources))
        return found

    def _own(self, attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
        return tuple(one for one in attempts if one.variant.author == self.name)

    def _variant(self, observation: Observation, action: Action, answer: Reply | NoReply, round_: int) -> Variant:
        text = observation.text
        edited = answer if isinstance(answer, NoReply) else edited_by(answer.text, observation)
        unchanged = Variant(action, Edits(digest(text), (), f"round {round_}"), text, self.name, usage=answer.usage)
        if isinstance(edited, Refusal):
            said = answer.text if isinstance(answer, Reply) else ""
            return dataclasses.replace(unchanged, refusal=edited, answer=said)
        assert isinstance(answer, Reply)
        edits = difference(text, edited, f"round {round_}")
        return dataclasses.replace(unchanged, edits=edits, text=edited, answer=answer.text)

    async def _resources(
        self, observation: Observation, attempt: Attempt, report: Report, cancel: asyncio.Event | None
    ) -> tuple[Resources, ...]:
        """What the compiler says of an attempt that is right: profile facts come late, when the structure stands."""
        verdict = attempt.step.verdict
        if verdict is None or not verdict.passed or observation.kernel.language is not Language.TRITON:
            return ()
        found = self._observer.observe(
            observation.path, attempt.variant.text, observation.kernel.name, support=observation.support
        )
        answer = found if isinstance(found, Refusal) else await self._observer.resources(found, report, cancel)
        return answer.resources if isinstance(answer, CompileResult) else ()


def edited_by(answer: str, observation: Observation) -> str | Refusal:
    """The text that an answer's blocks make; why they are no edit that may be tried."""
    text, kernel, support = observation.text, observation.kernel, observation.support
    blocks = blocks_in(answer)
    if isinstance(blocks, Refusal):
        return blocks
    editable = [piece.start_line for piece in support.pieces(text, kernel) if piece.editable]
    changed = applied(blocks, text, min(editable, default=0))
    if isinstance(changed, Refusal):
        return changed
    if (broken := support.syntax_problem(changed)) is not None:
        line = changed.splitlines()[broken.line : broken.line + 1]
        return Refusal(f"With these blocks the file does not parse: {broken.message} at `{''.join(line).strip()}`.")
    return support.edit_problem(text, changed, kernel) or changed


def _mechanically(strategy: Strategy, attempts: tuple[Attempt, ...]) -> Refusal | None:
    """How the deterministic coder has fared in this step with the same strategy."""
    if strategy.intent is ask:
        return None
    ended = [one.step.reason for one in attempts if one.variant.author == Deterministic.name]
    return Refusal(f"it was tried, and {ended[-1]}") if ended else None
