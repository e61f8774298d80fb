"""What the tools answer with, as values. Lines count from 1, and the last one is included."""

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelRow:
    """`workload`: the call that is timed; where there is none, `missing` says why and how to get one."""

    name: str
    language: str
    first_line: int
    last_line: int
    workload: str | None
    missing: str


@dataclass(frozen=True)
class Kernels:
    file: str
    kernels: tuple[KernelRow, ...]


@dataclass(frozen=True)
class StrategyRow:
    """`applies`: whether it has found `places`; `reason` says what it saves, or why it does not apply."""

    id: str
    title: str
    applies: bool
    reason: str
    places: tuple[str, ...]
    needs_gpu: bool
    needs_model: bool


@dataclass(frozen=True)
class Strategies:
    file: str
    kernel: str
    device: str
    strategies: tuple[StrategyRow, ...]


@dataclass(frozen=True)
class FindingRow:
    code: str
    severity: str
    message: str
    first_line: int
    last_line: int
    kernel: str | None


@dataclass(frozen=True)
class Findings:
    file: str
    findings: tuple[FindingRow, ...]


@dataclass(frozen=True)
class Roofline:
    """None for what is not known. `share`: of the roof, as the text as it stands was measured in the step that made it."""

    kernel: str
    device: str
    bound: str | None
    least_ms: float | None
    bytes: int | None
    flops: int | None
    share: float | None


@dataclass(frozen=True)
class Prompt:
    """`not_found`: why the strategy itself has found no place, where it has not; then the lines are the whole kernel's."""

    strategy: str
    first_line: int
    last_line: int
    not_found: str
    system: str
    user: str


@dataclass(frozen=True)
class CheckRow:
    """How many cases of a check passed; `evidence` is of the first that failed, or of the last."""

    name: str
    passed: int
    cases: int
    evidence: str


@dataclass(frozen=True)
class UncheckedRow:
    name: str
    why: str


@dataclass(frozen=True)
class Judged:
    """A verdict: what was checked, what was not, and what of the text ran."""

    passed: bool
    status: str
    sentence: str
    checks: tuple[CheckRow, ...]
    unchecked: tuple[UncheckedRow, ...]
    caveats: tuple[str, ...]
    coverage: str
    accuracy: str | None
    where: str
    effort: str


@dataclass(frozen=True)
class Speedup:
    """Baseline over candidate, with its 95 % interval."""

    ratio: float
    low: float
    high: float
    confidence: float
    baseline_ms: float
    candidate_ms: float
    device: str
    conditions: dict[str, str]


@dataclass(frozen=True)
class Verified:
    file: str
    kernel: str
    verdict: Judged


@dataclass(frozen=True)
class Measured:
    """`speedup` is None without a passing verdict, and where `unmeasured` says why there is none."""

    file: str
    kernel: str
    verdict: Judged
    speedup: Speedup | None
    unmeasured: str


@dataclass(frozen=True)
class Tried:
    """`kept`: whether the file now holds the text. `verdict` is None where the gate could not say anything; then see `log`."""

    file: str
    kernel: str
    step: str
    strategy: str
    author: str
    kept: bool
    sentence: str
    verdict: Judged | None
    log: str
    speedup: Speedup | None


@dataclass(frozen=True)
class StepRow:
    id: str
    created: str
    kernel: str
    strategy: str
    outcome: str
    author: str
    sentence: str


@dataclass(frozen=True)
class History:
    file: str
    steps: tuple[StepRow, ...]


@dataclass(frozen=True)
class Reverted:
    file: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Script:
    file: str
    script: str


@dataclass(frozen=True)
class EntryRow:
    """Workload lines of what calls some kernels, without the comment sign; `refused` says why there are no others."""

    file: str
    entry: str
    kernels: tuple[str, ...]
    lines: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Lines:
    """`written`: the files that have the lines now, in them or in the journal, as the settings say."""

    entries: tuple[EntryRow, ...]
    written: tuple[str, ...]
