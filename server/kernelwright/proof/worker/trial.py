"""A trial: the gate first, then the clock, then the gate once more on the targets that were timed."""

import contextlib
from collections.abc import Callable

from kernelwright.proof.jobs import Trial, TrialResult
from kernelwright.proof.worker.attribution.share import examine
from kernelwright.proof.worker.bench import (
    Bench,
    Rejected,
    Undecidable,
    close_bench,
    open_bench,
    set_threads,
    was_interpreted,
)
from kernelwright.proof.worker.clock.rivals import Rivals
from kernelwright.proof.worker.gate.gate import verify, verify_backward
from kernelwright.proof.worker.gate.verdict import verdict_of
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.values import Effort, Measurement

_NO_GPU = "Speed not measured: no GPU here."


def run_trial(job: Trial, report: Callable[[str], None]) -> TrialResult:
    """Verify, and where asked and possible measure. Raises JobFailed when the baseline or the workload is at fault."""
    bench: Bench | None = None
    report("Loading baseline and candidate")
    set_threads(job.limits)
    with contextlib.ExitStack() as opened:
        try:
            bench = open_bench(job)
            opened.callback(close_bench, bench)
            contender = Contender(bench, job.candidate)
            opened.callback(contender.close)
            return _tried(bench, contender, opened, report)
        except Rejected as rejected:
            return TrialResult(verdict_of(bench, job, failed=rejected.check))
        except Undecidable as undecidable:
            return TrialResult(verdict_of(bench, job, undecidable=str(undecidable)))


def _tried(
    bench: Bench, contender: Contender, opened: contextlib.ExitStack, report: Callable[[str], None]
) -> TrialResult:
    unmeasured = _unmeasured(bench)
    if unmeasured is None:
        rivals = opened.enter_context(contextlib.closing(Rivals(bench)))
        opened.callback(contender.kill)  # before the others are waited for
        verify(bench, contender, report, rivals.advance)
        if was_interpreted(bench):
            measurement, unmeasured, unsteady = None, _NO_GPU, False
        else:
            measurement, unmeasured, unsteady = _measured(bench, contender, rivals, report)
        rivals.make_way()
    else:
        verify(bench, contender, report)
        measurement, unsteady = None, False
    verify_backward(bench, contender, report)
    examine(bench, contender, report)  # last: a process that was profiled may be slower ever after
    return TrialResult(verdict_of(bench, bench.trial), measurement, unmeasured, unsteady)


def _unmeasured(bench: Bench) -> str | None:
    """Why nothing is to be timed, "" where nobody asked; None where it is."""
    if not bench.trial.measure:
        return ""
    if bench.trial.limits.effort is Effort.QUICK:
        return "Speed not measured: effort quick looks at few cases, too few for a speedup to stand on."
    return _NO_GPU if bench.interpreted else None


def _measured(
    bench: Bench, contender: Contender, rivals: Rivals, report: Callable[[str], None]
) -> tuple[Measurement | None, str, bool]:
    """The measurement, or why there is none in words, and whether another time may bring one."""
    from kernelwright.proof.worker.clock.measure import measure
    from kernelwright.proof.worker.clock.sampling import Unsteady

    try:
        return measure(bench, contender, rivals, report), "", False
    except Unsteady as unsteady:
        return None, str(unsteady), True
