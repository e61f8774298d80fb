"""Data on which a candidate that is off says nothing: a rounding decides there, or the order of equal values."""

from collections.abc import Callable

import torch

from kernelwright.proof.worker.answers.deviation import deviation, typical_size
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.judge import Judged
from kernelwright.proof.worker.answers.oracle import Oracle
from kernelwright.proof.worker.answers.tolerance import USUAL
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.gate.grounds import Ground, masks_with_a_number
from kernelwright.proof.worker.gate.properties import INFINITE, LARGE, NON_FINITE, PLANTED
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.reference.fp64 import in_fp64
from kernelwright.proof.worker.reference.ties import names_an_open_order
from kernelwright.proof.worker.rejected import NotAccepted, Undecidable
from kernelwright.proof.worker.whole_numbers import is_whole

_BREAKS_TIES = 1e-300  # added to zeros, which no factor tells apart
_EQUAL_VALUES = (
    "The result hangs on which of equal values comes first, which torch leaves open: give the workload data without equal "
    "values (float32 rather than 16 bits, say)."
)


def must_count(bench: Bench, ground: Ground, judged: Judged) -> None:
    """Raises NotAccepted or Undecidable where the data decide by a rounding, or by the order of equal values."""
    if not (judged.wrong or judged.reduced):
        return
    variation, text = ground.variation, bench.trial.baseline
    if variation.data in INFINITE | {PLANTED} and masks_with_a_number(text):
        raise NotAccepted
    # Rounding to bfloat16 alone may move the result, as that of a softmax of large numbers: then less precision may as well.
    if variation.derived and bench.evidence.reduced and judged.wrong and _moved_by(_to_bfloat16, ground):
        raise NotAccepted
    tied = names_an_open_order(text)
    if tied and judged.wrong and (variation.data in NON_FINITE or _off_itself(ground.oracle)):
        raise NotAccepted if variation.derived else Undecidable(_EQUAL_VALUES)
    roundings = [torch.float32] if variation.data in LARGE or variation.numbers or (tied and variation.data) else []
    # Of results in float64 no fp64 run knows more.
    doubled = any(t.dtype == torch.float64 for t in ground.baseline.tensors())
    roundings += [torch.float64] if variation.data and doubled else []
    if any(_moved_by(_nudging(to), ground, whole=tied) for to in roundings):
        raise NotAccepted
    if judged.reduced and variation.data and ground.reference is None:
        raise NotAccepted  # what rounding does on such data is not known


def _to_bfloat16(tensor: torch.Tensor) -> torch.Tensor:
    wide = tensor.dtype in (torch.float32, torch.float64)
    return tensor.detach().to(torch.bfloat16).to(tensor.dtype) if wide else tensor.detach()


def _nudging(to: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    """One rounding of each element to this dtype, up or down.

    Special data can be sums without any rounding in one order of steps, as scores are that are multiples of 1024: the largest
    of a row is then there twice, and only once as soon as a factor is multiplied in elsewhere. The variance of equal numbers is
    what a rounding leaves of it.
    """
    generator = torch.Generator().manual_seed(0)

    def nudged(tensor: torch.Tensor) -> torch.Tensor:
        signs = torch.randint(0, 2, tensor.shape, generator=generator).to(tensor.device) * 2 - 1
        if not tensor.is_floating_point():
            return tensor
        wide = tensor.detach().double()
        return wide + signs.double() * (wide.abs() * torch.finfo(to).eps + _BREAKS_TIES)

    return nudged


def _moved_by(change: Callable[[torch.Tensor], torch.Tensor], ground: Ground, *, whole: bool = False) -> bool:
    """Whether the change of the inputs moves the exact result beyond what is usual, `whole` numbers of it at all."""
    if ground.reference is None:
        return False
    targets, seed, changed = ground.targets, ground.variation.seed, ground.inputs.changed(change)
    moved = in_fp64(targets.double, changed, ground.baseline, seed=seed, original=targets.baseline, given=ground.inputs)
    if not isinstance(moved, Observation):
        return False
    results = (one.results() for one in (ground.reference, moved, ground.baseline))
    for exact, other, own in zip(*results, strict=False):
        if whole and is_whole(own) and not torch.equal(exact, other):
            return True
        comparable = own.dtype in USUAL and own.numel() and exact.shape == other.shape == own.shape
        if comparable and deviation(exact, other, own, typical_size(exact, own.dtype)).worst > USUAL[own.dtype]:
            return True
    return False


def _off_itself(oracle: Oracle) -> bool:
    """Whether the baseline's answer is not that of its fp64 run: whole numbers are others, or errors beyond what is trusted."""
    parts = [part for _, part in oracle.parts if isinstance(part, Expected)]
    whole = [part for part in parts if part.as_well is not None and is_whole(part.baseline)]
    return None in oracle.own_errors or any(not torch.equal(part.baseline, part.as_well) for part in whole)
