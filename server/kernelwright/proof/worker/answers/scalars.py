"""A result that is a Python number, held against the baseline's and the fp64 run's as a tensor of one element would be."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.tensors import as_tensor

_LARGEST = float(torch.finfo(torch.float32).max)
_EXACT = 1e-12  # relative: a number that the fp64 run has as well was computed in float64


@dataclass(frozen=True)
class Scalar:
    """What is no tensor: the baseline's, and what the fp64 run has in its place, None where there is no such run."""

    base: Any
    double: Any = None

    @property
    def expected(self) -> Expected | None:
        """The number as a tensor of float32, which is what `.item()` reads as a rule; None where it is another's.

        A number of 64 bits that float32 does not have is one where the fp64 run comes to the same: no sum in float32 does.
        """
        base, double = self.base, self.double if type(self.double) is float else None
        if not computed(base) or not (double is None or computed(double)):
            return None
        own = as_tensor(base)
        if float(own) != base and (double is None or math.isclose(base, double, rel_tol=_EXACT)):
            return None
        return Expected(None if double is None else torch.tensor([double], dtype=torch.float64), own)

    def same(self, got: Any) -> bool:
        """Floats within 1e-6 relative; whole numbers and truth values as here or in the fp64 run; None and strings as they are.

        Other objects are not compared.
        """
        base = self.base
        if isinstance(base, float) and isinstance(got, float):
            both_nan = math.isnan(base) and math.isnan(got)
            return both_nan or math.isclose(base, got, rel_tol=1e-6, abs_tol=1e-12)
        if isinstance(base, int) and type(self.double) is type(base) and got == self.double:
            return True
        plain = isinstance(base, bool | int | str | bytes | complex | None)
        return base is got or not plain or (base is not None and base == got)

    def differs(self, got: Any) -> bool:
        """Of what is the same: whether it is a little off."""
        return isinstance(self.base, float) and self.base != got and not math.isnan(self.base)


def computed(value: Any) -> bool:
    """Whether it is a float within the range of float32; NaN and infinities are."""
    return isinstance(value, float) and not _LARGEST < abs(value) < math.inf
