"""A trial: the gate first, then the clock, then the gate once more on the targets that were timed."""

from collections.abc import Callable

from kernelwright.proof.jobs import Trial, TrialResult
from kernelwright.proof.worker.bench import Bench, Rejected, Undecidable, close_bench, open_bench, set_threads
from kernelwright.proof.worker.gate import verify, verify_backward
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.kernel_share import examine
from kernelwright.proof.worker.verdict import verdict_of
from kernelwright.values import Effort, Measurement


def run_trial(job: Trial, report: Callable[[str], None]) -> TrialResult:
    """Verify, and where asked and possible measure. Raises JobFailed when the baseline or the workload is at fault."""
    bench: Bench | None = None
    contender: Contender | None = None
    report("Loading baseline and candidate")
    set_threads(job.limits)
    try:
        bench = open_bench(job)
        contender = Contender(bench, job.candidate)
        verify(bench, contender, report)
        measurement, unmeasured, unsteady = _measured(bench, contender, report) if job.measure else (None, "", False)
        verify_backward(bench, contender, report)
        examine(bench, contender, report)  # last: a process that was profiled may be slower ever after
        return TrialResult(verdict_of(bench, job), measurement, unmeasured, unsteady)
    except Rejected as rejected:
        return TrialResult(verdict_of(bench, job, failed=rejected.check))
    except Undecidable as undecidable:
        return TrialResult(verdict_of(bench, job, undecidable=str(undecidable)))
    finally:
        if contender is not None:
            contender.close()
        if bench is not None:
            close_bench(bench)


def _measured(
    bench: Bench, contender: Contender, report: Callable[[str], None]
) -> tuple[Measurement | None, str, bool]:
    """The measurement, or why there is none in words, and whether another time may bring one."""
    if bench.trial.limits.effort is Effort.QUICK:
        return None, "Speed not measured: effort quick looks at few cases, too few for a speedup to stand on.", False
    if bench.interpreted:
        return None, "Speed not measured: no GPU here.", False
    from kernelwright.proof.worker.clock import measure
    from kernelwright.proof.worker.sampling import Unsteady

    try:
        return measure(bench, contender, report), "", False
    except Unsteady as unsteady:
        return None, str(unsteady), True
