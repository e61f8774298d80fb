"""Quick comparison of many variants of one edit: a plain value check, a short first round, a longer one for the best."""

from collections.abc import Callable
from typing import Any

from kernelwright.proof.jobs import Race, RaceResult, Trial
from kernelwright.proof.worker import flags, tuning
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.bench import Bench, interpreting, opened
from kernelwright.proof.worker.clock.performance import Performance, performed
from kernelwright.proof.worker.clock.statistics import timing_of
from kernelwright.proof.worker.construct import candidate_here, load_candidate
from kernelwright.proof.worker.failed import failure_of
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.rejected import Rejected, rejection
from kernelwright.proof.worker.timing.timer import Clock, clock_for, contestants_of, interleaved
from kernelwright.values import Failure, FailureKind, Timing

FIRST_ROUND = 0.03  # seconds per variant
FINAL_ROUND = 0.15


def run_race(job: Race, report: Callable[[str], None]) -> RaceResult:
    """Timings in the order of the variants, a Failure for those that fail. Raises JobFailed for the baseline's faults."""
    trial = Trial(
        job.path, job.baseline, job.baseline, job.baseline, job.workload, limits=job.limits, language=job.language
    )
    language = language_of(job.language)
    if interpreting() and language.is_interpreted_without_gpu(job.baseline, *job.variants):
        reason = f"Variants cannot be raced in {language.emulator}: no GPU here."
        return RaceResult(tuple(Failure(FailureKind.WORKLOAD_FAILED, reason) for _ in job.variants))
    wide = language.widened(job.baseline)
    language.prepare(job.path, [job.baseline, *job.variants, *([wide] if wide else [])])
    with opened(trial) as bench:
        if bench.device == "cuda":
            tuning.measure_once()
        return RaceResult(tuple(_raced(job, bench, report)))


def _raced(job: Race, bench: Bench, report: Callable[[str], None]) -> list[Timing | Failure]:
    case = performed(bench)
    clock, reference = clock_for(bench.device), case.reference()
    results: list[Timing | Failure] = []
    kept: dict[int, Any] = {}
    modules = []
    for number, text in enumerate(job.variants):
        report(f"Trying variant {number + 1} of {len(job.variants)}")
        try:
            module = load_candidate(bench.language, job.path, text)
            modules.append(module)
            flags.write(bench.settings)
            target = candidate_here(bench, module, case.targets)
            results.append(_first_round(target, bench, case, reference, clock))
            kept[number] = target
        except Rejected as rejected:
            results.append(_failure(rejected))
    best = sorted(kept, key=lambda n: results[n].median_ms)[: max(2, len(kept) // 3)]
    if len(best) > 1:
        report(f"Comparing the best {len(best)}")
        finalists = {str(number): kept[number] for number in best}
        budget = min(FINAL_ROUND * len(best), job.limits.timing_budget)
        samples = interleaved(
            contestants_of(finalists, case.inputs, set(case.seen.changed_inputs)), clock, budget=budget, fewest=10
        )
        for number in best:
            results[number] = timing_of(samples[str(number)])
    for module in modules:
        bench.language.unload(module)
    return results


def _first_round(target: Any, bench: Bench, case: Performance, reference: Observation | None, clock: Clock) -> Timing:
    """A value check against the baseline, then a few samples. Raises Rejected."""
    described, limits = bench.trial.workload.described, bench.trial.limits
    try:
        observed = observe(target, case.inputs, seed=case.seed)
        # Without an fp64 reference: loose by the baseline's unknown error, yet far below any real mistake.
        oracle = Oracle(reference, case.seen, in_fp32=case.in_fp32)
        judged = judge(oracle, observed, case.length if reference else 64 * case.length)
        if (found := judged.finding) is not None and not (judged.reduced and limits.accept_reduced):
            raise Rejected(found.name, described, found.detail)
        del observed
        contestants = contestants_of({"variant": target}, case.inputs, set(case.seen.changed_inputs))
        try:
            samples = interleaved(contestants, clock, budget=FIRST_ROUND, fewest=5, most=50)
        finally:
            if (put_back := contestants["variant"].prepare) is not None:
                put_back()  # the next variant is to find the inputs, not what this one has made of them
    except Rejected:
        raise
    except (Exception, SystemExit) as error:
        raise rejection(error, described) from error
    return timing_of(samples["variant"])


def _failure(rejected: Rejected) -> Failure:
    cause = rejected.__cause__
    if isinstance(cause, Exception):
        typed = failure_of(cause)
        if typed.kind in (FailureKind.COMPILE_FAILED, FailureKind.OUT_OF_MEMORY, FailureKind.CRASHED):
            return typed
    return Failure(FailureKind.WORKLOAD_FAILED, f"{rejected.check.name}: {rejected.check.detail}")
