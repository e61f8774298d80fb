"""The accuracy class of a candidate, from all of its compared runs: said last, when no run shows another fault."""

from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.answers.judge import ACCURACY, Judged, worst_of
from kernelwright.proof.worker.evidence import Evidence
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.values import Accuracy, Check

ACCEPTING = "kernelwright.acceptReducedAccuracy"
_RARE, _ENOUGH_RUNS = 8, 16  # an error in less than one of eight runs, of sixteen or more, is a fault of those runs


def settle(evidence: Evidence, trial: Trial) -> None:
    """The `accuracy` check, on all that was compared. Raises Rejected for reduced accuracy that is not accepted."""
    if evidence.reduced:
        check = reduced(evidence, trial)
    else:
        check = Check(ACCURACY, f"all {len(evidence.judged)} runs", True, _said(accuracy_of(evidence), evidence.judged))
    if not check.passed:
        raise Rejected(check.name, check.case, check.detail)
    evidence.checks.append(check)


def accuracy_of(evidence: Evidence) -> Accuracy:
    """The worst class of all compared runs, gradients too."""
    return Accuracy.REDUCED if evidence.reduced else worst_of(judged.accuracy for judged in evidence.judged)


def reduced(evidence: Evidence, trial: Trial) -> Check:
    """What is to be said of the runs of reduced accuracy, of which there are some.

    Where each of them has few elements, nothing tells them from a wrong constant; where nearly all other runs are accurate, it
    is not precision that is missing: both are `values`.
    """
    case, worst = next(((case, judged) for case, judged in evidence.reduced if not judged.few), evidence.reduced[0])
    assert worst.finding is not None
    shown = f"{worst.finding.detail}; so in {len(evidence.reduced)} runs, {len(evidence.judged)} compared"
    if worst.few:
        detail = f"{shown}, on too few elements to tell less precision from a wrong constant"
        return Check("values", case, False, detail)
    if len(evidence.judged) >= _ENOUGH_RUNS and len(evidence.reduced) * _RARE < len(evidence.judged):
        detail = f"{shown}, and accurate in the others, which less precision would not be"
        return Check("values", case, False, detail)
    if trial.limits.accept_reduced:
        return Check(ACCURACY, case, True, f"{Accuracy.REDUCED}, accepted by {ACCEPTING}: {shown}")
    advice = language_of(trial.language).precision_advice(trial.candidate, trial.baseline)
    return Check(ACCURACY, case, False, f"{Accuracy.REDUCED}: {shown}. {advice}{ACCEPTING} would accept it")


def _said(accuracy: Accuracy, judged: list[Judged]) -> str:
    ratios = [e.ratio for j in judged for e in j.errors if e.ratio is not None]
    if accuracy is Accuracy.BIT_EXACT or not ratios:
        return str(accuracy)
    return f"{accuracy}: errors up to {max(ratios):.2g} times the baseline's (root mean square)"
