"""The baseline as users run it today (eager, with TF32, compiled) beside the candidate, in one interleaved run."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.jobs import Contest, ContestResult, Trial
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.trivial import told
from kernelwright.proof.worker.bench import Bench, opened
from kernelwright.proof.worker.clock.performance import Performance, performed
from kernelwright.proof.worker.clock.statistics import timing_of
from kernelwright.proof.worker.construct import candidate_here, load_candidate
from kernelwright.proof.worker.failed import failure_of
from kernelwright.proof.worker.observe import Observation, observe
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.timing.timer import Contestant, clock_for, contestants_of, interleaved
from kernelwright.values import Failure, FailureKind, Timing


def run_contest(job: Contest, report: Callable[[str], None]) -> ContestResult:
    """Time all contestants; one that fails has a Failure in its place. Raises JobFailed for the baseline's own faults."""
    trial = Trial(
        job.path, job.baseline, job.baseline, job.candidate, job.workload, limits=job.limits, language=job.language
    )
    try:
        with opened(trial) as bench:
            return _contest(job, bench, report)
    except Rejected as rejected:
        return ContestResult({"candidate": Failure(FailureKind.WORKLOAD_FAILED, rejected.check.detail)})


def _contest(job: Contest, bench: Bench, report: Callable[[str], None]) -> ContestResult:
    case = performed(bench)
    targets, inputs, seen = case.targets, case.inputs, case.seen
    module = load_candidate(bench.language, job.path, job.candidate)
    flags.write(bench.settings)
    candidate = candidate_here(bench, module, targets)
    weak = told(judge(Oracle(None, seen), seen, 1, given=inputs.tensors()).trivial)
    named: dict[str, Any] = {"eager": targets.baseline, "eager-tf32": targets.baseline, "candidate": candidate}
    if job.compile:
        named["torch.compile"] = torch.compile(targets.baseline)
    contestants = {
        name: _with_flags(contestant, flags.in_tf32(bench.settings) if name == "eager-tf32" else bench.settings)
        for name, contestant in contestants_of(named, inputs, set(seen.changed_inputs)).items()
    }
    timings: dict[str, Timing | Failure] = {}
    for name, contestant in list(contestants.items()):
        report(f"Warming up {name}")
        try:
            if contestant.prepare is not None:
                contestant.prepare()
            contestant.call()
        except Exception as error:  # noqa: BLE001  (user code and compilers raise anything; each is typed here)
            timings[name] = failure_of(error)
            del contestants[name]
    report("Comparing the results with the fp64 reference")
    inaccurate = _inaccurate({name: named[name] for name in contestants}, bench, case)
    report("Measuring")
    samples = interleaved(contestants, clock_for(bench.device), budget=job.limits.timing_budget)
    timed = {name: timing_of(values) for name, values in samples.items()}
    return ContestResult({**timed, **timings}, weak, inaccurate)


def _inaccurate(named: Mapping[str, Any], bench: Bench, case: Performance) -> dict[str, str]:
    """Who would not pass the gate's comparison on the performance case, and why. Eager is what it compares with."""
    reference = case.reference()
    only_output = lambda seen: seen and Observation(seen.output)  # a compiled module names its buffers otherwise
    plain = lambda: only_output(case.in_fp32())
    oracle = Oracle(only_output(reference), only_output(case.seen), in_fp32=plain)
    found: dict[str, str] = {}
    for name, target in named.items():
        if name == "eager":
            continue
        flags.write(flags.in_tf32(bench.settings) if name == "eager-tf32" else bench.settings)
        finding = judge(oracle, only_output(observe(target, case.inputs, seed=case.seed)), case.length).finding
        if finding is not None:
            found[name] = f"{finding.name}: {finding.detail}"
    flags.write(bench.settings)
    return found


def _with_flags(contestant: Contestant, settings: Mapping[str, Any]) -> Contestant:
    restore = contestant.prepare

    def prepare() -> None:
        flags.write(settings)
        if restore is not None:
            restore()

    return replace(contestant, prepare=prepare)
