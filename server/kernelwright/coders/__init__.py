"""Who carries an Action out: a coder writes edits for it, and sees how its earlier attempts have ended."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.values import Action, Edits, Refusal, Step, Usage

Report = Callable[[str], None]


@dataclass(frozen=True)
class Variant:
    """One way to carry out an Action, and the text that it gives.

    `usage`: what asking a language model for it took. `refusal`: why what the coder was given is no edit that may be tried.
    """

    action: Action
    edits: Edits
    text: str
    author: str
    usage: Usage = Usage()
    refusal: Refusal | None = None


@dataclass(frozen=True)
class Attempt:
    """A Variant that was tried, and the Step that it came to. A coder is shown those that the gate refused."""

    variant: Variant
    step: Step


class Coder(Protocol):
    """Writes the edits of Actions. `name` is the author that a Step names."""

    name: str

    def refuses(self, strategy: Strategy) -> Refusal | None:
        """Why it cannot carry out this strategy's Actions, None where it can."""

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...] | Refusal:
        """Write the Variants to try next, best guess first; none where `attempts` have left nothing to try."""


def refuses(coders: tuple[Coder, ...], strategy: Strategy) -> Refusal | None:
    """Why none of `coders` can carry out this strategy's Actions, in the words of the last; None where one can."""
    said = [coder.refuses(strategy) for coder in coders]
    return None if None in said else said[-1]


async def written(
    coders: tuple[Coder, ...],
    observation: Observation,
    strategies: tuple[tuple[Strategy, Action], ...],
    attempts: tuple[Attempt, ...],
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Variant, ...] | Refusal:
    """The Variants of several Actions, each of the first coder that has some, in the order of the Actions.

    An Action that cannot be carried out is left out where another can: nobody asked for it. Where none can, the first
    Refusal; no Variants where nothing is left to try.
    """
    found: list[Variant] = []
    refusal: Refusal | None = None
    for strategy, action in strategies:
        for coder in coders:
            answer: tuple[Variant, ...] | Refusal | None = coder.refuses(strategy)
            if answer is None:
                report(f"{strategy.title}: rewriting")
                answer = await coder.code(observation, action, attempts, report, cancel)
            if isinstance(answer, Refusal):
                refusal = refusal or answer
            elif answer:
                found += answer
                break
    return tuple(found) if found or refusal is None else refusal
