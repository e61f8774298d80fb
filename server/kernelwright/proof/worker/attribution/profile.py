"""Profiles warm calls of the performance case: kernels by device time on a GPU, operators by CPU time on a CPU, launches
counted in Triton's interpreter.
"""

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import torch

from kernelwright.proof.jobs import Profile, Trial
from kernelwright.proof.worker import failed, flags, subject
from kernelwright.proof.worker.attribution.launches import observed_launches
from kernelwright.proof.worker.attribution.looking import BLIND, look, texts_of
from kernelwright.proof.worker.attribution.work import Work, is_nothing
from kernelwright.proof.worker.bench import (
    Bench,
    Undecidable,
    close_bench,
    interpreting,
    open_bench,
    set_threads,
    uses_triton,
)
from kernelwright.proof.worker.clock.measure import conditions
from kernelwright.proof.worker.clock.timing import clock_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS, plan
from kernelwright.proof.worker.inputs import Inputs, clone, seed_everything
from kernelwright.proof.worker.observe import synchronize
from kernelwright.proof.worker.probe import cpu_name
from kernelwright.proof.worker.reference.pair import constructor_arguments, target_of
from kernelwright.values import Failure, FailureKind, ProfiledKernel, ProfiledOn, ProfileResult, digest
from kernelwright.values.profile import share

FEWEST, MOST = 5, 9  # calls
BUDGET = 2.0  # seconds, within which there are more calls than FEWEST
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
    set_threads(job.limits)
    settings = flags.read()
    trial = Trial(given.path, given.text, given.text, given.text, given.workload, measure=False, limits=job.limits)
    bench = open_bench(trial)
    try:
        return _profiled(job, bench, report)
    finally:
        close_bench(bench)
        flags.write(settings)


def tally(calls: Sequence[Work]) -> tuple[ProfiledKernel, ...]:
    """The kernels of a call, those with the most time first, then those with the most launches.

    Launches are a mean over the calls, times a median, in microseconds; a call without a kernel spent 0 on it.
    """
    parts = [[part for part in call.parts if call.timed or not is_nothing(part.name)] for call in calls]
    names = dict.fromkeys((part.name, part.origin) for call in parts for part in call)
    timed = all(call.timed for call in calls)
    found: list[ProfiledKernel] = []
    for name, origin in names:
        own = [[part for part in call if (part.name, part.origin) == (name, origin)] for call in parts]
        launches = sum(part.count for call in own for part in call) / len(calls)
        median = statistics.median(sum(part.amount for part in call) for call in own) if timed else None
        found.append(ProfiledKernel(name, origin, launches, median))
    whole = sum(kernel.time_us or 0.0 for kernel in found)
    shared = (dataclasses.replace(kernel, share=share((kernel.time_us,), whole if timed else None)) for kernel in found)
    return tuple(sorted(shared, key=lambda kernel: (-(kernel.time_us or 0.0), -kernel.launches, kernel.name)))


def spread(calls: Sequence[Work]) -> str:
    """The range of the time that the kernels of a call took together, in words; "" where fewer than two were timed."""
    wholes = [sum(part.amount for part in call.parts) / 1000 for call in calls if call.timed]
    return f"{min(wholes):.3g} to {max(wholes):.3g} ms a call" if len(wholes) > 1 else ""


def _profiled(job: Profile, bench: Bench, report: Report) -> ProfileResult:
    given = job.subject
    bench.interpreted = interpreting() and uses_triton(*texts_of(given.path, given.text))
    prepare, inputs = _call(bench, job.limits.first_seed)
    with _typed(given.workload.entry):
        report("Warming up")
        with observed_launches(lambda _: True) as launches:
            prepare()()  # compiles and tunes
        begun = time.perf_counter()
        prepare()()
        seconds = time.perf_counter() - begun
        count = (
            1 if launches.interpreted or seconds > SLOW else max(FEWEST, min(MOST, int(BUDGET / max(seconds, 1e-6))))
        )
        calls: list[Work] = []
        clock = clock_for(bench.device)
        for number in range(count):
            report(f"Profiling, round {number + 1} of {count}")
            call = prepare()
            if clock.flush is not None:
                clock.flush.zero_()
            how = {"device": bench.device, "interpreted": launches.interpreted, "by_operator": False}
            calls.append(look(call, bench.baseline, given.path, given.text, **how))
    on, untimed = calls[0].measured_on, calls[0].untimed
    if untimed == BLIND:
        mending = "end other profilers (nsys, ncu), or install a torch whose kineto has CUPTI."
        raise JobFailed(Failure(FailureKind.NOT_PROFILED, f"{BLIND}: {mending}"))
    facts = conditions(bench, inputs)
    if on is ProfiledOn.INTERPRETER:
        facts = {key: value for key, value in facts.items() if key not in ("threads", "caches")}
    said = {"sizes": "; ".join(bench.notes), "spread": spread(calls)}
    return ProfileResult.of_kernels(
        text_hash=digest(given.text),
        device=torch.cuda.get_device_name() if on is ProfiledOn.GPU else cpu_name(),
        measured_on=on,
        calls=count,
        kernels=tally(calls),
        conditions={**facts, **{key: words for key, words in said.items() if words}, **_MEASURED[on]},
        unmeasured=untimed,
    )


def _call(bench: Bench, seed: int) -> tuple[Callable[[], Callable[[], None]], Inputs]:
    """How to make the subject's performance call, each on private copies of the inputs. Raises JobFailed."""
    cap = INTERPRETER_ELEMENTS if bench.interpreted else None
    workload = bench.trial.workload
    variation = plan(workload, seeds=1, first_seed=seed, most_elements=cap)[0]
    if variation.label != plan(workload, seeds=1, first_seed=seed)[0].label:
        bench.notes.append(f"reduced to {variation.label}")
    init = constructor_arguments(bench.baseline, variation.call, device=bench.device, seed=seed)
    target = target_of(bench.baseline, workload, init, device=bench.device, seed=seed)
    try:
        inputs = make_inputs(bench, variation)
    except Undecidable as undecidable:
        raise JobFailed(Failure(FailureKind.NOT_PROFILED, str(undecidable))) from undecidable

    def prepare() -> Callable[[], None]:
        given = Inputs(clone(inputs.args), clone(inputs.kwargs))
        seed_everything(seed)

        def call() -> None:
            with torch.no_grad():
                target(*given.args, **given.kwargs)
            synchronize()

        return call

    return prepare, inputs


@contextlib.contextmanager
def _typed(entry: str) -> Iterator[None]:
    """What the user's code raises, as JobFailed with the line of its text."""
    try:
        yield
    except JobFailed:
        raise
    except (Exception, SystemExit) as error:
        typed = failed.failure_of(error)
        if typed.kind is FailureKind.WORKLOAD_FAILED:
            typed = subject.failure_of(error, f"Calling {entry} raised", typed.kind)
        raise JobFailed(dataclasses.replace(typed, line=subject.line_of(error))) from error
