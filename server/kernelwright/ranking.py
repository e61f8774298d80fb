"""The model as policy: it may put the legal Actions in another order, or stop. What it cannot do is choose another one."""

import asyncio
import dataclasses

from kernelwright.macro.policy import Scored
from kernelwright.macro.strategy import Observation
from kernelwright.models.account import Account
from kernelwright.observer import Report
from kernelwright.prompting.ranking import ranking_in, ranking_prompt
from kernelwright.values import NOTHING_SPENT, NoReply, Refusal, Usage

_MOST_ACTIONS = 20


async def reranked(
    account: Account,
    observation: Observation,
    scored: tuple[Scored, ...],
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[tuple[Scored, ...], Usage]:
    """`scored` in the model's order, what it left out behind Stop; as they are, with a report, where it gave none."""
    legal = [one for one in scored if not one.is_stop and one.score >= 0.0][:_MOST_ACTIONS]
    if len(legal) < 2:
        return scored, NOTHING_SPENT
    report(f"Asking {account.provider.name} what to try")
    answer = await account.ask(ranking_prompt(observation, legal), NOTHING_SPENT, report, cancel)
    numbers = answer if isinstance(answer, NoReply) else ranking_in(answer.text, len(legal))
    if isinstance(numbers, Refusal):
        report(f"{numbers.reason} The order stays as it was.")
        return scored, answer.usage
    return _in_order(scored, legal, numbers), answer.usage


def _in_order(scored: tuple[Scored, ...], legal: list[Scored], numbers: tuple[int, ...]) -> tuple[Scored, ...]:
    """Scores that fall from 1 in the model's order; Stop stands where it chose 0, or behind what it chose."""
    stop = next(one for one in scored if one.is_stop)
    chosen = [stop if number == 0 else legal[number - 1] for number in numbers]
    order = chosen if stop in chosen else [*chosen, stop]
    step = 1.0 / len(order)
    ranked = [
        dataclasses.replace(one, score=1.0 - place * step, reason=f"The model's choice. {one.reason}".strip())
        for place, one in enumerate(order)
    ]
    rest = [dataclasses.replace(one, score=-1.0) for one in scored if one not in chosen and not one.is_stop]
    return (*ranked, *rest)
