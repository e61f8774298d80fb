"""Strategies that have the whole of a module's forward run in another way: each is helpers, an estimate, and words."""

import functools
from collections.abc import Callable

from kernelwright.macro.intent import Intent, Wrap
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.helpers import Helper
from kernelwright.micro.rewrite.whole_module import forward_of, not_repeatable
from kernelwright.micro.rewrite.whole_speed import launches
from kernelwright.values import Action, Device, Graph, Language, Refusal, Region

Gain = Callable[[Graph, Device], float]
Few = Callable[[Graph], Refusal | None]


def wrapping(
    id: str,
    helpers: tuple[Helper, ...],
    gain: Gain,
    few: Few,
    *,
    title: str,
    family: Family,
    why: str,
    doc: str,
    instruction: str,
    example: Example,
    slow_start: bool = False,
) -> Strategy:
    """Return the strategy `id`, whose variants are the `helpers`.

    `gain` estimates what the first of them brings; `few` says why a call launches too few kernels to gain anything.
    """
    return Strategy(
        id=id,
        title=title,
        family=family,
        languages=frozenset({Language.TORCH}),
        why=why,
        doc=doc,
        instruction=instruction,
        example=example,
        find=functools.partial(_find, id, gain, few),
        intent=functools.partial(_intent, helpers),
        needs_graph=True,
        needs_gpu=True,
        slow_start=slow_start,
        rule_only="it uses modules that are not allowed in a kernel's code",
    )


def _find(id: str, gain: Gain, few: Few, observation: Observation) -> tuple[Action, ...] | Refusal:
    source, kernel = observation.source, observation.kernel
    if isinstance(source, Refusal):
        return source
    forward = forward_of(source, kernel.name)
    if isinstance(forward, Refusal):
        return forward
    graph = source.graph
    refusal = not_repeatable(source, forward) or few(graph)
    if refusal is not None:
        return refusal
    count = launches(graph)
    label = f"{count} kernels of {kernel.name}"
    region = Region(forward.lineno - 1, forward.end_lineno or forward.lineno, graph.text_hash, label)
    params: dict[str, float | str] = {
        "expected_gain": round(gain(graph, observation.device), 4),
        "reason": f"Eager mode launches about {count} kernels, one after another, in every call.",
    }
    return (Action(id, region, params),)


def _intent(helpers: tuple[Helper, ...], observation: Observation, action: Action) -> Intent | Refusal:
    return Wrap(observation.kernel.name, helpers)
