"""The prompt by which a model ranks Actions, and its answer."""

import re
from collections.abc import Sequence

from kernelwright.macro.policy import Scored
from kernelwright.macro.strategies import title_of
from kernelwright.macro.strategy import Observation
from kernelwright.prompting.action import calls_of, device_words, roofline_words, steps_before
from kernelwright.prompting.templates import fenced, render
from kernelwright.values import Conversation, Message, Refusal, Role

_RANKING = re.compile(r"^RANKING:\s*(\d+(?:\s*,\s*\d+)*)\s*$", re.MULTILINE)


def ranking_prompt(observation: Observation, legal: Sequence[Scored]) -> Conversation:
    """What a model is asked; its numbers count `legal` from 1, and 0 is Stop."""
    kernel = observation.kernel
    lines = observation.text.splitlines()[kernel.start_line : kernel.end_line]
    actions = [
        (number, title_of(one.action.strategy), one.action.region.label, one.reason)
        for number, one in enumerate(legal, 1)
    ]
    user = render(
        "ranking",
        kernel=kernel,
        device=device_words(observation.device),
        roofline=roofline_words(observation),
        workload=calls_of(observation.workload),
        steps=steps_before(observation),
        actions=actions,
        code=fenced("\n".join(lines), observation.support.id),
    )
    return Message(Role.SYSTEM, render("policy")), Message(Role.USER, user)


def ranking_in(answer: str, count: int) -> tuple[int, ...] | Refusal:
    """The numbers of an answer, each once, from 0 to `count`."""
    found = _RANKING.findall(answer)
    if len(found) != 1:
        return Refusal("The model's answer has no single line of the form RANKING: 3, 1.")
    numbers = tuple(dict.fromkeys(int(number) for number in found[0].split(",")))
    if max(numbers) > count:
        return Refusal(f"The model chose action {max(numbers)}, and there are only {count}.")
    return numbers
