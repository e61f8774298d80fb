"""Which trivial answers a comparison would let through in the place of an output: where it would, it shows little.

Asked of every comparison of the gate. What would pass all of them is said with the verdict.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import torch

from kernelwright.proof.worker.answers.deviation import deviation
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.tensors import chunks

_FIRST = 4096  # elements that are looked at before all are: nearly every output differs from the inputs there


class Trivial(StrEnum):
    ZEROS = "zeros"
    CONSTANT = "one constant"
    COPY = "a copy of an input"


def common(found: Iterable[frozenset[Trivial]]) -> frozenset[Trivial]:
    """What would pass everywhere; nothing where nothing was compared."""
    every = list(found)
    return every[0].intersection(*every) if every else frozenset()


def told(answers: Collection[Trivial]) -> str:
    """In words what would pass, "" where nothing would; zeros are a constant, too."""
    named = [answer for answer in Trivial if answer in answers]
    if Trivial.ZEROS in named and Trivial.CONSTANT in named:
        named.remove(Trivial.CONSTANT)
    return f"{' or '.join(named)} would pass" if named else ""


def trivial_numbers(expected: Expected, limit: float, given: Sequence[torch.Tensor]) -> frozenset[Trivial]:
    """For floating-point outputs: what is within `limit` of the reference. `given`: the inputs of the call.

    Zeros and a constant may have NaN and infinities where the output has them.
    """
    reference, scale = expected.reference, expected.scale
    low, high = expected.extent
    largest = max(abs(low), abs(high))
    found = {Trivial.COPY} if _has_copy(reference, expected.baseline, scale, limit, given) else set()
    if low > high:
        found.add(Trivial.CONSTANT)
    elif largest <= limit * (largest + scale):
        found |= {Trivial.ZEROS, Trivial.CONSTANT}
    elif reference.numel() > 1 and high - low <= limit * (largest + scale):
        found.add(Trivial.CONSTANT)
    return frozenset(found)


def trivial_values(baseline: torch.Tensor, given: Sequence[torch.Tensor]) -> frozenset[Trivial]:
    """For all other outputs, which are compared exactly."""
    found = set()
    if not bool(baseline.any()):
        found |= {Trivial.ZEROS, Trivial.CONSTANT}
    elif baseline.numel() > 1 and bool((baseline == baseline.reshape(-1)[0]).all()):
        found.add(Trivial.CONSTANT)
    if any(torch.equal(one, baseline) for one in _alike(baseline, given)):
        found.add(Trivial.COPY)
    return frozenset(found)


def _has_copy(
    reference: torch.Tensor, baseline: torch.Tensor, scale: float, limit: float, given: Sequence[torch.Tensor]
) -> bool:
    for one in _alike(baseline, given):
        parts = [tensor.detach().reshape(-1)[:_FIRST] for tensor in (reference, one, baseline)]
        if _near(*parts, scale, limit) and _near(reference, one, baseline, scale, limit):
            return True
    return False


def _near(reference: torch.Tensor, one: torch.Tensor, baseline: torch.Tensor, scale: float, limit: float) -> bool:
    pairs = zip(chunks(one), chunks(baseline), strict=True)
    same = all(bool((torch.isfinite(x) == torch.isfinite(y)).all()) for x, y in pairs)
    return same and deviation(reference, one, baseline, scale).worst <= limit


def _alike(output: torch.Tensor, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    form = output.shape, output.dtype, output.device, output.layout
    return [one for one in given if (one.shape, one.dtype, one.device, one.layout) == form]
