"""Measuring a candidate that has passed the gate: beside baseline and previous, then checked again on fresh data."""

from collections.abc import Callable
from typing import Any

import torch

from kernelwright.proof.jobs import Probe
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.arguments import make_inputs
from kernelwright.proof.worker.bench import (
    Bench,
    Rejected,
    Report,
    candidate_target,
    load_candidate,
    rejection,
    targets_for,
)
from kernelwright.proof.worker.cases import Variation, plan
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.floor import compulsory, floor_ms, impossible
from kernelwright.proof.worker.inputs import Inputs, seed_everything
from kernelwright.proof.worker.judge import judge
from kernelwright.proof.worker.observe import Observation, named_state, observe, synchronize
from kernelwright.proof.worker.pair import constructor_arguments
from kernelwright.proof.worker.probe import cpu_name, probe
from kernelwright.proof.worker.reference import in_fp64
from kernelwright.proof.worker.statistics import ratio_of_medians, timing_of
from kernelwright.proof.worker.subject import unload
from kernelwright.proof.worker.timing import Clock, Contestant, clock_for, clocks_of_gpu, interleaved
from kernelwright.proof.worker.tolerance import reduction_length
from kernelwright.values import Check, Failure, FailureKind, Measurement, digest

RESIDUAL_MS = 0.05  # waiting for an idle device takes a few microseconds


def measure(bench: Bench, report: Report) -> Measurement:
    """Time all three texts on the performance case. Raises Rejected when the candidate cheats the clock, JobFailed."""
    trial = bench.trial
    variation = performance(bench)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    seen = observe(targets.baseline, inputs, seed=variation.seed)
    previous, loaded = _previous(bench, variation, targets)
    contestants = {"baseline": targets.baseline, "candidate": targets.candidate}
    if previous is not None:
        contestants["previous"] = previous
    clock = clock_for(bench.device)
    last: dict[str, Any] = {}
    report("Measuring: warming up")
    try:
        samples = interleaved(
            contestants_of(contestants, inputs, set(seen.changed_inputs), last),
            clock,
            budget=trial.limits.timing_budget,
            seed=trial.limits.first_seed,
            between=report,
        )
    except Exception as error:
        raise rejection(error, "while timing") from error
    if loaded is not None:
        unload(loaded)
    report("Checking the timed results")
    _complete(clock, samples)
    _same_process(bench)
    _recheck(bench, variation, targets, inputs, seen, last.get("candidate"))
    baseline, candidate = samples["baseline"], samples["candidate"]
    before = samples.get("previous", baseline)
    speedup, step = ratio_of_medians(baseline, candidate), ratio_of_medians(before, candidate)
    device = probe(Probe())
    shared = frozenset(index for index, _ in seen.aliases)
    parameters = list(named_state(targets.baseline).values())
    floor = floor_ms(compulsory(inputs.tensors(), parameters, seen.tensors(), shared), device)
    timed = timing_of(candidate)
    return Measurement(
        text_hash=digest(trial.candidate),
        baseline_hash=digest(trial.baseline),
        device=device.name if bench.device == "cuda" else cpu_name(),
        baseline=timing_of(baseline),
        previous=timing_of(before),
        candidate=timed,
        speedup=speedup.value,
        speedup_low=speedup.low,
        speedup_high=speedup.high,
        step_speedup=step.value,
        step_speedup_low=step.low,
        step_speedup_high=step.high,
        conditions=conditions(bench, inputs),
        floor_ms=floor,
        impossible=impossible(timed.median_ms, timing_of(baseline).median_ms, floor),
    )


def performance(bench: Bench) -> Variation:
    """The performance case as it is written, on the first seed."""
    return plan(bench.trial.workload, seeds=1, first_seed=bench.trial.limits.first_seed)[0]


def contestants_of(
    targets: dict[str, Any], inputs: Inputs, changed: set[int], last: dict[str, Any] | None = None
) -> dict[str, Contestant]:
    """One Contestant per target, all on the same tensors; inputs that the baseline changes are restored each time."""
    tensors = inputs.tensors()
    pristine = {index: tensors[index].detach().clone() for index in changed}

    def restore() -> None:
        with torch.no_grad():
            for index, original in pristine.items():
                tensors[index].copy_(original)

    def bound(name: str, target: Any) -> Callable[[], None]:
        def call() -> None:
            with torch.no_grad():
                made = target(*inputs.args, **inputs.kwargs)
            if last is not None:
                last[name] = made

        return call

    prepare = restore if pristine else None
    return {name: Contestant(bound(name, target), prepare) for name, target in targets.items()}


def conditions(bench: Bench, inputs: Inputs) -> dict[str, str]:
    """The facts to show beside the number."""
    dtypes = sorted({str(t.dtype).removeprefix("torch.") for t in inputs.tensors()})
    named = {"workload": bench.trial.workload.described, "dtype": ", ".join(dtypes), "gradients": "off"}
    if bench.device == "cuda":
        return {**named, **flags.described(), "L2": "flushed before each sample", **clocks_of_gpu()}
    return {**named, "threads": str(torch.get_num_threads()), "caches": "warm"}


def _previous(bench: Bench, variation: Variation, targets: Any) -> tuple[Any, Any]:
    """(target, module) of the previous text; none when it is the baseline's."""
    trial = bench.trial
    if trial.previous == trial.baseline:
        return None, None
    try:
        module = load_candidate(trial.path, trial.previous)
        flags.write(bench.settings)
        arguments = constructor_arguments(bench.baseline, variation.call, device=bench.device, seed=variation.seed)
        return candidate_target(bench, module, arguments, targets.baseline), module
    except Rejected as rejected:
        raise JobFailed(_previous_fails(rejected)) from rejected


def _previous_fails(rejected: Rejected) -> Failure:
    return Failure(FailureKind.WORKLOAD_FAILED, f"The previous version no longer runs: {rejected.check.detail}")


def _complete(clock: Clock, samples: dict[str, Any]) -> None:
    """Work that is still running after the end of every sample was never timed."""
    left = clock.residual_ms.get("candidate", 0.0)
    typical = float(timing_of(samples["candidate"]).median_ms)
    if left > RESIDUAL_MS + 0.2 * typical:
        detail = f"work went on for {left:.3g} ms after the timed call: it runs on a stream that nothing waits for"
        raise Rejected(Check("timing-complete", "while timing", False, detail))


def _same_process(bench: Bench) -> None:
    changed = [*flags.differences(bench.settings, flags.read()), *flags.replaced_functions()]
    if changed:
        raise Rejected(Check("settings", "while timing", False, f"changed while timing: {'; '.join(changed)}"))


def _recheck(
    bench: Bench, variation: Variation, targets: Any, inputs: Inputs, seen: Observation, timed_output: Any
) -> None:
    """What was timed must be right: the last timed output, and fresh data in the very memory that was timed."""
    pristine = make_inputs(bench, variation)
    # Another seed tells whether the call draws random numbers: then two timed calls rightly differ.
    other = observe(targets.baseline, pristine, seed=variation.seed + 1)
    length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), seen.tensors())
    outputs_only = Observation(seen.output)
    if judge(None, outputs_only, Observation(other.output), length).finding is None:
        reference = in_fp64(targets.double, pristine, seen, seed=variation.seed)
        reference = Observation(reference.output) if isinstance(reference, Observation) else None
        found = judge(reference, outputs_only, Observation(timed_output), length).finding
        if found is not None:
            raise Rejected(Check("recheck-after-timing", "the last timed call", False, found.detail))
    del other, pristine
    fresh = make_inputs(bench, Variation(variation.label, variation.call, variation.seed + 1000))
    expected = observe(targets.baseline, fresh, seed=variation.seed)
    reference = in_fp64(targets.double, fresh, expected, seed=variation.seed)
    with torch.no_grad():
        for tensor, new in zip(inputs.tensors(), fresh.tensors(), strict=True):
            # Through .data, so that neither address, shape nor version tells a cache that the contents are new.
            tensor.data.copy_(new)
        del fresh
        seed_everything(variation.seed)
        try:
            output = targets.candidate(*inputs.args, **inputs.kwargs)
            synchronize()
        except Exception as error:
            raise rejection(error, "on fresh data after timing") from error
    reference = Observation(reference.output) if isinstance(reference, Observation) else None
    judged = judge(reference, Observation(expected.output), Observation(output), length)
    if judged.finding is not None:
        detail = f"on fresh data in the timed memory: {judged.finding.detail}"
        raise Rejected(Check("recheck-after-timing", variation.label, False, detail))
    bench.checks.append(Check("recheck-after-timing", "fresh data in the timed memory", True, judged.detail))
