"""What the gate and the clock say: checks, verdicts, timings, and the typed ways in which a job can fail."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kernelwright.values.checks import Unchecked
from kernelwright.values.coverage import Coverage
from kernelwright.values.effort import Effort
from kernelwright.values.roof import Roof
from kernelwright.values.share import KernelShare


class FailureKind(StrEnum):
    COMPILE_FAILED = "compile-failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"
    WORKLOAD_FAILED = "workload-failed"
    IMPORT_FAILED = "import-failed"
    NOT_CAPTURED = "not-captured"
    NOT_PROFILED = "not-profiled"
    CANCELLED = "cancelled"
    NO_INTERPRETER = "no-interpreter"
    MISSING_PACKAGE = "missing-package"
    MISSING_TOOL = "missing-tool"  # a compiler
    DEVICE_BUSY = "device-busy"
    DEVICE_GONE = "device-gone"
    DISK_FULL = "disk-full"
    NO_GPU = "no-gpu"
    EDIT_REFUSED = "edit-refused"  # what a model or agent answered is no edit that may be tried
    NO_ANSWER = "no-answer"  # of a model, after others that were tried


_LACKS = frozenset(
    {
        FailureKind.NO_INTERPRETER,
        FailureKind.MISSING_PACKAGE,
        FailureKind.MISSING_TOOL,
        FailureKind.DEVICE_BUSY,
        FailureKind.DEVICE_GONE,
        FailureKind.DISK_FULL,
        FailureKind.NO_GPU,
    }
)


@dataclass(frozen=True)
class Failure:
    """A job that did not answer: one sentence for the user, the traceback or log for the log, the line when known."""

    kind: FailureKind
    message: str
    detail: str = ""
    line: int | None = None

    @property
    def about_kernel(self) -> bool:
        """Whether it says anything of the code that was run; else the same job may succeed another time."""
        return self.kind is not FailureKind.CANCELLED and not self.lacks_something

    @property
    def lacks_something(self) -> bool:
        """Whether this machine or environment lacks what the job needs: a package, a device, space."""
        return self.kind in _LACKS


@dataclass(frozen=True)
class Check:
    """One line of evidence in a Verdict."""

    name: str  # "values", "dtype", "inputs-unchanged", "nan-poison", "recheck-after-timing", …
    case: str  # which workload case, seed and input scale
    passed: bool
    detail: str  # "max |err| 2.4e-7 at (3, 117); baseline's own 1.9e-7 against fp64"


class VerdictStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKABLE = "not checkable"


class Accuracy(StrEnum):
    """How near a passing text comes to the fp64 reference, beside its baseline; the best first."""

    BIT_EXACT = "bit-exact"  # every compared output equals the baseline's bit for bit
    AS_BASELINE = "as accurate as the baseline"
    REDUCED = "reduced accuracy"  # within the dtype's usual tolerance, and clearly worse than the baseline


@dataclass(frozen=True)
class Verdict:
    """The gate's word on one text against one Baseline; errors are the largest over all cases, None if not compared."""

    status: VerdictStatus
    text_hash: str
    baseline_hash: str
    checks: tuple[Check, ...] = ()
    reason: str = ""  # why failed or not checkable, one sentence
    max_error: float | None = None
    baseline_error: float | None = None
    how: str = ""  # "on NVIDIA H200", "in Triton's interpreter on the CPU"
    accuracy: Accuracy | None = None  # the worst of all compared runs; None where nothing was compared

    share: KernelShare | None = None  # whose kernels do the work; None where nobody looked
    effort: Effort = Effort.STANDARD  # how much was looked at
    caveats: tuple[str, ...] = ()  # what was not compared or is not as the baseline's, said right behind "Verified"
    unchecked: tuple[Unchecked, ...] = ()  # which checks were not made, where it passed
    coverage: Coverage | None = None  # what of the text ran; None where nobody looked

    @property
    def passed(self) -> bool:
        return self.status is VerdictStatus.PASSED

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)


@dataclass(frozen=True)
class Timing:
    """Milliseconds per call over `samples` samples."""

    median_ms: float
    p10_ms: float
    p90_ms: float
    samples: int


@dataclass(frozen=True)
class Measurement:
    """Baseline, previous and candidate, interleaved in one run on the same inputs.

    `speedup` is baseline over candidate, `step_speedup` previous over candidate; each with its bootstrap 95 % interval.
    `conditions` are the facts shown beside the number: sizes, dtype, TF32 flags, threads, cache state, clocks.
    """

    text_hash: str
    baseline_hash: str
    device: str
    baseline: Timing
    previous: Timing
    candidate: Timing
    speedup: float
    speedup_low: float
    speedup_high: float
    step_speedup: float
    step_speedup_low: float
    step_speedup_high: float
    conditions: Mapping[str, str] = field(default_factory=dict)
    floor_ms: float | None = None  # the least time that the bytes of the call need, of any text
    roof: Roof | None = None  # None where the work is not known


@dataclass(frozen=True)
class Resources:
    """What the compiler says of one Triton or CUDA kernel, for one launch, on one compute capability."""

    kernel: str
    compute_capability: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    num_warps: int
    num_stages: int
    occupancy: float  # 0..1, resident warps over the most that fit
    limited_by: str  # "registers", "shared memory", "threads", "blocks"
