"""Measuring a candidate that has passed the gate: beside baseline and previous, each in a process of its own.

Every sample runs on data that no call has seen before, in memory at other addresses; some of the timed outputs are
compared with the baseline's, and the candidate cannot know which.
"""

import gc
from collections.abc import Callable, Sequence

import torch

from kernelwright.proof.jobs import Probe
from kernelwright.proof.worker import flags
from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.clock import judge_clock
from kernelwright.proof.worker.clock.floor import floor_ms, impossible
from kernelwright.proof.worker.clock.gpu_state import gpu_conditions
from kernelwright.proof.worker.clock.headroom import LEAST, Headroom, headroom, lacks_memory, strict_enough
from kernelwright.proof.worker.clock.performance import Performance, performed
from kernelwright.proof.worker.clock.rivals import Rivals, rivals
from kernelwright.proof.worker.clock.samples import (
    Busy,
    Samples,
    Unconfirmed,
    Unsteady,
    joined,
    speedup,
    steadiest,
    why_again,
)
from kernelwright.proof.worker.clock.sampling import sampled
from kernelwright.proof.worker.clock.statistics import timing_of
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.free_memory import free_on
from kernelwright.proof.worker.hosts.contender import Contender, bury
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import named_state
from kernelwright.proof.worker.probe import cpu_name, probe
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.values import Failure, FailureKind, Measurement, digest

_GIB = 1 << 30
_TRIES = 3  # on a machine that is too busy to time on
_UNSEEN = "Speed not measured: the gain is smaller than what the judge's own clock can confirm."


def measure(bench: Bench, contender: Contender, others: Rivals, report: Report) -> Measurement:
    """Time all three texts on the performance case.

    Raises Rejected when the candidate cheats the clock, Unsteady, Unconfirmed, JobFailed.

    A gain that may be the luck of one process, such as where its memory came to lie, is measured once more in new processes,
    and so is a candidate that the judge's clock would refuse. On a busy machine there are three tries. Where runs are too
    unsteady to tell, there are more, of which the two steadiest count. `contender` is the candidate's process that the gate
    has called. Another one is timed: memory that those calls have left costs no page faults on a CPU, and on a GPU a short
    kernel was slower after them.
    """
    case = others.case or performed(bench)
    processes = len(rivals(bench.trial)) - 1  # the second of the baseline may have to go

    def timed() -> Samples:
        """With as little memory as it can do with where that runs out. Raises Unsteady when this is too much as well."""
        for least in (False, True):
            others.settle()
            bury()
            # What the gate's runs have left cached is needed by the processes that are timed.
            contender.give_back()
            gc.collect()
            if bench.device == "cuda":
                torch.cuda.empty_cache()
            fitting = headroom(case.given_bytes, case.answered_bytes, free_on(bench.device), processes)
            room = LEAST if least else fitting
            if not strict_enough(room, case.given_bytes):
                break
            try:
                return _timed(bench, contender, others, case, report, room)
            except Exception as error:
                if not lacks_memory(error):
                    raise
        gib = (case.given_bytes + case.answered_bytes) / _GIB
        raise Unsteady(
            f"Speed not measured: a call takes and returns {gib:.2g} GiB, and there is not enough memory to time two "
            "processes beside each other; try a smaller workload, or end what else uses the memory."
        )

    try:
        taken = [_patiently(timed, report)]
    except Rejected as rejected:
        if rejected.check.name != judge_clock.NAME:
            raise
        report("Measuring again in new processes: the clocks disagreed, which a busy machine may have caused")
        taken = [_patiently(timed, report)]
    while reason := why_again(taken):
        report(reason)
        taken.append(_patiently(timed, report))
    return _measurement(bench, steadiest(taken), case)


def _patiently(timed: Callable[[], Samples], report: Report) -> Samples:
    """What `timed` gives, in new processes up to `_TRIES` times while the machine is busy. Raises Busy when it stays so."""
    for _ in range(_TRIES - 1):
        try:
            return timed()
        except Busy:
            report("Measuring again in new processes: the machine was too busy to time on")
    return timed()


def _timed(
    bench: Bench, contender: Contender, others: Rivals, case: Performance, report: Report, room: Headroom
) -> Samples:
    """Samples of every text, each in a process of its own."""
    opened = others.take(twin=room.twin)
    try:
        opened["candidate"].answers_like(contender)
        for name, one in opened.items():
            try:
                one.construct(case.targets)
            except Rejected as rejected:  # texts that have passed before
                if name == "candidate":
                    raise
                words = f"The {name} version does not run in a process of its own: {rejected.check.detail}"
                raise JobFailed(Failure(FailureKind.WORKLOAD_FAILED, words)) from rejected
        return sampled(bench, opened, case, report, pools=room.pools)
    finally:
        others.end(opened)


def conditions(bench: Bench, inputs: Inputs) -> dict[str, str]:
    """The facts to show beside the number."""
    dtypes = sorted({str(t.dtype).removeprefix("torch.") for t in inputs.tensors()})
    named = {"workload": bench.trial.workload.told, "dtype": ", ".join(dtypes), "gradients": "off"}
    if bench.device == "cuda":
        return {
            **named,
            **flags.described(),
            "L2": "flushed before each sample, persisting lines too",
            **gpu_conditions(str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)),
        }
    return {**named, "threads": str(torch.get_num_threads()), "caches": "warm"}


def _measurement(bench: Bench, taken: Sequence[Samples], case: Performance) -> Measurement:
    trial, samples = bench.trial, joined(taken)
    targets, inputs, seen = case.targets, case.inputs, case.seen
    previous = "previous" if "previous" in samples.ms else "baseline"
    baseline, candidate, before = (samples.ms[name] for name in ("baseline", "candidate", previous))
    whole, step = speedup(taken, "baseline"), speedup(taken, previous)
    claimed = {"baseline": whole.low > 1, previous: step.low > 1}
    device = probe(Probe())
    shared = frozenset(index for index, _ in seen.aliases)
    parameters = list(named_state(targets.baseline).values())
    floor = floor_ms(device, inputs.tensors(), parameters, seen.tensors(), shared)
    timed = timing_of(candidate)
    if impossible(timed.median_ms, timing_of(baseline).median_ms, floor):
        detail = (
            f"{timed.median_ms:.4g} ms is below the roofline's floor of {floor:.4g} ms: the work cannot have been done"
        )
        raise Rejected("impossible", "while timing", detail)
    if any(claimed.get(name) for name in samples.unseen):
        raise Unconfirmed(_UNSEEN)
    return Measurement(
        text_hash=digest(trial.candidate),
        baseline_hash=digest(trial.baseline),
        device=device.name if bench.device == "cuda" else cpu_name(),
        baseline=timing_of(baseline),
        previous=timing_of(before),
        candidate=timed,
        speedup=whole.value,
        speedup_low=whole.low,
        speedup_high=whole.high,
        step_speedup=step.value,
        step_speedup_low=step.low,
        step_speedup_high=step.high,
        conditions={**conditions(bench, inputs), **samples.conditions},
        floor_ms=floor,
    )
