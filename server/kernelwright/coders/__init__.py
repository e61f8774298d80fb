"""Who carries an Action out: a coder writes edits for it, and sees how its earlier attempts have ended."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.values import NOTHING_SPENT, Action, Edits, Failure, Refusal, Step, Usage

Report = Callable[[str], None]


@dataclass(frozen=True)
class Variant:
    """One way to carry out an Action, and the text that it gives.

    `usage`: what asking a language model for it took, and `answer` what that said. `refusal`: why this is no edit that may be
    tried; then the text is the one before.
    """

    action: Action
    edits: Edits
    text: str
    author: str
    usage: Usage = NOTHING_SPENT
    answer: str = ""
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Attempt:
    """A Variant that was tried, and the Step that it came to. A coder is shown those that the gate refused."""

    variant: Variant
    step: Step


class Coder(Protocol):
    """Writes the edits of Actions. `name` is the author that a Step names, `does` what a person is told meanwhile.

    One that `races` carries out all Actions of a step, for the fastest to be tried first; another one only the first.
    """

    name: str
    does: str
    races: bool

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        """Whether another try may be worth it after `attempts` at the same step, those of other coders among them."""

    def refuses(self, strategy: Strategy) -> Refusal | None:
        """Why it cannot carry out this strategy's Actions, None where it can."""

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...] | Refusal | Failure:
        """Write the Variants to try next, best guess first; none where `attempts` have left nothing to try.

        A Failure ends the step.
        """


def refuses(coders: tuple[Coder, ...], strategy: Strategy) -> Refusal | None:
    """Why none of `coders` can carry out this strategy's Actions, in the words of the last; None where one can."""
    refusal: Refusal | None = None
    for coder in coders:
        if (refusal := coder.refuses(strategy)) is None:
            break
    return refusal


async def written(
    coder: Coder,
    observation: Observation,
    strategies: tuple[tuple[Strategy, Action], ...],
    attempts: tuple[Attempt, ...],
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Variant, ...] | Refusal | Failure:
    """A coder's Variants of several Actions, in the order of the Actions.

    An Action that cannot be carried out is left out where another can: nobody asked for it. Where none can, the first
    Refusal; no Variants where nothing is left to try.
    """
    found: list[Variant] = []
    refusal: Refusal | None = None
    for strategy, action in strategies:
        answer: tuple[Variant, ...] | Refusal | Failure | None = coder.refuses(strategy)
        if answer is None:
            report(f"{strategy.title}: {coder.does}")
            answer = await coder.code(observation, action, attempts, report, cancel)
        if isinstance(answer, Failure):
            return answer
        if isinstance(answer, Refusal):
            refusal = refusal or answer
        else:
            found += answer or ()
    return tuple(found) if found or refusal is None else refusal
