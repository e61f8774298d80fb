"""A trial: the gate first, then the clock, then the gate once more on the targets that were timed."""

from collections.abc import Callable

from kernelwright.proof.jobs import Trial, TrialResult
from kernelwright.proof.worker import gate
from kernelwright.proof.worker.subject import unload


def run_trial(job: Trial, report: Callable[[str], None]) -> TrialResult:
    """Verify, and where asked and possible measure. Raises JobFailed when the baseline or the workload is at fault."""
    bench: gate.Bench | None = None
    report("Loading baseline and candidate")
    gate.set_threads(job.limits)
    try:
        bench = gate.open_bench(job)
        gate.verify(bench, report)
        if not job.measure:
            return TrialResult(gate.verdict_of(bench, job))
        if bench.interpreted:
            return TrialResult(gate.verdict_of(bench, job), None, "Speed not measured: no GPU here.")
        from kernelwright.proof.worker.clock import measure

        measurement = measure(bench, report)
        return TrialResult(gate.verdict_of(bench, job), measurement)
    except gate.Rejected as rejected:
        return TrialResult(gate.verdict_of(bench, job, failed=rejected.check))
    except gate.Undecidable as undecidable:
        return TrialResult(gate.verdict_of(bench, job, undecidable=str(undecidable)))
    finally:
        if bench is not None:
            gate.flags.write(bench.settings)
            unload(bench.baseline)
            unload(bench.candidate)
