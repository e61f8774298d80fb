"""Profiles warm calls of the performance case: kernels by device time on a GPU, operators by CPU time on a CPU, launches
counted in Triton's interpreter.
"""

import dataclasses
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelwright.proof.jobs import Profile, Trial
from kernelwright.proof.worker import failed, raised
from kernelwright.proof.worker.bench import Bench, interpreting, opened
from kernelwright.proof.worker.clock.measure import conditions
from kernelwright.proof.worker.clock.performance import performance, performance_here
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.inputs import Inputs, initial_arguments
from kernelwright.proof.worker.observe import synchronize
from kernelwright.proof.worker.probe import cpu_name
from kernelwright.proof.worker.profiling.counting import counted_launches
from kernelwright.proof.worker.profiling.looking import BLIND, Call, look, prepared
from kernelwright.proof.worker.profiling.work import Part, Work, amount, is_nothing
from kernelwright.proof.worker.rejected import Undecidable
from kernelwright.proof.worker.subject import make_target
from kernelwright.proof.worker.timing.timer import clock_for
from kernelwright.values import Failure, FailureKind, Origin, ProfiledKernel, ProfiledOn, ProfileResult, digest
from kernelwright.values.profile import share

CALLS = 7
SLOW = 1.0  # seconds; a call that takes longer is profiled once

_COUNTED = "Triton's launches, and torch's operators outside them that compute (no views, no allocations)"
_MEASURED = {
    ProfiledOn.GPU: {"L2": "flushed before each call", "measured with": "torch.profiler, CUDA activities"},
    ProfiledOn.CPU: {"measured with": "torch.profiler, each operator's own CPU time"},
    ProfiledOn.INTERPRETER: {"counted": _COUNTED},
}

Report = Callable[[str], None]


def run_profile(job: Profile, report: Report) -> ProfileResult:
    """Profile the text as it stands. Raises JobFailed: what loading and calling it can fail with, and NOT_PROFILED."""
    given = job.subject
    report("Loading the file")
    trial = Trial(
        given.path,
        given.text,
        given.text,
        given.text,
        given.workload,
        measure=False,
        limits=job.limits,
        language=given.language,
    )
    with opened(trial) as bench:
        return _profiled(job, bench, report)


def tally(calls: Sequence[Work]) -> tuple[ProfiledKernel, ...]:
    """The kernels of a call, those with the most time first, then those with the most launches.

    Launches are a mean over the calls, times a median, in microseconds; a call without a kernel spent 0 on it.
    """
    timed, none = all(call.timed for call in calls), Part("", Origin.LIBRARY, 0, 0.0)
    tables = [{(p.name, p.origin): p for p in call.parts if call.timed or not is_nothing(p.name)} for call in calls]
    found: list[ProfiledKernel] = []
    for name, origin in dict.fromkeys(itertools.chain(*tables)):
        own = [table.get((name, origin), none) for table in tables]
        median = statistics.median(part.amount for part in own) if timed else None
        found.append(ProfiledKernel(name, origin, sum(part.count for part in own) / len(calls), median))
    whole = sum(kernel.time_us or 0.0 for kernel in found) if timed else None
    shared = (dataclasses.replace(kernel, share=share((kernel.time_us,), whole)) for kernel in found)
    return tuple(sorted(shared, key=lambda kernel: (-(kernel.time_us or 0.0), -kernel.launches, kernel.name)))


def spread(calls: Sequence[Work]) -> str:
    """The range of the time that the kernels of a call took together, in words; "" where fewer than two were timed."""
    wholes = [amount(call.parts) / 1000 for call in calls if call.timed]
    return f"{min(wholes):.3g} to {max(wholes):.3g} ms a call" if len(wholes) > 1 else ""


def _profiled(job: Profile, bench: Bench, report: Report) -> ProfileResult:
    given = job.subject
    texts = bench.language.texts(given.path, given.text)
    interpreted = interpreting() and bench.language.is_interpreted_without_gpu(*texts)
    bench = dataclasses.replace(bench, interpreted=interpreted)
    target, inputs = _target(bench)
    try:
        calls = _looked_at(bench, lambda: prepared(target, inputs, job.limits.first_seed), report)
    except JobFailed:
        raise
    except (Exception, SystemExit) as error:
        typed = failed.failure_of(error)
        if typed.kind is FailureKind.WORKLOAD_FAILED:
            typed = raised.failure_of(error, f"Calling {given.workload.entry} raised", typed.kind)
        raise JobFailed(dataclasses.replace(typed, line=raised.line_of(error))) from error
    on, untimed = calls[0].measured_on, calls[0].untimed
    if untimed == BLIND:
        mending = "end other profilers (nsys, ncu), or install a torch whose kineto has CUPTI."
        raise JobFailed(Failure(FailureKind.NOT_PROFILED, f"{BLIND}: {mending}"))
    facts = conditions(bench, inputs)
    if on is ProfiledOn.INTERPRETER:
        facts = {key: value for key, value in facts.items() if key not in ("threads", "caches")}
    said = {"sizes": "; ".join(dict.fromkeys(bench.evidence.notes)), "spread": spread(calls)}
    return ProfileResult.of_kernels(
        text_hash=digest(given.text),
        device=torch.cuda.get_device_name() if on is ProfiledOn.GPU else cpu_name(),
        measured_on=on,
        calls=len(calls),
        kernels=tally(calls),
        conditions={**facts, **{key: words for key, words in said.items() if words}, **_MEASURED[on]},
        unmeasured=untimed,
    )


def _looked_at(bench: Bench, prepare: Callable[[], Call], report: Report) -> list[Work]:
    """What warm calls do. Raises what the user's code raises."""
    report("Warming up")
    with counted_launches(lambda _: True) as launches:
        prepare()()  # compiles and tunes
    synchronize()
    call, begun = prepare(), time.perf_counter()
    call()
    synchronize()
    count = 1 if launches.interpreted or time.perf_counter() - begun > SLOW else CALLS
    calls: list[Work] = []
    clock, trial = clock_for(bench.device), bench.trial
    for number in range(count):
        report(f"Profiling, round {number + 1} of {count}")
        call = prepare()
        if clock.flush is not None:
            clock.flush.zero_()
        how = {"device": bench.device, "interpreted": launches.interpreted, "by_operator": False}
        calls.append(look(call, bench.baseline, trial.path, trial.baseline, bench.language, **how))
    return calls


def _target(bench: Bench) -> tuple[Any, Inputs]:
    """What the performance case calls, and its inputs. Raises JobFailed."""
    variation, seed = performance_here(bench), bench.trial.limits.first_seed
    if variation.label != performance(bench).label:
        bench.evidence.notes.append(f"reduced to {variation.label}")
    init = initial_arguments(bench.baseline, variation.call, device=bench.device, seed=seed)
    target = make_target(bench.baseline, bench.trial.workload, init, device=bench.device, seed=seed)
    try:
        return target, make_inputs(bench, variation)
    except Undecidable as undecidable:
        raise JobFailed(Failure(FailureKind.NOT_PROFILED, str(undecidable))) from undecidable
