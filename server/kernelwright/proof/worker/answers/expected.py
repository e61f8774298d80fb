"""One tensor of the baseline's that candidates' are held against, with that of the fp64 run where it can be trusted.

What follows from these two alone is worked out once, however many answers are compared with them.
"""

from collections.abc import Callable
from functools import cached_property

import torch

from kernelwright.proof.worker.answers.deviation import Deviation, all_finite, deviation, extent, typical_size
from kernelwright.proof.worker.answers.tolerance import untrusted
from kernelwright.proof.worker.tensors import has_eight_bits

_MOST_EXPLAINED = 0.125  # relative errors of the baseline, four times which are too few to tell two functions apart
_CANCELLED = 1e3  # times that the baseline is larger than the fp64 run where nothing but rounding errors is left in it


class Expected:
    """`double`: the fp64 run's tensor, None when there is none. `explained`: whether rounding alone keeps the baseline from the
    fp64 run, asked where it is too far off to tell by itself.

    `given` is the baseline's as it is, `baseline` the same as real numbers; `as_well`, of whole numbers, the fp64 run's: which
    is the largest, or above a threshold, may hang on a rounding. `masks`: a huge value in many places is what masks fill with,
    and errors elsewhere are not to look small beside it.
    """

    def __init__(
        self,
        double: torch.Tensor | None,
        baseline: torch.Tensor,
        *,
        masks: bool = False,
        explained: Callable[[], bool] = lambda: False,
    ) -> None:
        self.given = baseline
        self._masks = masks
        self._explained = explained
        self.baseline = real(baseline)
        if double is not None and baseline.is_complex():
            double = real(double) if double.is_complex() else None
        # Of fp64 the fp64 run knows no more than the baseline.
        fits = double is not None and double.dtype == torch.float64 and self.baseline.dtype != torch.float64
        self._double = double if fits else None
        whole = double is not None and not fits and double.dtype == baseline.dtype and not baseline.is_floating_point()
        self.as_well = double if whole else None

    @cached_property
    def scale(self) -> float:
        """The size beside which errors of small elements count for little."""
        of = self.baseline if self._double is None else self._double
        return typical_size(of, self.baseline.dtype, self.baseline if self._masks else None)

    @cached_property
    def own(self) -> Deviation | None:
        """The baseline's errors; None where no fp64 run tells them: it draws other random numbers, or casts inside."""
        if self._double is None:
            return None
        found = deviation(self._double, self.baseline, self.baseline, self.scale, finite=self.finite)
        if found.worst <= untrusted(self.baseline.dtype):
            return found
        may_be = self.cancelled or found.worst <= _MOST_EXPLAINED
        return found if may_be and self._explained() else None

    @property
    def own_error(self) -> float | None:
        """The largest relative one; None where it says nothing of other data, since nothing but errors is left."""
        return None if self.own is None or self.own.worst > 1 else self.own.worst

    @property
    def cancelled(self) -> bool:
        """Whether the fp64 run has next to nothing here: the terms of the sum cancel, and their rounding errors are left."""
        if self._double is None:
            return False
        dtype = self.baseline.dtype
        return typical_size(self.baseline, dtype) > _CANCELLED * typical_size(self._double, dtype)

    @property
    def reference(self) -> torch.Tensor:
        """What is right: the fp64 run's tensor, or the baseline's."""
        return self.baseline if self._double is None or self.own is None else self._double

    @cached_property
    def extent(self) -> tuple[float, float]:
        """The least and the largest finite value of the reference."""
        return extent(self.reference)

    @cached_property
    def finite(self) -> bool:
        """Whether the baseline has neither NaN nor infinities."""
        return all_finite(self.baseline)


def real(tensor: torch.Tensor) -> torch.Tensor:
    """A complex tensor as its real and imaginary parts, one of 8 floating-point bits as whole numbers, which are compared
    exactly: what is wrong by a tenth looks like rounding in it. What is left to whoever reads the tensor is done."""
    if has_eight_bits(tensor):
        return tensor.contiguous().view(torch.uint8)
    done = tensor.resolve_conj().resolve_neg()
    return torch.view_as_real(done) if done.is_complex() else done
