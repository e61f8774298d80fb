"""Which of several Variants to try first: those that compile, in the order of a quick race on the device."""

import asyncio
import dataclasses

from kernelwright.coders import Variant
from kernelwright.languages import support_of
from kernelwright.macro.strategies import with_id
from kernelwright.macro.strategy import Observation
from kernelwright.observer import Observer, Report, run_text
from kernelwright.proof.jobs import CompileResult, Limits, Race, RaceResult
from kernelwright.values import Failure, FailureKind, Timing, WorkloadSource

MANY_VARIANTS = 8
"""From here on compiling all variants first, off the GPU, is cheaper than racing those that spill or do not compile."""

_NOT_HERE = (FailureKind.WORKLOAD_FAILED, FailureKind.DEVICE_GONE, FailureKind.NO_GPU)
"""Of a file that cannot be loaded, or a launcher that does not run, without a GPU or without data."""


async def ranked(
    observer: Observer,
    observation: Observation,
    variants: tuple[Variant, ...],
    limits: Limits,
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Variant, ...] | Failure:
    """The Variants in the order in which to try them: by time where a race can be run, otherwise as they are.

    Where a race takes too long, one without the variants that start slowly follows.
    """
    interprets = support_of(observation.unit.language).is_interpreted_without_gpu
    interpreted = not observation.device.is_gpu and any(
        interprets(run_text(observation, variant.text)) for variant in variants
    )
    strategy = with_id(variants[0].action.strategy)
    if strategy.needs_gpu and len(variants) > MANY_VARIANTS and all(v.action == variants[0].action for v in variants):
        compilable = await _compilable(observer, observation, variants, report, cancel)
        if isinstance(compilable, Failure):
            return compilable
        variants = compilable
    assert observation.workload is not None
    if len(variants) == 1 or interpreted or observation.workload.source is WorkloadSource.PROGRAM:
        return variants
    report(f"{strategy.title}: racing {len(variants)} variants")
    answer = await observer.workers.run(
        Race(
            observation.path,
            observation.unit.run,
            tuple(run_text(observation, variant.text) for variant in variants),
            observation.workload,
            limits,
            observation.unit.language,
        ),
        timeout=observer.settings.verify_timeout,
        report=report,
        cancel=cancel,
    )
    if isinstance(answer, Failure):
        quick = tuple(v for v in variants if not with_id(v.action.strategy).slow_start)
        if answer.kind is FailureKind.TIMED_OUT and 0 < len(quick) < len(variants):
            return await ranked(observer, observation, quick, limits, report, cancel)
        return answer
    assert isinstance(answer, RaceResult)
    timed = sorted((t.median_ms, i) for i, t in enumerate(answer.timings) if isinstance(t, Timing))
    out = [(variants[i], t) for i, t in enumerate(answer.timings) if isinstance(t, Failure)]
    if timed and out:
        (one, why), *_ = out
        title = with_id(one.action.strategy).title
        report(f"{len(out)} of {len(variants)} variants are out of the race; {title}: {why.message}")
    if timed:
        return tuple(variants[i] for _, i in timed)
    return next(t for t in answer.timings if isinstance(t, Failure))


async def _compilable(
    observer: Observer,
    observation: Observation,
    variants: tuple[Variant, ...],
    report: Report,
    cancel: asyncio.Event | None,
) -> tuple[Variant, ...] | Failure:
    """The variants that compile; those that spill registers only if no other is left.

    All of them where that cannot be asked without a GPU: the race tells. Without a GPU there will be no race, so the
    first good one ends the search.
    """
    observer.workers.expect_trial()  # to be there when the race is over
    clean: list[Variant] = []
    spilling: list[Variant] = []
    failure: Failure | None = None
    for number, variant in enumerate(variants, 1):
        answer = await observer.resources(
            dataclasses.replace(observation, text=variant.text),
            _as_one_stage(f"Compiling variant {number} of {len(variants)}", report),
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
            if answer.kind in _NOT_HERE and observation.device.is_gpu:
                return variants
    return tuple(clean or spilling) or failure or Failure(FailureKind.COMPILE_FAILED, "No variant compiles.")


def _as_one_stage(stage: str, report: Report) -> Report:
    """Reports `stage` in place of all that is reported."""
    return lambda _: report(stage)
