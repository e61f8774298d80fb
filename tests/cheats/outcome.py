"""A case of the corpus as a trial, and how the trial ended, in the words that a case expects."""

from pathlib import Path

import corpus

from kernelwright.proof.jobs import Answer, Limits, Trial, TrialResult
from kernelwright.settings import DEFAULTS
from kernelwright.source.workload import evaluate
from kernelwright.steps import gained
from kernelwright.values import Case, Failure, FailureKind, VerdictStatus, Workload, WorkloadSource

QUICK = Limits(timing_budget=0.05, threads=1, seeds=2)
REFUSED = "refused"  # what a case expects that any check may end
# So begins the detail of a passed check that names what was delivered.
REPORTS = ("forward only", "library call", "two calls on the same data and seed differ")

NOBODYS_FAULT = frozenset(
    {FailureKind.NO_INTERPRETER, FailureKind.MISSING_PACKAGE, FailureKind.DEVICE_BUSY, FailureKind.CANCELLED}
)


def well_formed(case: corpus.Case) -> bool:
    """Whether both texts are Python, differ, and are called by lines that can be read. Raises what says where not."""
    for text in (case.baseline, case.candidate):
        compile(text, case.name, "exec")
    return case.baseline != case.candidate and all(evaluate(line).entry for line in case.workload)


def file_of(case: corpus.Case, text: str) -> str:
    """One of the case's texts as a person would have it in a file: with the workload lines on top."""
    return "".join(f"# workload: {line}\n" for line in case.workload) + text


def trial_of(case: corpus.Case, folder: Path, limits: Limits = QUICK, *, measure: bool = True) -> Trial:
    """The trial, as the engine would ask for it; `folder` is where the file is said to live."""
    source = WorkloadSource.LINES if case.workload else WorkloadSource.KERNELBENCH
    return Trial(
        path=str(folder / "kernel.py"),
        baseline=case.baseline,
        previous=case.baseline,
        candidate=case.candidate,
        workload=Workload(source, case.entry, tuple(Case(0, 0, line) for line in case.workload)),
        measure=measure,
        limits=limits,
        promises_kernel="promises-kernel" in case.marks,
    )


def as_expected(case: corpus.Case, ends: frozenset[str]) -> bool:
    """Whether a trial that ended so ended as its case expects."""
    return bool(ends & case.expected) or (REFUSED in case.expected and "passed" not in ends)


def ended_by(answer: Answer) -> frozenset[str]:
    """The names of all that speaks against a speedup: the failed checks, the kind of a Failure, or what was reported.

    "passed" is among them when the gate let the candidate through; then also "no-gain" when the clock found none that
    would be kept, or the judge's clock shows none, or the machine is too busy to look ("unsteady"), "not-timed" where nothing
    can be timed, and the check that calls it forward only, a library call, or not repeatable.
    """
    if isinstance(answer, Failure) and answer.kind in NOBODYS_FAULT:
        raise RuntimeError(reason_of(answer))
    if isinstance(answer, Failure):
        return frozenset({str(answer.kind)})
    assert isinstance(answer, TrialResult), answer
    verdict, measured = answer.verdict, answer.measurement
    if verdict.status is VerdictStatus.NOT_CHECKABLE:
        return frozenset({"not-checkable"})
    if not verdict.passed:
        return frozenset(check.name for check in verdict.failed_checks)
    told = {check.name for check in verdict.checks if check.detail.startswith(REPORTS)}
    if answer.unsteady:
        told.add("unsteady")
    if answer.unsteady or answer.unconfirmed:
        told.add("no-gain")
    elif answer.unmeasured:
        told.add("not-timed")
    if measured is not None and not gained(measured, DEFAULTS.min_gain):
        told.add("no-gain")
    return frozenset({"passed", *told})


def reason_of(answer: Answer) -> str:
    """What the gate said, for the message of a failing test."""
    if isinstance(answer, Failure):
        return f"{answer.message}\n{answer.detail[-2000:]}"
    assert isinstance(answer, TrialResult), answer
    speed = f", {answer.measurement.speedup:.2f}x" if answer.measurement else f", {answer.unmeasured}"
    return f"{answer.verdict.status}{speed} {answer.verdict.reason}"
