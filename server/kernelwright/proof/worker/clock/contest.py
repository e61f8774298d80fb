"""The baseline as users run it today (eager, with TF32, compiled) beside the candidate, in one interleaved run."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.jobs import Contest, ContestResult, Imported, Imports, Trial
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.answers.judge import judge
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import reduction_length
from kernelwright.proof.worker.answers.trivial import told
from kernelwright.proof.worker.bench import (
    Bench,
    Rejected,
    Targets,
    candidate_here,
    close_bench,
    load_candidate,
    open_bench,
    set_threads,
    targets_for,
)
from kernelwright.proof.worker.clock.performance import performance
from kernelwright.proof.worker.clock.statistics import timing_of
from kernelwright.proof.worker.clock.timing import Contestant, clock_for, contestants_of, interleaved
from kernelwright.proof.worker.failed import failure_of
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation, named_state, observe
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.values import Failure, FailureKind, Timing


def import_compiler(job: Imports, report: Callable[[str], None]) -> Imported:
    """What torch.compile and its first call import, which takes longer than the timing of most contestants."""
    with contextlib.suppress(ImportError):  # what is missing is the contest's to tell
        import torch._dynamo
        import torch._inductor.compile_fx  # noqa: F401
    return Imported()


def run_contest(job: Contest, report: Callable[[str], None]) -> ContestResult:
    """Time all contestants; one that fails has a Failure in its place. Raises JobFailed for the baseline's own faults."""
    trial = Trial(job.path, job.baseline, job.baseline, job.candidate, job.workload, limits=job.limits)
    set_threads(job.limits)
    bench = open_bench(trial)
    try:
        return _contest(job, bench, report)
    except Rejected as rejected:
        return ContestResult({"candidate": Failure(FailureKind.WORKLOAD_FAILED, rejected.check.detail)})
    finally:
        close_bench(bench)


def _contest(job: Contest, bench: Bench, report: Callable[[str], None]) -> ContestResult:
    variation = performance(bench)
    targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
    module = load_candidate(job.path, job.candidate)
    flags.write(bench.settings)
    candidate = candidate_here(bench, module, targets)
    seen = observe(targets.baseline, inputs, seed=variation.seed)
    weak = told(judge(Oracle(None, seen), seen, 1, given=inputs.tensors()).trivial)
    named: dict[str, Any] = {"eager": targets.baseline, "eager-tf32": targets.baseline, "candidate": candidate}
    if job.compile:
        named["torch.compile"] = torch.compile(targets.baseline)
    changed = set(seen.changed_inputs)
    contestants = {
        name: _with_flags(contestant, _tf32(bench.settings) if name == "eager-tf32" else bench.settings)
        for name, contestant in contestants_of(named, inputs, changed).items()
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
    inaccurate = _inaccurate({name: named[name] for name in contestants}, bench, targets, inputs, seen, variation.seed)
    report("Measuring")
    samples = interleaved(contestants, clock_for(bench.device), budget=job.limits.timing_budget)
    timed = {name: timing_of(values) for name, values in samples.items()}
    return ContestResult({**timed, **timings}, weak, inaccurate)


def _inaccurate(
    named: Mapping[str, Any], bench: Bench, targets: Targets, inputs: Inputs, seen: Observation, seed: int
) -> dict[str, str]:
    """Who would not pass the gate's comparison on the performance case, and why. Eager is what it compares with."""
    length = reduction_length(inputs.tensors(), named_state(targets.baseline).values(), seen.tensors())
    double = in_fp64(targets.double, inputs, seen, seed=seed, original=targets.baseline)
    reference = Observation(double.output) if isinstance(double, Observation) else None
    found: dict[str, str] = {}
    for name, target in named.items():
        if name == "eager":
            continue
        flags.write(_tf32(bench.settings) if name == "eager-tf32" else bench.settings)
        output = Observation(observe(target, inputs, seed=seed).output)  # a compiled module names its buffers otherwise
        finding = judge(Oracle(reference, Observation(seen.output)), output, length).finding
        if finding is not None:
            found[name] = f"{finding.name}: {finding.detail}"
    flags.write(bench.settings)
    return found


def _tf32(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {**settings, "torch.backends.cuda.matmul.allow_tf32": True, "torch.backends.cudnn.allow_tf32": True}


def _with_flags(contestant: Contestant, settings: Mapping[str, Any]) -> Contestant:
    restore = contestant.prepare

    def prepare() -> None:
        flags.write(settings)
        if restore is not None:
            restore()

    return replace(contestant, prepare=prepare)
