"""What the gate's answer to one mutant means: killed and by what, survived, or not graded."""

from dataclasses import dataclass
from enum import StrEnum

from benchmarks.mutants.mutant import Mutant

from kernelwright.proof.jobs import Answer, TrialResult
from kernelwright.values import Failure, FailureKind, VerdictStatus

# These say something of the machine or of the baseline, nothing of the mutant.
_NOT_THE_MUTANT = (
    FailureKind.WORKLOAD_FAILED,
    FailureKind.IMPORT_FAILED,
    FailureKind.NOT_CAPTURED,
    FailureKind.CANCELLED,
    FailureKind.NO_INTERPRETER,
    FailureKind.MISSING_PACKAGE,
    FailureKind.DEVICE_BUSY,
    FailureKind.DEVICE_GONE,
)


class Ending(StrEnum):
    KILLED = "killed"
    SURVIVED = "survived"
    NOT_GRADED = "not graded"


@dataclass(frozen=True)
class Outcome:
    """One mutant after its trial. `by`: the first failed check, or the kind of the failure that ended the trial."""

    kernel: str
    mutant: str
    operator: str
    line: int
    description: str
    ending: Ending
    by: str = ""
    case: str = ""
    detail: str = ""
    seconds: float = 0.0


def graded(kernel: str, mutant: Mutant, answer: Answer, seconds: float) -> Outcome:
    ending, by, case, detail = _read(answer)
    return Outcome(
        kernel, mutant.id, mutant.operator, mutant.line, mutant.description, ending, by, case, detail, round(seconds, 2)
    )


def _read(answer: Answer) -> tuple[Ending, str, str, str]:
    if isinstance(answer, Failure):
        ending = Ending.NOT_GRADED if answer.kind in _NOT_THE_MUTANT else Ending.KILLED
        return ending, str(answer.kind), "", answer.message
    assert isinstance(answer, TrialResult)  # the contract of Trial
    verdict = answer.verdict
    if verdict.failed_checks:
        check = verdict.failed_checks[0]
        return Ending.KILLED, check.name, check.case, check.detail
    match verdict.status:
        case VerdictStatus.PASSED:
            return Ending.SURVIVED, "", "", f"{len(verdict.checks)} checks passed {verdict.how}"
        case VerdictStatus.FAILED:
            return Ending.KILLED, "verdict", "", verdict.reason
        case _:
            # Nothing was shown as verified, so nobody is misled.
            return Ending.KILLED, "not checkable", "", verdict.reason
