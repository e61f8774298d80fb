"""The roof over the measurements of a kernel: its work, and the ceilings of the device that measured it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Roof:
    """`bytes` and `flops` of one call as its baseline is written, so that all texts of a kernel are told by the same work.

    `dtype` is what the arithmetic is done in, `bandwidth` in bytes/s, `peak_flops` in FLOP/s of that dtype; 0: unknown.
    """

    bytes: int
    flops: int
    dtype: str
    bandwidth: float
    peak_flops: float

    @property
    def least_ms(self) -> float | None:
        """The least time of the call in milliseconds; None where a ceiling that could bound it is not known."""
        if not self.bandwidth or (self.flops and not self.peak_flops):
            return None
        compute = self.flops / self.peak_flops if self.flops else 0.0
        return max(self.bytes / self.bandwidth, compute) * 1e3
