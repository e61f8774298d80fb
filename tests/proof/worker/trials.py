"""One-line trials for tests of the gate and the clock, which run in the test process on the CPU."""

from kernelwright.proof.jobs import Limits, Trial, TrialResult
from kernelwright.proof.worker.subject import case_call
from kernelwright.proof.worker.trial import run_trial
from kernelwright.values import Case, Workload, WorkloadSource

QUICK = Limits(timing_budget=0.2, threads=1, seeds=2)
_NOWHERE = "/nowhere/kernel.py"


def workload(*cases: str) -> Workload:
    """Workload lines, or the get_inputs() convention of a class Model without any."""
    if not cases:
        return Workload(WorkloadSource.KERNELBENCH, "Model")
    return Workload(WorkloadSource.LINES, case_call(cases[0]).entry, tuple(Case(0, 0, case) for case in cases))


def trial(
    baseline: str,
    candidate: str,
    *cases: str,
    measure: bool = False,
    previous: str = "",
    rewritten: bool = False,
    path: str = _NOWHERE,
) -> TrialResult:
    job = Trial(
        path,
        baseline,
        previous or baseline,
        candidate,
        workload(*cases),
        measure=measure,
        limits=QUICK,
        rewritten=rewritten,
    )
    return run_trial(job, lambda stage: None)


def ended_by(
    baseline: str,
    candidate: str,
    *cases: str,
    measure: bool = False,
    rewritten: bool = False,
    path: str = _NOWHERE,
) -> str:
    """The name of the check that failed, or the verdict's status."""
    verdict = trial(baseline, candidate, *cases, measure=measure, rewritten=rewritten, path=path).verdict
    return verdict.failed_checks[0].name if verdict.failed_checks else str(verdict.status)
