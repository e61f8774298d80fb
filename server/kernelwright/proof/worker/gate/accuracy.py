"""The accuracy class of a candidate, from all of its compared runs: said last, when no run shows another fault."""

from collections.abc import Callable

import torch

from kernelwright.proof.worker.answers.deviation import deviation, typical_size
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.judge import ACCURACY, Judged, worst_of
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import USUAL
from kernelwright.proof.worker.bench import Bench, Rejected, Targets
from kernelwright.proof.worker.inputs import Inputs, map_leaves
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.whole_numbers import is_whole
from kernelwright.values import Accuracy, Check

ACCEPTING = "kernelwright.acceptReducedAccuracy"
_BREAKS_TIES = 1e-300  # added to zeros, which no factor tells apart
_RARE, _ENOUGH_RUNS = 8, 16  # an error in less than one of eight runs, of sixteen or more, is a fault of those runs


def judged_closely(compare: Callable[[int], Judged], estimate: int, measured: Callable[[], int]) -> Judged:
    """compare(terms summed): with the estimate from shapes, and where accuracy hangs on it with what was measured.

    An elementwise function of a long row is no long sum, and the shapes are the same.
    """
    judged = compare(estimate)
    return compare(min(estimate, measured())) if judged.finding is None and judged.by_length else judged


def settle(bench: Bench) -> None:
    """The `accuracy` check, on all that was compared. Raises Rejected for reduced accuracy that is not accepted."""
    if not bench.reduced:
        accuracy = accuracy_of(bench)
        bench.checks.append(Check(ACCURACY, f"all {len(bench.judged)} runs", True, _said(accuracy, bench.judged)))
        return
    check = reduced(bench)
    if not check.passed:
        raise Rejected(check)
    bench.checks.append(check)


def too_sensitive(
    targets: Targets, inputs: Inputs, baseline: Observation, reference: Observation | None, *, seed: int
) -> bool:
    """Whether rounding the inputs to bfloat16 alone moves the exact result beyond what is usual.

    On such data, as a softmax of large numbers is, nothing can be asked of a kernel of reduced accuracy.
    """

    def rounded(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(torch.bfloat16).to(tensor.dtype) if tensor.dtype in (torch.float32, torch.float64) else tensor

    return _moved_by(rounded, targets, inputs, baseline, reference, seed)


def hangs_on_a_rounding(
    targets: Targets,
    inputs: Inputs,
    baseline: Observation,
    reference: Observation | None,
    to: torch.dtype = torch.float32,
    *,
    seed: int,
    whole: bool = False,
) -> bool:
    """Whether one rounding of each input to this dtype moves the exact result beyond what is usual, `whole` numbers at all.

    Special data can be sums without any rounding in one order of steps, as scores are that are multiples of 1024: the largest
    of a row is then there twice, and only once as soon as a factor is multiplied in elsewhere. The variance of equal numbers is
    what a rounding leaves of it.
    """
    generator = torch.Generator().manual_seed(0)

    def nudged(tensor: torch.Tensor) -> torch.Tensor:
        signs = torch.randint(0, 2, tensor.shape, generator=generator).to(tensor.device) * 2 - 1
        if not tensor.is_floating_point():
            return tensor
        wide, signs = tensor.double(), signs.double()
        return wide + signs * (wide.abs() * torch.finfo(to).eps + _BREAKS_TIES)

    return _moved_by(nudged, targets, inputs, baseline, reference, seed, whole=whole)


def off_itself(oracle: Oracle) -> bool:
    """Whether the baseline's answer is not that of its fp64 run: whole numbers are others, or errors beyond what is trusted."""
    parts = [part for _, part in oracle.parts if isinstance(part, Expected)]
    whole = [part for part in parts if part.as_well is not None and is_whole(part.baseline)]
    return None in oracle.own_errors or any(not torch.equal(part.baseline, part.as_well) for part in whole)


def in_float64(baseline: Observation) -> bool:
    """Whether results are in float64, of which no fp64 run knows more."""
    return any(t.dtype == torch.float64 for t in baseline.tensors())


def _moved_by(
    change: Callable[[torch.Tensor], torch.Tensor],
    targets: Targets,
    inputs: Inputs,
    baseline: Observation,
    reference: Observation | None,
    seed: int,
    *,
    whole: bool = False,
) -> bool:
    """Whether the fp64 run on changed inputs is further from `reference` than what is usual."""
    if reference is None:
        return False
    leaf = lambda value: change(value.detach()) if isinstance(value, torch.Tensor) else value
    changed = Inputs(map_leaves(leaf, inputs.args), map_leaves(leaf, inputs.kwargs))
    moved = in_fp64(targets.double, changed, baseline, seed=seed, original=targets.baseline, given=inputs)
    if not isinstance(moved, Observation):
        return False
    for exact, other, own in zip(reference.results(), moved.results(), baseline.results(), strict=False):
        if whole and is_whole(own) and not torch.equal(exact, other):
            return True
        comparable = own.dtype in USUAL and own.numel() and exact.shape == other.shape == own.shape
        if comparable and deviation(exact, other, own, typical_size(exact, own.dtype)).worst > USUAL[own.dtype]:
            return True
    return False


def accuracy_of(bench: Bench) -> Accuracy:
    """The worst class of all compared runs, gradients too."""
    return Accuracy.REDUCED if bench.reduced else worst_of(judged.accuracy for judged in bench.judged)


def reduced(bench: Bench) -> Check:
    """What is to be said of the runs of reduced accuracy, of which there are some.

    Where each of them has few elements, nothing tells them from a wrong constant; where nearly all other runs are accurate, it
    is not precision that is missing: both are `values`.
    """
    case, worst = next(((case, judged) for case, judged in bench.reduced if not judged.few), bench.reduced[0])
    assert worst.finding is not None
    evidence = f"{worst.finding.detail}; so in {len(bench.reduced)} runs, {len(bench.judged)} compared"
    if worst.few:
        detail = f"{evidence}, on too few elements to tell less precision from a wrong constant"
        return Check("values", case, False, detail)
    if len(bench.judged) >= _ENOUGH_RUNS and len(bench.reduced) * _RARE < len(bench.judged):
        detail = f"{evidence}, and accurate in the others, which less precision would not be"
        return Check("values", case, False, detail)
    if bench.trial.limits.accept_reduced:
        return Check(ACCURACY, case, True, f"{Accuracy.REDUCED}, accepted by {ACCEPTING}: {evidence}")
    return Check(ACCURACY, case, False, f"{Accuracy.REDUCED}: {evidence}. {_mending(bench)}{ACCEPTING} would accept it")


def _mending(bench: Bench) -> str:
    """What tl.dot does by default to float32, where the candidate may not know it."""
    own, original = bench.trial.candidate, bench.trial.baseline
    if "tl.dot(" not in own or "input_precision" in own or "tl.dot(" in original:
        return ""
    return 'tl.dot rounds float32 to TF32 unless it is given input_precision="ieee". '


def _said(accuracy: Accuracy, judged: list[Judged]) -> str:
    ratios = [e.ratio for j in judged for e in j.errors if e.ratio is not None]
    if accuracy is Accuracy.BIT_EXACT or not ratios:
        return str(accuracy)
    return f"{accuracy}: errors up to {max(ratios):.2g} times the baseline's (root mean square)"
