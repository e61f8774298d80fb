"""The Edits between which only a measurement can choose: an Action's own variants, the same with what the strategy
prepares for on top, and those of rival Actions. They are compiled, raced, and the fastest is tried.
"""

import asyncio
import dataclasses
from dataclasses import dataclass

from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.observer import Observer, Report
from kernelwright.proof.jobs import CompileResult, Limits, Race, RaceResult
from kernelwright.values import Action, Edits, Failure, FailureKind, Refusal, Timing, apply

MANY_VARIANTS = 8
"""From here on compiling all variants first, off the GPU, is cheaper than racing those that spill or do not compile."""


@dataclass(frozen=True)
class Variant:
    """One way to carry out an Action, and the text that it gives."""

    action: Action
    edits: Edits
    text: str


async def variants_of(
    observer: Observer,
    observation: Observation,
    actions: tuple[Action, ...],
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Variant, ...] | Refusal:
    """Every way to carry out one of `actions`, the first Action's best guess first; a Refusal when there is none.

    An Action other than the first that cannot be carried out is left out: nobody asked for it.
    """
    found: list[Variant] = []
    refusal: Refusal | None = None
    for action in actions:
        strategy = registry()[action.strategy]
        answer = _rewritten(observation, strategy, action, report)
        if isinstance(answer, Refusal):
            refusal = refusal or answer
            continue
        if strategy.prepares and observation.device.is_gpu:
            answer += await _followed_up(observer, observation, strategy, answer[0], report, cancel)
        found += [Variant(action, edits, apply(edits, observation.text)) for edits in answer]
    if found:
        return tuple(found)
    return refusal or Refusal("There is nothing to carry out.")


async def fastest(
    observer: Observer,
    observation: Observation,
    variants: tuple[Variant, ...],
    limits: Limits,
    report: Report,
    cancel: asyncio.Event | None,
) -> Variant | Failure:
    """The variant to try: the fastest where a race can be run, otherwise the first."""
    runs_triton = any("triton" in variant.text for variant in variants)
    gpu = observation.device.is_gpu
    strategy = registry()[variants[0].action.strategy]
    if strategy.needs_gpu and len(variants) > MANY_VARIANTS and all(v.action == variants[0].action for v in variants):
        compilable = await _compilable(observer, observation, variants, report, cancel)
        if isinstance(compilable, Failure):
            return compilable
        variants = compilable
    if len(variants) == 1 or (runs_triton and not gpu):
        return variants[0]
    assert observation.workload is not None
    report(f"{strategy.title}: racing {len(variants)} variants")
    answer = await observer.workers.run(
        Race(
            observation.path,
            observation.text,
            tuple(variant.text for variant in variants),
            observation.workload,
            limits,
        ),
        timeout=observer.settings.verify_timeout,
        report=report,
        cancel=cancel,
    )
    if isinstance(answer, Failure):
        return answer
    assert isinstance(answer, RaceResult)
    timed = [(t.median_ms, i) for i, t in enumerate(answer.timings) if isinstance(t, Timing)]
    if timed:
        return variants[min(timed)[1]]
    return next(t for t in answer.timings if isinstance(t, Failure))


def _rewritten(
    observation: Observation, strategy: Strategy, action: Action, report: Report
) -> tuple[Edits, ...] | Refusal:
    if strategy.rewrite is None:
        return Refusal(f"{strategy.title} needs a language model, and none is configured.")
    report(f"{strategy.title}: rewriting")
    return strategy.rewrite(observation, action)


async def _followed_up(
    observer: Observer,
    observation: Observation,
    strategy: Strategy,
    first: Edits,
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Edits, ...]:
    """`first` together with what `strategy` prepares for: alone it may cost more than it gains."""
    text = apply(first, observation.text)
    prepared = observer.observe(observation.path, text, observation.kernel.name)
    if isinstance(prepared, Refusal) or prepared.workload is None:
        return ()
    graph = await observer.capture(prepared, report, cancel)
    if isinstance(graph, Failure):
        return ()
    prepared = dataclasses.replace(prepared, graph=graph)
    found: list[Edits] = []
    for follower in (registry()[name] for name in strategy.prepares):
        actions = follower.applies(prepared)
        if isinstance(actions, Refusal) or follower.rewrite is None:
            continue
        edits = follower.rewrite(prepared, actions[0])
        if isinstance(edits, Refusal):
            continue
        together = f"{first.summary}, then {follower.title.lower()}".removeprefix(", ")
        found += [difference(observation.text, apply(e, text), f"{together}: {e.summary}") for e in edits]
    return tuple(found)


async def _compilable(
    observer: Observer,
    observation: Observation,
    variants: tuple[Variant, ...],
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Variant, ...] | Failure:
    """The variants that compile; those that spill registers only if no other is left.

    Without a GPU there will be no race, so the first good one ends the search.
    """
    clean: list[Variant] = []
    spilling: list[Variant] = []
    failure: Failure | None = None
    for number, variant in enumerate(variants, 1):
        answer = await observer.resources(
            dataclasses.replace(observation, text=variant.text),
            lambda _, n=number: report(f"Compiling variant {n} of {len(variants)}"),
            cancel,
        )
        if isinstance(answer, CompileResult):
            (spilling if any(r.spill_bytes for r in answer.resources) else clean).append(variant)
            if clean and not observation.device.is_gpu:
                break
        elif isinstance(answer, Failure):
            failure = answer
            if answer.kind is FailureKind.CANCELLED:
                return answer
    return tuple(clean or spilling) or failure or Failure(FailureKind.COMPILE_FAILED, "No variant compiles.")
