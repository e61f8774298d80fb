"""The reductions over a row that meanings may use, each with what a masked lane must hold so that it does not count."""

import math
from dataclasses import dataclass

from kernelwright.ops.primitives import number_text


@dataclass(frozen=True)
class Fold:
    """A reduction: its neutral element, and the Triton text that joins `{0}` and `{1}` lane by lane.

    `device` names the device function that joins two numbers, "" where `tl` has the whole reduction. `torch` is the
    reduction over the last dim, which stays with size 1. `scan` names the function of `tl` that folds up to each element.
    """

    name: str
    identity: float
    joined: str
    torch: str
    device: str = ""
    scan: str = ""

    @property
    def fill(self) -> str:
        """The neutral element as Triton code."""
        return number_text(self.identity)

    def reduced(self, values: str, axis: int, keep: str = "") -> str:
        """The Triton text of the reduction of `values` over `axis`; `keep` is a further argument."""
        if self.device:
            return f"tl.reduce({values}, {axis}, {self.device}{keep})"
        return f"tl.{self.name}({values}, axis={axis}{keep})"

    def scanned(self, values: str, axis: int) -> str:
        """The Triton text of what has been folded up to each of `values` along `axis`."""
        if self.scan:
            return f"tl.{self.scan}({values}, axis={axis})"
        return f"tl.associative_scan({values}, {axis}, {self.device})"


def _by_function(name: str, identity: float, device: str, torch: str, scan: str = "") -> Fold:
    return Fold(name, identity, f"{device}({{0}}, {{1}})", f"torch.{torch}({{0}}, -1, True)", device, scan)


_ALL = (
    Fold("sum", 0.0, "{0} + {1}", "torch.sum({0}, -1, True)", scan="cumsum"),
    Fold("max", -math.inf, "tl.maximum({0}, {1})", "torch.amax({0}, -1, True)"),
    Fold("min", math.inf, "tl.minimum({0}, {1})", "torch.amin({0}, -1, True)"),
    _by_function("nan_max", -math.inf, "nan_max", "amax"),
    _by_function("nan_min", math.inf, "nan_min", "amin"),
    _by_function("argmax", -math.inf, "nan_max", "argmax"),
    _by_function("argmin", math.inf, "nan_min", "argmin"),
    _by_function("prod", 1.0, "times", "prod", "cumprod"),
)
FOLDS = {fold.name: fold for fold in _ALL}
