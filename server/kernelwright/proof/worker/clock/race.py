"""Quick comparison of many variants of one edit: a plain value check, a short first round, a longer one for the best."""

from collections.abc import Callable
from typing import Any

from kernelwright.proof.jobs import Race, RaceResult, Trial
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.form import Finding
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import reduction_length
from kernelwright.proof.worker.bench import (
    Bench,
    Rejected,
    candidate_here,
    close_bench,
    interpreting,
    load_candidate,
    open_bench,
    rejection,
    set_threads,
    targets_for,
    uses_triton,
)
from kernelwright.proof.worker.clock.performance import performance
from kernelwright.proof.worker.clock.statistics import timing_of
from kernelwright.proof.worker.clock.timing import Clock, clock_for, contestants_of, interleaved
from kernelwright.proof.worker.failed import failure_of
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.subject import unload
from kernelwright.values import Check, Failure, FailureKind, Timing

FIRST_ROUND = 0.03  # seconds per variant
FINAL_ROUND = 0.15


def run_race(job: Race, report: Callable[[str], None]) -> RaceResult:
    """Timings in the order of the variants, a Failure for those that fail. Raises JobFailed for the baseline's faults."""
    trial = Trial(job.path, job.baseline, job.baseline, job.baseline, job.workload, limits=job.limits)
    if interpreting() and uses_triton(job.baseline, *job.variants):
        reason = "Variants cannot be raced in Triton's interpreter: no GPU here."
        return RaceResult(tuple(Failure(FailureKind.WORKLOAD_FAILED, reason) for _ in job.variants))
    set_threads(job.limits)
    bench = open_bench(trial)
    try:
        return RaceResult(tuple(_raced(job, bench, report)))
    finally:
        close_bench(bench)


def _raced(job: Race, bench: Bench, report: Callable[[str], None]) -> list[Timing | Failure]:
    variation = performance(bench)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    expected = observe(targets.baseline, inputs, seed=variation.seed)
    length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), expected.tensors())
    double = in_fp64(targets.double, inputs, expected, seed=variation.seed, original=targets.baseline)
    reference = double if isinstance(double, Observation) else None
    clock, changed = clock_for(bench.device), set(expected.changed_inputs)
    results: list[Timing | Failure] = []
    kept: dict[int, Any] = {}
    modules = []
    for number, text in enumerate(job.variants):
        report(f"Trying variant {number + 1} of {len(job.variants)}")
        try:
            module = load_candidate(job.path, text)
            modules.append(module)
            flags.write(bench.settings)
            target = candidate_here(bench, module, targets)
            results.append(_first_round(target, bench, inputs, reference, expected, length, clock, changed))
            kept[number] = target
        except Rejected as rejected:
            results.append(_failure(rejected))
    best = sorted(kept, key=lambda n: results[n].median_ms)[: max(2, len(kept) // 3)]
    if len(best) > 1:
        report(f"Comparing the best {len(best)}")
        finalists = {str(number): kept[number] for number in best}
        budget = min(FINAL_ROUND * len(best), job.limits.timing_budget)
        samples = interleaved(contestants_of(finalists, inputs, changed), clock, budget=budget, fewest=10)
        for number in best:
            results[number] = timing_of(samples[str(number)])
    for module in modules:
        unload(module)
    return results


def _first_round(
    target: Any,
    bench: Bench,
    inputs: Inputs,
    reference: Observation | None,
    expected: Observation,
    length: int,
    clock: Clock,
    changed: set[int],
) -> Timing:
    """A value check against the baseline, then a few samples. Raises Rejected."""
    case = bench.trial.workload.described
    try:
        observed = observe(target, inputs, seed=bench.trial.limits.first_seed)
        # Without an fp64 reference: loose by the baseline's unknown error, yet far below any real mistake.
        judged = judge(Oracle(reference, expected), observed, length if reference else 64 * length)
        if judged.finding is not None and not (judged.reduced and bench.trial.limits.accept_reduced):
            raise Rejected(_check(judged.finding, case))
        del observed
        samples = interleaved(
            contestants_of({"variant": target}, inputs, changed), clock, budget=FIRST_ROUND, fewest=5, most=50
        )
    except Rejected:
        raise
    except (Exception, SystemExit) as error:
        raise rejection(error, case) from error
    return timing_of(samples["variant"])


def _check(found: Finding, case: str) -> Check:
    return Check(found.name, case, False, found.detail)


def _failure(rejected: Rejected) -> Failure:
    cause = rejected.__cause__
    if isinstance(cause, Exception):
        typed = failure_of(cause)
        if typed.kind in (FailureKind.COMPILE_FAILED, FailureKind.OUT_OF_MEMORY, FailureKind.CRASHED):
            return typed
    return Failure(FailureKind.WORKLOAD_FAILED, f"{rejected.check.name}: {rejected.check.detail}")
