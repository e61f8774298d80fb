"""Who ranks the Actions: the interface of a policy, and the menu of what each strategy offers for a Kernel."""

from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.macro.strategies import for_language, registry
from kernelwright.macro.strategy import Family, Observation, Strategy
from kernelwright.values import STOP, Action, Refusal


@dataclass(frozen=True)
class Candidate:
    """An Action that could be taken now, with the strategy that offers it. Stop has no strategy."""

    strategy: Strategy | None
    action: Action


@dataclass(frozen=True)
class Scored:
    """A policy's word on one Action. `expected_gain` is a fraction (0.3: 30 % faster); higher `score` goes first.

    `reason` says in one sentence why, for the hover and the journal.
    """

    action: Action
    score: float
    expected_gain: float
    reason: str

    @property
    def is_stop(self) -> bool:
        return self.action.strategy == STOP.strategy


Policy = Callable[[Observation, tuple[Candidate, ...]], tuple[Scored, ...]]
"""Scores every candidate and Stop, best first. Must be deterministic in its arguments."""


MOST_RIVALS = 3
_RIVAL_FAMILIES = frozenset({Family.LAYOUT, Family.FUSION})


def rivals(observation: Observation, ranked: tuple[Scored, ...]) -> tuple[Action, ...]:
    """The first Action of `ranked`, followed by those worth racing against it: the best of each other strategy.

    Fusions and layouts exclude each other, and no formula ranks them well: a small gain kept first would hide the
    larger one. Where nothing can be raced (no GPU), and for all other families, the ranking alone decides.
    """
    first, stop = ranked[0], next(one for one in ranked if one.is_stop)
    families = {name: strategy.family for name, strategy in registry().items()}
    if not observation.device.is_gpu or families.get(first.action.strategy) not in _RIVAL_FAMILIES:
        return (first.action,)
    found: dict[str, Action] = {}
    for one in ranked:
        if one.score >= stop.score and families.get(one.action.strategy) in _RIVAL_FAMILIES:
            found.setdefault(one.action.strategy, one.action)
    return tuple(found.values())[:MOST_RIVALS]


@dataclass(frozen=True)
class Offer:
    """What one strategy says of a Kernel: Actions, best first, or why there is none."""

    strategy: Strategy
    actions: tuple[Action, ...] = ()
    refusal: Refusal | None = None


def menu(observation: Observation) -> tuple[Offer, ...]:
    """One Offer for every strategy of the Kernel's language, in order of id."""
    return tuple(_offer(strategy, observation) for strategy in for_language(observation.kernel.language))


def candidates(observation: Observation, offers: tuple[Offer, ...] | None = None) -> tuple[Candidate, ...]:
    """Every Action that some strategy offers; pass `offers` to reuse a menu."""
    return tuple(
        Candidate(offer.strategy, action)
        for offer in (menu(observation) if offers is None else offers)
        for action in offer.actions
    )


def best(scored: tuple[Scored, ...], asked: str | None = None) -> Scored:
    """The first choice. With `asked`, a strategy's id, the first Action of that strategy, wherever it ranks.

    Raises LookupError when the strategy asked for offers nothing.
    """
    if asked is None:
        return scored[0]
    for one in scored:
        if one.action.strategy == asked:
            return one
    raise LookupError(f"{asked} offers nothing for this kernel")


def _offer(strategy: Strategy, observation: Observation) -> Offer:
    answer = strategy.applies(observation)
    if isinstance(answer, Refusal):
        return Offer(strategy, refusal=answer)
    return Offer(strategy, actions=answer)
