"""The coder that needs no model: what a strategy intends, alone and together with what it prepares for."""

import asyncio
import dataclasses

from kernelwright.coders import Attempt, Report, Variant
from kernelwright.coders.carrying_out import carried_out, needs_a_model
from kernelwright.macro.strategies import with_id
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.micro.edits import difference
from kernelwright.observer import Observer
from kernelwright.values import DETERMINISTIC, Action, Edits, Failure, Refusal, apply

_MOST_ATTEMPTS = 3  # at one step


class Deterministic:
    """Writes every variant that an intent has, in one round: what they come to changes nothing of it."""

    name = DETERMINISTIC
    does = "rewriting"
    races = True

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def refuses(self, strategy: Strategy) -> Refusal | None:
        return needs_a_model(strategy) if strategy.intent is ask else None

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        own = [one for one in attempts if one.variant.author == self.name]
        return len(own) < _MOST_ATTEMPTS and (not own or own[-1].step.refused)

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...] | Refusal:
        strategy = with_id(action.strategy)
        if any(one.variant.author == self.name for one in attempts):
            return ()
        edits = await asyncio.to_thread(carried_out, strategy, observation, action)
        if isinstance(edits, Refusal):
            return edits
        if strategy.prepares and observation.device.is_gpu:
            edits += await self._followed_up(observation, strategy, edits[0], report, cancel)
        wanted = _wanted(edits, action.variant)
        if not wanted:
            return Refusal(f"None of the variants here has {action.variant}.", action.region.start_line)
        return tuple(Variant(action, one, apply(one, observation.text), self.name) for one in wanted)

    async def _followed_up(
        self,
        observation: Observation,
        strategy: Strategy,
        first: Edits,
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Edits, ...]:
        """`first` together with what `strategy` prepares for: alone it may cost more than it gains."""
        text = apply(first, observation.text)
        prepared = self._observer.observe(observation.path, text, observation.kernel.name, support=observation.support)
        if isinstance(prepared, Refusal) or prepared.workload is None:
            return ()
        graph = await self._observer.capture(prepared, report, cancel)
        if isinstance(graph, Failure):
            return ()
        prepared = dataclasses.replace(prepared, graph=graph)
        found: list[Edits] = []
        for follower in (with_id(name) for name in strategy.prepares):
            edits = await asyncio.to_thread(_of_the_best, follower, prepared)
            if isinstance(edits, Refusal):
                continue
            together = f"{first.summary}, then {follower.title.lower()}".removeprefix(", ")
            found += [difference(observation.text, apply(e, text), f"{together}: {e.summary}") for e in edits]
        return tuple(found)


def _wanted(edits: tuple[Edits, ...], variant: str) -> tuple[Edits, ...]:
    """The variant with this summary; all where none is named, and one that has no alternatives whatever its summary."""
    return edits if not variant or len(edits) == 1 else tuple(one for one in edits if one.summary == variant)[:1]


def _of_the_best(strategy: Strategy, observation: Observation) -> tuple[Edits, ...] | Refusal:
    """The edits of the strategy's first Action."""
    actions = strategy.find(observation)
    return actions if isinstance(actions, Refusal) else carried_out(strategy, observation, actions[0])
