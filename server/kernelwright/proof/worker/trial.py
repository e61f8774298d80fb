"""A trial: the gate first, then the clock, then the gate once more on the targets that were timed."""

import contextlib
import functools
from collections.abc import Callable

from kernelwright.proof.jobs import Trial, TrialResult
from kernelwright.proof.worker import tuning
from kernelwright.proof.worker.attribution.share import examine
from kernelwright.proof.worker.bench import Bench, opened, was_interpreted
from kernelwright.proof.worker.clock.rivals import Rivals
from kernelwright.proof.worker.gate.gate import verify, verify_backward
from kernelwright.proof.worker.gate.printed import UNMEASURED, verify_program, verify_programs_beside
from kernelwright.proof.worker.gate.reaching import cover
from kernelwright.proof.worker.gate.sanitized import sanitize
from kernelwright.proof.worker.gate.verdict import verdict_of
from kernelwright.proof.worker.hosts.contender import Contender, bury
from kernelwright.proof.worker.rejected import Rejected, Undecidable
from kernelwright.values import Effort, WorkloadSource

_NO_GPU = "Speed not measured: no GPU here."


def run_trial(job: Trial, report: Callable[[str], None]) -> TrialResult:
    """Verify, and where asked and possible measure. Raises JobFailed when the baseline or the workload is at fault."""
    report("Loading baseline and candidate")
    bury()
    with opened(job) as bench, contextlib.ExitStack() as processes:
        if bench.device == "cuda":
            tuning.choose_once()
        try:
            contender = Contender(bench, job.candidate, watched=True)
            processes.callback(contender.leave)
            return _tried(bench, contender, processes, report)
        except Rejected as rejected:
            return TrialResult(verdict_of(bench, failed=rejected.check))
        except Undecidable as undecidable:
            return TrialResult(verdict_of(bench, undecidable=str(undecidable)))


def _tried(
    bench: Bench, contender: Contender, processes: contextlib.ExitStack, report: Callable[[str], None]
) -> TrialResult:
    unmeasured = _unmeasured(bench)
    if bench.trial.workload.source is WorkloadSource.PROGRAM:
        verify_program(bench, contender, report)
        cover(bench, contender, report)
        return TrialResult(verdict_of(bench), unmeasured=UNMEASURED if bench.trial.measure else "")
    if unmeasured is None:
        rivals = processes.enter_context(contextlib.closing(Rivals(bench)))
        verify(bench, contender, report, rivals.advance if rivals.start_slowly else _nothing)
        verify_programs_beside(bench, report)
        if was_interpreted(bench):
            result = functools.partial(TrialResult, unmeasured=_NO_GPU)
        else:
            result = _measured(bench, contender, rivals, report)
        rivals.make_way()
    else:
        verify(bench, contender, report)
        verify_programs_beside(bench, report)
        result = functools.partial(TrialResult, unmeasured=unmeasured)
    examine(bench, contender, report)  # after all timing: a process that was profiled may be slower ever after
    verify_backward(bench, contender, report)
    sanitize(bench, report)
    cover(bench, contender, report)
    return result(verdict_of(bench))


def _nothing() -> None:
    """What is done between two calls of the gate where nothing is to get ready."""


def _unmeasured(bench: Bench) -> str | None:
    """Why nothing is to be timed, "" where nobody asked; None where it is."""
    if not bench.trial.measure:
        return ""
    if bench.trial.limits.effort is Effort.QUICK:
        return "Speed not measured: effort quick looks at few cases, too few for a speedup to stand on."
    return _NO_GPU if bench.interpreted else None


def _measured(
    bench: Bench, contender: Contender, rivals: Rivals, report: Callable[[str], None]
) -> functools.partial[TrialResult]:
    """The result but for its verdict: the measurement, or why there is none."""
    from kernelwright.proof.worker.clock.measure import measure
    from kernelwright.proof.worker.clock.samples import Unconfirmed, Unsteady

    try:
        return functools.partial(TrialResult, measurement=measure(bench, contender, rivals, report))
    except Unsteady as unsteady:
        return functools.partial(TrialResult, unmeasured=str(unsteady), unsteady=True)
    except Unconfirmed as unconfirmed:
        return functools.partial(TrialResult, unmeasured=str(unconfirmed), unconfirmed=True)
