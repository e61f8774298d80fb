"""A kernel of the test sets as a trial, and how the trial ended, in words that a data file can name."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.jobs import Answer, Limits, Trial, TrialResult
from kernelwright.settings import DEFAULTS
from kernelwright.source.workload import evaluate
from kernelwright.steps import gained
from kernelwright.values import Case, Failure, FailureKind, VerdictStatus, Workload, WorkloadSource

QUICK = Limits(timing_budget=0.05, threads=1, seeds=2)
SECONDS = 90.0  # per trial, unless the file says less
# So begins the detail of a passed check that names what was delivered.
REPORTS = ("forward only", "library call", "two calls on the same data and seed differ")

NOBODYS_FAULT = frozenset(
    {FailureKind.NO_INTERPRETER, FailureKind.MISSING_PACKAGE, FailureKind.DEVICE_BUSY, FailureKind.CANCELLED}
)


@dataclass(frozen=True)
class Specimen:
    """One data file: an original, a text that claims to be faster, and how its trial must end."""

    name: str
    baseline: str
    candidate: str
    workload: tuple[str, ...]  # workload lines; none: the get_inputs() convention of a class Model
    ends_with: frozenset[str]
    gpu: bool
    neighbours: Mapping[str, str]  # files in the kernel's folder, by name
    timeout: float
    alone: bool  # its worker is not used again
    promises_kernel: bool  # as if it came from a strategy that brings a kernel

    def __str__(self) -> str:
        return self.name


def specimens(package: str) -> list[Specimen]:
    """Every data file of a package, by name."""
    folder = Path(__file__).parents[1].joinpath(*package.split("."))
    return [specimen(package, file.stem) for file in sorted(folder.glob("[!_]*.py"))]


def specimen(package: str, name: str) -> Specimen:
    """The data file `name` of `package`."""
    module = importlib.import_module(f"{package}.{name}")
    return Specimen(
        name=name,
        baseline=module.BASELINE,
        candidate=module.CANDIDATE,
        workload=tuple(getattr(module, "WORKLOAD", ())),
        ends_with=frozenset(getattr(module, "ENDS_WITH", ("passed",))),
        gpu=getattr(module, "GPU", False),
        neighbours=getattr(module, "NEIGHBOURS", {}),
        timeout=getattr(module, "TIMEOUT", SECONDS),
        alone=getattr(module, "ALONE", False),
        promises_kernel=getattr(module, "PROMISES_KERNEL", False),
    )


def well_formed(specimen: Specimen) -> bool:
    """Whether both texts are Python, differ, and are called by lines that can be read. Raises what says where not."""
    for text in (specimen.baseline, specimen.candidate):
        compile(text, specimen.name, "exec")
    return specimen.baseline != specimen.candidate and all(evaluate(line).entry for line in specimen.workload)


def file_of(specimen: Specimen, text: str) -> str:
    """One of the specimen's texts as a person would have it in a file: with the workload lines on top."""
    return "".join(f"# workload: {line}\n" for line in specimen.workload) + text


def trial_of(specimen: Specimen, folder: Path) -> Trial:
    """The trial, as the engine would ask for it; `folder` is where the file is said to live."""
    lines = specimen.workload
    entry = lines[0].partition("(")[0] if lines else "Model"
    source = WorkloadSource.LINES if lines else WorkloadSource.KERNELBENCH
    return Trial(
        path=str(folder / "kernel.py"),
        baseline=specimen.baseline,
        previous=specimen.baseline,
        candidate=specimen.candidate,
        workload=Workload(source, entry, tuple(Case(0, 0, line) for line in lines)),
        limits=QUICK,
        promises_kernel=specimen.promises_kernel,
    )


def ended_by(answer: Answer) -> frozenset[str]:
    """The names of all that speaks against a speedup: the failed checks, the kind of a Failure, or what was reported.

    "passed" is among them when the gate let the candidate through; then also "no-gain" when the clock found none that
    would be kept, or the machine too busy to look ("unsteady"), "not-timed" where nothing can be timed, "impossible" below
    the roofline's floor, and the check that calls it forward only, a library call, or not repeatable.
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
        told |= {"unsteady", "no-gain"}
    if answer.unmeasured and not answer.unsteady:
        told.add("not-timed")
    if measured is not None and measured.impossible:
        told.add("impossible")
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
