"""What one warm call of the performance case launches: kernels by device time on a GPU, operators by CPU time on a CPU,
launches counted in Triton's interpreter."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from kernelwright.proof.jobs import Profile, Trial
from kernelwright.proof.worker import failed, flags, subject
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
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS, plan
from kernelwright.proof.worker.inputs import Inputs, clone, seed_everything
from kernelwright.proof.worker.kernels.launches import Launches, observed_launches
from kernelwright.proof.worker.kernels.names import Known, cuda_files, defined_in, origin_of
from kernelwright.proof.worker.observe import synchronize
from kernelwright.proof.worker.probe import cpu_name
from kernelwright.proof.worker.profiling import tools
from kernelwright.proof.worker.profiling.tally import Activity, tally
from kernelwright.proof.worker.reference.pair import constructor_arguments, target_of
from kernelwright.values import Failure, FailureKind, ProfiledOn, ProfileResult, digest

MOST_CALLS = 5
BUDGET = 2.0  # seconds; a call that takes long is profiled fewer times
_UNTIMED = "not measured: Triton's interpreter"

Report = Callable[[str], None]
Prepare = Callable[[], Callable[[], None]]
"""Makes the arguments of one call, and returns the call."""


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


def _profiled(job: Profile, bench: Bench, report: Report) -> ProfileResult:
    given, texts = job.subject, texts_of(job.subject.path, job.subject.text)
    bench.interpreted = interpreting() and uses_triton(*texts)
    prepare, inputs = _call(bench, job.limits.first_seed)
    folder = Path(given.path).resolve().parent
    own = lambda file: file == bench.baseline.__file__ or subject.lies_in(folder, file)
    with observed_launches(own) as launches, _typed(given.workload.entry):
        report("Warming up")
        seconds = _warmed(prepare, launches)
        if launches.interpreted:
            measured_on, calls = ProfiledOn.INTERPRETER, [tools.counted(prepare, launches)]
        else:
            measured_on = ProfiledOn.GPU if bench.device == "cuda" else ProfiledOn.CPU
            count = min(MOST_CALLS, max(1, int(BUDGET / max(seconds, 1e-6))))
            calls = tools.timed(prepare, count, bench.device, report)
    return _result(job, bench, inputs, measured_on, calls, _known(texts, launches))


def _result(
    job: Profile, bench: Bench, inputs: Inputs, on: ProfiledOn, calls: list[list[Activity]], known: Known
) -> ProfileResult:
    kernels = tally(calls, lambda name: origin_of(name, known))
    return ProfileResult.of_kernels(
        text_hash=digest(job.subject.text),
        device=torch.cuda.get_device_name() if on is ProfiledOn.GPU else cpu_name(),
        measured_on=on,
        calls=len(calls),
        kernels=kernels,
        conditions=_conditions(bench, inputs, on),
        unmeasured=_UNTIMED if on is ProfiledOn.INTERPRETER else "",
    )


def _conditions(bench: Bench, inputs: Inputs, on: ProfiledOn) -> dict[str, str]:
    facts = conditions(bench, inputs)
    notes = {"sizes": "; ".join(bench.notes)} if bench.notes else {}
    match on:
        case ProfiledOn.GPU:
            return {
                **facts,
                **notes,
                "L2": "flushed before each call",
                "measured with": "torch.profiler, CUDA activities",
            }
        case ProfiledOn.CPU:
            return {**facts, **notes, "measured with": "torch.profiler, each operator's own CPU time"}
        case ProfiledOn.INTERPRETER:
            kept = {key: value for key, value in facts.items() if key not in ("threads", "caches")}
            counted = "Triton's launches, and torch's operators outside them that compute (no views, no allocations)"
            return {**kept, **notes, "counted": counted}


def _call(bench: Bench, seed: int) -> tuple[Prepare, Inputs]:
    """How to call the subject on its performance case, on private copies of the inputs. Raises JobFailed."""
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


def _warmed(prepare: Prepare, launches: Launches) -> float:
    """Seconds of a warm call, after one that compiles and tunes."""
    prepare()()
    launches.clear()
    call = prepare()
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def texts_of(path: str, text: str) -> list[str]:
    """The text, those of the modules of its folder that it imported here, and the CUDA files that they name."""
    texts = [text]
    folder = Path(path).resolve().parent
    files = list(subject.neighbours(path).values())
    texts += [text for file in files if file.suffix == ".py" and (text := _read(file))]
    named = {folder / name for text in texts for name in cuda_files(text)}
    return texts + [text for file in sorted(named) if (text := _read(file))]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _known(texts: list[str], launches: Launches) -> Known:
    launched = frozenset(launches.own) | launches.aliases
    return dataclasses.replace(defined_in(texts), launched=launched, foreign=frozenset(launches.foreign))


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
