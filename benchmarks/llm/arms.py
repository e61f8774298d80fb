"""The arms of the comparison, a row each: what one does with a kernel and so many calls of a model."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.llm.coders import OneShot, Watched, broke_off
from benchmarks.llm.metered import Metered

from kernelwright import words
from kernelwright.cli.card import text_after
from kernelwright.coders import Attempt
from kernelwright.engine import Engine, Request
from kernelwright.macro.policy import Scored, candidates
from kernelwright.macro.policy.expected_gain import expected_gain
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation
from kernelwright.models.account import Account
from kernelwright.observer import Nothing, Report
from kernelwright.values import Action, Device, Failure, Language, Outcome, Refusal, Region, Step, digest

_ANY_WAY = {Language.TORCH: "torch.rewrite.algorithm", Language.TRITON: "triton.rewrite.online-algorithm"}
"""Under which name a whole rewrite is tried: strategies that ask nothing of what comes out."""


@dataclass(frozen=True)
class Played:
    """What an arm came to: every attempt, the steps that were kept, and why there are no more."""

    attempts: tuple[Attempt, ...] = ()
    kept: tuple[Step, ...] = ()
    ending: str = ""
    device: Device | None = None

    def then(self, coder: Watched, step: Step | Nothing) -> "Played":
        """With what a coder came to. It ends where nothing could be asked or tried, but not with an answer that broke off."""
        attempts = (*self.attempts, *coder.attempts)
        kept = (*self.kept, step) if isinstance(step, Step) and step.outcome is Outcome.KEPT else self.kept
        nothing = step.failure if isinstance(step, Step) else step
        ends = not nothing.about_kernel if isinstance(nothing, Failure) else not broke_off(nothing)
        return dataclasses.replace(self, attempts=attempts, kept=kept, ending=_why(nothing) if nothing and ends else "")


Arm = Callable[[Engine, Request, Metered, Report], Awaitable[Played]]


async def stepwise(engine: Engine, request: Request, provider: Metered, report: Report) -> Played:
    """Let the policy choose one strategy at a time, and the model write its edit, until the calls are used up."""
    played = Played()
    while provider.left and not provider.unanswered and not played.ending:
        text = text_after(list(played.kept), request.text)
        observation = await _observed(engine, dataclasses.replace(request, text=text), report)
        if not isinstance(observation, Observation):
            return dataclasses.replace(played, ending=_why(observation))
        played = dataclasses.replace(played, device=observation.device)
        coder = Watched(engine.coder(provider), provider)
        action = await asyncio.to_thread(_next, engine, observation, coder)
        if isinstance(action, Refusal):
            return dataclasses.replace(played, ending=action.reason)
        played = played.then(coder, await _taken(engine, request, text, action, coder, report))
    return played


async def one_shot(engine: Engine, request: Request, provider: Metered, report: Report) -> Played:
    """Ask for the fastest equivalent of everything at once, and again with the evidence, until the calls are used up."""
    observation = await _observed(engine, request, report)
    if not isinstance(observation, Observation):
        return Played(ending=_why(observation))
    kernel = observation.kernel
    region = Region(kernel.start_line, kernel.end_line, digest(request.text), kernel.name)
    action = Action(_ANY_WAY[kernel.language], region)
    coder = Watched(OneShot(Account(provider, engine.settings, engine.journal)), provider)
    step = await _taken(engine, request, request.text, action, coder, report)
    return Played(device=observation.device).then(coder, step)


ARMS: dict[str, Arm] = {"stepwise": stepwise, "one-shot": one_shot}


def _next(engine: Engine, observation: Observation, coder: Watched) -> Action | Refusal:
    """What the policy chooses of what `coder` writes. Without a GPU also a kernel, interpreted there, for its verdict."""
    policy = expected_gain(engine.settings.min_gain)
    offered = candidates(engine.menu(observation))
    scored = policy(observation, tuple(one for one in offered if one.strategy and coder.refuses(one.strategy) is None))
    stop = next(one for one in scored if one.is_stop)
    chosen = next((one for one in scored if one is not stop and _is_worth_it(one, stop, observation.device)), stop)
    return Refusal(stop.reason) if chosen is stop else chosen.action


def _is_worth_it(one: Scored, stop: Scored, device: Device) -> bool:
    is_interpreted = not device.is_gpu and registry()[one.action.strategy].promises_kernel
    return one.score >= (0.0 if is_interpreted else stop.score)


async def _observed(engine: Engine, request: Request, report: Report) -> Observation | Nothing:
    return await engine.observe_fully(request.path, request.text, request.kernel, report, support=request.support)


async def _taken(
    engine: Engine, request: Request, text: str, action: Action, coder: Watched, report: Report
) -> Step | Nothing:
    """The step of an Action that is asked for by name, so that one which is right is kept where nothing can be timed."""
    return await engine.optimize(dataclasses.replace(request, text=text, action=action, coders=(coder,)), report)


def _why(answer: Nothing) -> str:
    return words.of_failure(answer) if isinstance(answer, Failure) else answer.reason
