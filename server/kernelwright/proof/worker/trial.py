"""A trial: the gate first, then the clock, then the gate once more on the targets that were timed."""

from collections.abc import Callable

from kernelwright.proof.jobs import Trial, TrialResult
from kernelwright.proof.worker.bench import Bench, Rejected, Undecidable, close_bench, open_bench, set_threads
from kernelwright.proof.worker.gate import verify
from kernelwright.proof.worker.hosts.contender import Contender
from kernelwright.proof.worker.verdict import verdict_of


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
        if not job.measure:
            return TrialResult(verdict_of(bench, job))
        if bench.interpreted:
            return TrialResult(verdict_of(bench, job), None, "Speed not measured: no GPU here.")
        from kernelwright.proof.worker.clock import measure
        from kernelwright.proof.worker.sampling import Unsteady

        try:
            measurement = measure(bench, contender, report)
        except Unsteady as unsteady:
            return TrialResult(verdict_of(bench, job), None, str(unsteady), unsteady=True)
        return TrialResult(verdict_of(bench, job), measurement)
    except Rejected as rejected:
        return TrialResult(verdict_of(bench, job, failed=rejected.check))
    except Undecidable as undecidable:
        return TrialResult(verdict_of(bench, job, undecidable=str(undecidable)))
    finally:
        if contender is not None:
            contender.close()
        if bench is not None:
            close_bench(bench)
