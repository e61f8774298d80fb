"""How kept steps are made again on another text: each finds its region in it, and wants the variant that was chosen."""

import dataclasses
import re
from collections.abc import AsyncIterator, Awaitable, Callable

from kernelwright import words
from kernelwright.macro.policy import offered
from kernelwright.macro.strategies import by_id, renamed, title_of
from kernelwright.macro.strategy import Observation
from kernelwright.micro.edits import transplant
from kernelwright.observer import Nothing, Report
from kernelwright.values import DETERMINISTIC, Action, Failure, Outcome, Recipe, Refusal, Region, Step, apply, digest
from kernelwright.values.plain import plain

_LONGEST_LINE = 60

Make = Callable[[Step, str, Report], Awaitable[Step | Nothing]]
"""Makes a kept step once more on a text."""


def again(observation: Observation, step: Step) -> Action | Refusal:
    """The Action that does `step` again: on the same operators, the nearest ones where there are several such regions.

    For a step that a model or an agent wrote it is about the whole kernel: what it does is in its edits (`moved`).
    """
    before = renamed(step.chosen)
    if by_id(before.strategy) is None:
        return Refusal("There is no such strategy any more.")
    if not is_written_by_rule(step):
        kernel = observation.kernel
        region = Region(kernel.start_line, kernel.end_line, digest(observation.text), before.region.label)
        return Action(before.strategy, region)
    actions = offered(before.strategy, observation)
    if isinstance(actions, Refusal):
        return actions
    same = [action for action in actions if _operators(action) == _operators(before)]
    if not same:
        others = "; ".join(dict.fromkeys(action.region.label for action in actions))
        return Refusal(f"It applies to {others} here, not to {before.region.label}.")
    line = before.region.start_line
    nearest = min(same, key=lambda action: abs(action.region.start_line - line))
    return dataclasses.replace(nearest, opts=before.opts, variant=before.variant)


def is_written_by_rule(step: Step) -> bool:
    """Whether the edits of `step` can be written anew."""
    return step.author == DETERMINISTIC


def moved(step: Step, before: str | None, text: str) -> str | Refusal:
    """What `text` becomes by the edits of `step`, which were made on `before`, where the lines that they touch are the same."""
    if step.edits is None or before is None:
        return Refusal("The journal no longer holds the text that it was made on.")
    edits = transplant(step.edits, before, text)
    if not isinstance(edits, Refusal):
        return apply(edits, text)
    if edits.line is None:
        return edits
    line = before.splitlines()[edits.line].strip() if edits.line < len(before.splitlines()) else ""
    return Refusal(
        f"{step.author} wrote it for a text with the line `{plain(line)[:_LONGEST_LINE]}`, which has changed."
    )


def _operators(action: Action) -> str:
    """What the Action's region is made of, whatever its sizes, and in however many places."""
    return re.sub(r", in \d+ places$|\b\d[\d.]*\b", "", action.region.label)


async def replayed(recipe: Recipe, text: str, make: Make, report: Report) -> AsyncIterator[Step | Nothing]:
    """Each step of `recipe` as `make` makes it once more, on `text` and then on what the steps before it have left.

    A Refusal stands in the place of one that is left out. A Failure that says nothing about the kernel ends all.
    """
    if not recipe.steps:
        yield Refusal(f"The journal has no kept step of {recipe.kernel}, so there is nothing to replay.")
    for number, earlier in enumerate(recipe.steps, 1):
        stage = f"Step {number} of {len(recipe.steps)}: "
        answer = await make(earlier, text, lambda said, stage=stage: report(stage + said))  # type: ignore[misc]
        yield _left_out(earlier, answer) if isinstance(answer, Refusal) else answer
        failure = answer.failure if isinstance(answer, Step) else answer
        if isinstance(failure, Failure) and not failure.about_kernel:
            return
        if isinstance(answer, Step) and answer.outcome is Outcome.KEPT and answer.edits:
            text = apply(answer.edits, text)


def _left_out(step: Step, why: Refusal) -> Refusal:
    """`why`, with the step that it is said of."""
    said = words.left_out(title_of(renamed(step.action).strategy), step.action.region.label, why.reason)
    return dataclasses.replace(why, reason=said)
