"""The jobs that a worker does, and their answers: the contract between the server and the worker."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelwright.values import (
    Device,
    Effort,
    Failure,
    Graph,
    Measurement,
    ProfileResult,
    Resources,
    Timing,
    Verdict,
    Workload,
)


@dataclass(frozen=True)
class Subject:
    """A text and how to call it. `path` is where the file lives: its folder is importable, its text need not be saved.

    `language` is the id of `textDocument/didOpen`, here and in the jobs below.
    """

    path: str
    text: str
    workload: Workload
    language: str = "python"


@dataclass(frozen=True)
class Probe:
    """What is here? Answered by a Device."""


@dataclass(frozen=True)
class Capture:
    """Trace one call on the performance case. Answered by a Graph."""

    subject: Subject


@dataclass(frozen=True)
class Compile:
    """Compile every Triton kernel that a call launches, without running it. Answered by a CompileResult.

    `compute_capability` 0 means the device's own, or 90 without one.
    """

    subject: Subject
    compute_capability: int = 0


@dataclass(frozen=True)
class CompileResult:
    resources: tuple[Resources, ...]

    @property
    def unfit(self) -> str:
        """Which kernel is larger than a multiprocessor with each of its configurations, as a sentence; "" for none."""
        for name in dict.fromkeys(one.kernel for one in self.resources):
            own = [one for one in self.resources if one.kernel == name]
            if not any(one.occupancy for one in own):
                least = min(own, key=lambda one: one.shared_bytes)
                takes = f"{least.shared_bytes} bytes of shared memory, {least.registers} registers in {least.num_warps} warps"
                return f"{name} fits into no multiprocessor, by its {least.limited_by}: {takes}."
        return ""


@dataclass(frozen=True)
class Limits:
    """How much a trial may spend; from the Settings."""

    timing_budget: float = 1.0  # seconds of repeated runs
    threads: int = 0  # CPU threads, 0: physical cores
    seeds: int = 3
    first_seed: int = 0  # so that a second verification sees data that no step has seen
    effort: Effort = Effort.STANDARD
    accept_reduced: bool = False  # whether reduced accuracy passes, labelled as such
    strict_non_finite: bool = False  # whether NaN and infinities may spread no further than the baseline's


@dataclass(frozen=True)
class Trial:
    """Verify `candidate` against `baseline`, and when `measure` time both and `previous`. Answered by a TrialResult.

    All three are called the same way. `candidate` and `previous` are texts of the file `path`, and so is `baseline` unless
    `baseline_path` names another: each text imports from the folder of its own file, and from no other. `triton` is not
    measured in the interpreter: the result then has a passing verdict, no measurement and the reason in `unmeasured`.
    `promises_kernel`: the candidate comes from a strategy whose point is a hand-written kernel, and fails where a library,
    a compiler or somebody else does the work. `forward_only`: the kernel of an earlier step is part of it. Of both gradients
    that are lost are told. `kernel`: the one that the verdict is asked for, which some case must launch if it is Triton's.
    `rewritten`: a rewrite of Kernelwright's own is part of it, which has lines for other calls; those need no case.
    """

    path: str
    baseline: str
    previous: str
    candidate: str
    workload: Workload
    measure: bool = True
    limits: Limits = Limits()
    promises_kernel: bool = False
    forward_only: bool = False
    baseline_path: str = ""
    language: str = "python"
    kernel: str = ""
    rewritten: bool = False

    @property
    def home(self) -> str:
        """The file that the baseline's text belongs to."""
        return self.baseline_path or self.path


@dataclass(frozen=True)
class TrialResult:
    verdict: Verdict
    measurement: Measurement | None = None
    unmeasured: str = ""
    unsteady: bool = False  # the machine could have measured, but not now
    unconfirmed: bool = False  # a gain was reported that the judge's clock does not show


@dataclass(frozen=True)
class Race:
    """Quickly compare variants of one edit on the performance case. Answered by a RaceResult.

    A variant that fails, or whose output is plainly not the baseline's, has a Failure in its place.
    """

    path: str
    baseline: str
    variants: tuple[str, ...]
    workload: Workload
    limits: Limits = Limits()
    language: str = "python"


@dataclass(frozen=True)
class RaceResult:
    timings: tuple[Timing | Failure, ...]  # as many as variants, in their order


@dataclass(frozen=True)
class Contest:
    """Time the baseline as users run it today beside `candidate`, interleaved. Answered by a ContestResult.

    Contestants: "eager" (the default flags), "eager-tf32" (TF32 allowed), "torch.compile" when `compile`, "candidate".
    """

    path: str
    baseline: str
    candidate: str
    workload: Workload
    compile: bool = True
    limits: Limits = Limits()
    language: str = "python"


@dataclass(frozen=True)
class ContestResult:
    """`degenerate` says in words why the task's output carries no information, empty when it does.

    `inaccurate` holds, for each contestant whose output the gate would refuse on this data, the reason.
    """

    timings: Mapping[str, Timing | Failure]
    degenerate: str = ""
    inaccurate: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Profile:
    """List what one warm call of the performance case launches, with its times. Answered by a ProfileResult."""

    subject: Subject
    limits: Limits = Limits()


@dataclass(frozen=True)
class TryLines:
    """Call what each workload line calls, on two draws of its data, until every one of `kernels` was launched.

    Answered by TriedLines. Without `kernels` one line that runs is enough. `launches` holds lines that launch one of the
    kernels themselves, tried for each that none of the `lines` has launched. `seconds` are for the calls on one draw,
    `budget` for all `lines`, `launch_budget` for all `launches`. Without a GPU sizes are reduced as the gate does it.
    `written` is a file with kernels whose launches are to be written as lines. `larger_budget`: seconds for making lines that
    ran larger, to a size that keeps a GPU busy.
    """

    path: str
    text: str
    lines: tuple[str, ...]  # calls, without a comment sign
    kernels: tuple[str, ...] = ()
    seconds: float = 10.0
    budget: float = 60.0
    language: str = "python"
    launches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    launch_budget: float = 20.0
    written: str = ""
    larger_budget: float = 0.0

    @property
    def most_seconds(self) -> float:
        """How long all calls may take together."""
        return self.budget + (self.launch_budget if self.launches else 0.0) + self.larger_budget


@dataclass(frozen=True)
class TriedLine:
    """`reason`: why it did not run, as a clause, "" where it did. `launched`: those of the kernels that it launched.

    `written`: those launches as lines, where they were asked for. `smaller`: the line that this one is a larger form of.
    """

    line: str
    reason: str = ""
    launched: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    smaller: str = ""


@dataclass(frozen=True)
class TriedLines:
    """The lines that were tried, in the order of trying; there may be other forms of those that were given among them."""

    lines: tuple[TriedLine, ...]

    @property
    def ran(self) -> tuple[str, ...]:
        return tuple(one.line for one in self.lines if not one.reason)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why others did not run, each once, the commonest first."""
        return tuple(reason for reason, _ in Counter(one.reason for one in self.lines if one.reason).most_common())


Job = Probe | Capture | Compile | Trial | Race | Contest | Profile | TryLines
Answer = (
    Device | Graph | CompileResult | TrialResult | RaceResult | ContestResult | ProfileResult | TriedLines | Failure
)
