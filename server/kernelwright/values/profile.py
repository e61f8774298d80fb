"""What one call launches: every kernel with where it comes from and its part of the time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Origin(StrEnum):
    HAND_WRITTEN = "hand-written"  # a Triton or CUDA kernel of the file or of a module of its folder
    COMPILED = "compiled"  # made by torch.compile
    LIBRARY = "library"  # everything else: cuBLAS, cuDNN, CUTLASS, ATen, copies and fills


class ProfiledOn(StrEnum):
    GPU = "gpu"  # kernels, by their time on the device
    CPU = "cpu"  # torch's operators, by their own CPU time
    INTERPRETER = "interpreter"  # Triton's launches and torch's operators, counted only


_WIDTH = 80


@dataclass(frozen=True)
class ProfiledKernel:
    """One GPU kernel, or one operator of torch where no GPU ran it. All figures are of one call.

    `launches` is a mean, whole where every call launches as many; `time_us`, a median in microseconds, and `share` (0..1)
    of the call's time are None where time was not measured.
    """

    name: str
    origin: Origin
    launches: float
    time_us: float | None = None
    share: float | None = None

    @property
    def short_name(self) -> str:
        """A demangled name without its return type and parameters, and clipped: templates of libraries fill pages."""
        bare = _without_parameters(self.name.replace("(anonymous namespace)::", "").removeprefix("void "))
        return bare if len(bare) <= _WIDTH else f"{bare[: _WIDTH - 1]}…"


@dataclass(frozen=True)
class ProfileResult:
    """One warm call of the performance case, from `calls` calls; the kernels with the most time come first.

    `time_us` is the sum over the kernels' medians, without gaps between them. `conditions` are the facts shown beside it,
    how far the calls spread among them; `unmeasured` says why there are no times.
    """

    text_hash: str
    device: str
    measured_on: ProfiledOn
    calls: int
    kernels: tuple[ProfiledKernel, ...]
    launches: float
    time_us: float | None
    hand_written_share: float | None  # 0..1 of the time; None where it was not measured, or nothing took time
    conditions: Mapping[str, str] = field(default_factory=dict)
    unmeasured: str = ""

    @classmethod
    def of_kernels(
        cls,
        text_hash: str,
        device: str,
        measured_on: ProfiledOn,
        calls: int,
        kernels: tuple[ProfiledKernel, ...],
        conditions: Mapping[str, str] | None = None,
        unmeasured: str = "",
    ) -> "ProfileResult":
        """The result with its sums."""
        times = [kernel.time_us for kernel in kernels]
        whole = None if unmeasured or None in times else sum(time or 0.0 for time in times)
        written = (kernel.time_us for kernel in kernels if kernel.origin is Origin.HAND_WRITTEN)
        launches = sum(kernel.launches for kernel in kernels)
        part = share(written, whole)
        return cls(
            text_hash, device, measured_on, calls, kernels, launches, whole, part, dict(conditions or {}), unmeasured
        )

    def of(self, origin: Origin) -> tuple[ProfiledKernel, ...]:
        return tuple(kernel for kernel in self.kernels if kernel.origin is origin)

    def launches_of(self, origin: Origin) -> float:
        return sum(kernel.launches for kernel in self.of(origin))

    def share_of(self, origin: Origin) -> float | None:
        """The part (0..1) of the time, None where it was not measured."""
        return share((kernel.time_us for kernel in self.of(origin)), self.time_us)


def share(parts: Iterable[float | None], whole: float | None) -> float | None:
    """The parts over the whole; None where the whole is not known, or is nothing."""
    return sum(part or 0.0 for part in parts) / whole if whole else None


def _without_parameters(name: str) -> str:
    """ "f<int>(float*)" as "f<int>"; a remark after a space, as in "Memcpy DtoD (Device -> Device)", stays."""
    depth = 0
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0 and at and name[at - 1] != " ":
            return name[:at]
    return name
