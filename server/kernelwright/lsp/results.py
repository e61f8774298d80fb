"""What was last found out of a kernel, and whether it still holds for the text on the screen."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernelwright import words
from kernelwright.values import Failure, Kernel, Measurement, Outcome, Region, Step, Verdict, digest

_COMMENT = re.compile(r"^\s*(#(?!\s*workload:).*)?$")


@dataclass(frozen=True)
class Result:
    """The evidence about one kernel. `code` names the version of its code that the evidence is about.

    `strategy` and `region` tell of the Action that led here, where one did; `unmeasured` says why there is no number.
    """

    kernel: str
    code: str
    text_hash: str
    strategy: str = ""
    region: Region | None = None
    outcome: Outcome | None = None
    summary: str = ""
    verdict: Verdict | None = None
    measurement: Measurement | None = None
    unmeasured: str = ""
    failure: Failure | None = None
    written: str = ""  # who wrote the edits and what that took, where it was not Kernelwright itself


def of_step(step: Step, code: str) -> Result:
    """The Result of a Step; `code` is the kernel's code that the evidence is about: after it if kept, before it if not."""
    return Result(
        kernel=step.kernel,
        code=code,
        text_hash=step.after_hash if step.outcome is Outcome.KEPT else step.before_hash,
        strategy=step.action.strategy,
        region=step.action.region,
        outcome=step.outcome,
        summary=step.edits.summary if step.edits else "",
        verdict=step.verdict,
        measurement=step.measurement,
        unmeasured=step.reason,
        failure=step.failure,
        written=words.written_by(step),
    )


def with_verdict(previous: Result | None, result: Result) -> Result:
    """A new verdict keeps the strategy and, on the very same text, the number of the result before it."""
    if previous is None or previous.outcome is Outcome.REJECTED:
        return result
    result = replace(result, strategy=previous.strategy, region=previous.region, summary=previous.summary)
    same = previous.text_hash == result.text_hash and result.verdict is not None and result.verdict.passed
    if same and result.measurement is None and previous.measurement is not None:
        return replace(result, measurement=previous.measurement)
    return result


def code_of(text: str, kernel: Kernel, kernels: Iterable[Kernel]) -> str:
    """A name for the code that decides what `kernel` does: every line but those of kernels that it does not use.

    Blank lines and comments do not count, workload lines do.
    """
    lines = text.split("\n")
    others = tuple(other for other in kernels if other.name != kernel.name)
    used = _used(lines, kernel, others)
    skipped: set[int] = set()
    for other in others:
        if other.name not in used:
            skipped.update(range(other.start_line, other.end_line))
            skipped.update(_entry_lines(other))
    skipped.difference_update(range(kernel.start_line, kernel.end_line), _entry_lines(kernel))
    return digest("\n".join(line for i, line in enumerate(lines) if i not in skipped and not _COMMENT.match(line)))


def _used(lines: list[str], kernel: Kernel, others: tuple[Kernel, ...]) -> set[str]:
    """The names of the kernels that `kernel`, or one that it uses, mentions."""
    used: set[str] = set()
    waiting = [kernel]
    while waiting:
        current = waiting.pop()
        spans = (range(current.start_line, current.end_line), _entry_lines(current))
        words = set(re.findall(r"\w+", "\n".join(lines[i] for span in spans for i in span if i < len(lines))))
        for other in others:
            if other.name not in used and (other.name in words or other.entry in words):
                used.add(other.name)
                waiting.append(other)
    return used


def _entry_lines(kernel: Kernel) -> range:
    if kernel.entry_start_line is None or kernel.entry_end_line is None:
        return range(0)
    return range(kernel.entry_start_line, kernel.entry_end_line)
