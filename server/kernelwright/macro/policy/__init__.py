"""Who ranks the Actions: the interface of a policy, and the menu of what each strategy offers for a Kernel."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernelwright.macro.strategies import by_id, for_language, named
from kernelwright.macro.strategy import Absent, Family, Group, Observation, Strategy, ask
from kernelwright.values import STOP, Action, Language, Refusal, in_files


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
_HOPELESS = 0.1  # of the first score: what is put around a module and promises less takes long to find out
_RIVAL_FAMILIES = frozenset({Family.LAYOUT, Family.FUSION, Family.LIBRARY})


def rivals(observation: Observation, ranked: tuple[Scored, ...]) -> tuple[Action, ...]:
    """The first Action of `ranked`, followed by those worth racing against it: the best of each other strategy.

    Fusions, layouts, and what is put around a whole module exclude each other, and no formula ranks them well: a small
    gain kept first would hide the larger one. What is put around the module is raced besides MOST_RIVALS of the others.
    Where nothing can be raced (no GPU), for all other families, and for what a language model would have to write, the
    ranking alone decides.
    """
    first, stop = ranked[0], next(one for one in ranked if one.is_stop)
    if not observation.device.is_gpu or not _is_raced(first.action.strategy):
        return (first.action,)
    found: dict[str, Action] = {}
    for one in ranked:
        hopeless = _is_of_module(one.action.strategy) and one.score < _HOPELESS * ranked[0].score
        if one.score >= stop.score and _is_raced(one.action.strategy) and not hopeless:
            found.setdefault(one.action.strategy, one.action)
    parts = [id for id in found if not _is_of_module(id)][:MOST_RIVALS]
    return tuple(action for id, action in found.items() if id in parts or _is_of_module(id))


def _is_raced(id: str) -> bool:
    strategy = by_id(id)
    if strategy is None or strategy.intent is ask:
        return False
    return strategy.family in _RIVAL_FAMILIES or _is_of_module(id)


def _is_of_module(id: str) -> bool:
    """Whether a strategy puts something around a whole module."""
    strategy = by_id(id)
    return strategy is not None and (
        strategy.family is Family.LIBRARY or (strategy.family is Family.LAUNCH and Language.TORCH in strategy.languages)
    )


@dataclass(frozen=True)
class Offer:
    """What one strategy says of a Kernel: Actions, best first, or why there is none; a Group only why not."""

    strategy: Strategy | Group
    actions: tuple[Action, ...] = ()
    refusal: Refusal | None = None


Refuses = Callable[[Strategy], Refusal | None]
"""Why nobody can carry out a strategy's Actions; None where somebody can."""


def nobody_refuses(strategy: Strategy) -> Refusal | None:
    return None


def menu(observation: Observation, refuses: Refuses = nobody_refuses) -> tuple[Offer, ...]:
    """One Offer for every strategy of the Kernel's language, in order of id."""
    return tuple(_offer(strategy, observation, refuses) for strategy in for_language(observation.kernel.language))


def candidates(offers: tuple[Offer, ...]) -> tuple[Candidate, ...]:
    """Every Action that a menu offers."""
    return tuple(
        Candidate(offer.strategy, action)
        for offer in offers
        if isinstance(offer.strategy, Strategy)
        for action in offer.actions
    )


def summed_up(offers: tuple[Offer, ...]) -> tuple[Offer, ...]:
    """`offers` with one refusal for a group of which no strategy offers anything, and none for one of which some do."""
    refused: dict[str, list[Refusal]] = {}
    offering: set[str] = set()
    for group, offer in ((_group_of(offer), offer) for offer in offers):
        if group is not None and offer.refusal is not None:
            refused.setdefault(group.id, []).append(offer.refusal)
        elif group is not None:
            offering.add(group.id)
    told: dict[str, Offer] = {}
    for group, offer in ((_group_of(offer), offer) for offer in offers):
        if group is None or offer.refusal is None:
            told[offer.strategy.id] = offer
        elif group.id not in offering:
            told[group.id] = Offer(group, refusal=_nearest(group, refused[group.id]))
    return tuple(told.values())


def offered(name: str, observation: Observation) -> tuple[Action, ...] | Refusal:
    """What the strategy that is called `name` offers; of a group every Action, the most work saved first.

    What says nothing of saved work follows by the gain that it expects.
    """
    offers = tuple(_offer(strategy, observation, nobody_refuses) for strategy in named(name))
    if len(offers) == 1:
        return offers[0].refusal or offers[0].actions
    actions = [action for offer in offers for action in offer.actions]
    if actions:
        return tuple(sorted(actions, key=lambda one: (_saved_work(one), _hoped_gain(one)), reverse=True))
    return next(offer.refusal for offer in summed_up(offers) if offer.refusal is not None)


def _group_of(offer: Offer) -> Group | None:
    return offer.strategy.group if isinstance(offer.strategy, Strategy) else None


def _nearest(group: Group, refusals: list[Refusal]) -> Refusal:
    """The refusal that tells most: of a strategy that nearly applies, or of what stands in the way of one."""
    near = [one for one in refusals if not isinstance(one, Absent)]
    in_the_way = [one for one in refusals if one.line is not None]
    return next(iter(near + in_the_way), Refusal(group.nothing))


def _saved_work(action: Action) -> float:
    """Saved work in bytes, at about ten floating-point operations for the time of one byte."""
    return float(action.params.get("saved_bytes", 0)) + float(action.params.get("saved_flops", 0)) / 10


def _hoped_gain(action: Action) -> float:
    return float(action.params.get("expected_gain", 0))


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


def _offer(strategy: Strategy, observation: Observation, refuses: Refuses) -> Offer:
    answer = refuses(strategy) or strategy.find(observation)
    if isinstance(answer, Refusal):
        return Offer(strategy, refusal=replace(answer, reason=in_files(answer.reason, observation.text)))
    return Offer(strategy, actions=answer)
