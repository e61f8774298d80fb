"""What becomes of an Action: kept or rejected, and in which words."""

import dataclasses
import datetime
import uuid
from collections.abc import Iterable, Sequence

from kernelwright.coders import Attempt, Variant
from kernelwright.languages import LanguageSupport
from kernelwright.macro.strategies import by_id
from kernelwright.macro.strategy import Observation
from kernelwright.proof.jobs import TrialResult
from kernelwright.source.roofline import known_work, roof_of
from kernelwright.values import (
    CPU,
    DETERMINISTIC,
    NOTHING_SPENT,
    Accuracy,
    Action,
    Device,
    Failure,
    FailureKind,
    Measurement,
    NoReply,
    Outcome,
    Refusal,
    Step,
    Verdict,
    digest,
    in_files,
    is_joined,
)
from kernelwright.values.opts import Precision


def decide(result: TrialResult, min_gain: float, *, needs_number: bool = False) -> tuple[Outcome, str]:
    """Keep or reject, and why. Only a passing verdict is ever kept, and only a gain where speed could be measured."""
    if not result.verdict.passed:
        return Outcome.REJECTED, result.verdict.reason or _first_failed(result.verdict)
    measured = result.measurement
    if measured is None:
        if result.unconfirmed:
            return Outcome.REJECTED, result.unmeasured
        if needs_number:
            return Outcome.REJECTED, f"{result.unmeasured} Without a measurement this step is worth nothing."
        return Outcome.KEPT, result.unmeasured
    if gained(measured, min_gain):
        at = f", with {Accuracy.REDUCED}" if result.verdict.accuracy is Accuracy.REDUCED else ""
        return Outcome.KEPT, f"{measured.step_speedup:.2f}x faster than before{at}"
    return Outcome.REJECTED, (
        f"No gain: {measured.step_speedup:.2f}x against the previous version "
        f"(95 % CI {measured.step_speedup_low:.2f}-{measured.step_speedup_high:.2f}, {1 + min_gain:.2f}x is asked for)."
    )


def gained(measurement: Measurement, min_gain: float) -> bool:
    """Faster than the previous text: the interval excludes 1 and the gain is at least `min_gain`."""
    return measurement.step_speedup_low > 1.0 and measurement.step_speedup >= 1.0 + min_gain


def under_roof(measurement: Measurement, of_baseline: Observation | None, device: Device) -> Measurement:
    """Adds the roof: the work of `of_baseline`, the kernel as its baseline is written, on the `device` that measured."""
    work = known_work(of_baseline.kernel, of_baseline.workload, of_baseline.graph) if of_baseline is not None else None
    if work is None:
        return measurement
    measured_on = device if device.name == measurement.device else CPU
    return dataclasses.replace(measurement, roof=roof_of(work, measured_on))


def _first_failed(verdict: Verdict) -> str:
    failed = verdict.failed_checks
    return f"{failed[0].name} failed on {failed[0].case}: {failed[0].detail}" if failed else verdict.status.value


def failed_step(observation: Observation, action: Action, failure: Failure) -> Step:
    """The rejected Step of an Action whose worker gave no verdict."""
    before = digest(observation.text)
    return Step(
        id=new_id(),
        kernel=observation.kernel.name,
        action=action,
        edits=None,
        before_hash=before,
        after_hash=before,
        outcome=Outcome.REJECTED,
        reason=failure.message,
        failure=failure,
        created=now(),
    )


def twice_in_vain(steps: Sequence[Step]) -> Refusal:
    """Why an autopilot stops after two steps in a row that were not kept."""
    if any(step.measurement is not None for step in steps):
        return Refusal("Stopped: two steps in a row brought no gain.")
    return Refusal(f"Stopped: two steps in a row came to no measurement. The last one: {steps[-1].reason}")


def too_inaccurate(variant: Variant, attempts: Iterable[Attempt]) -> bool:
    """Whether an attempt with products of the same precision was refused for its accuracy, or has less and wrong values."""
    precision = _precision(variant)
    verdicts = (one.step.verdict for one in attempts if precision == _precision(one.variant))
    return precision is not None and any(verdict is not None and _inaccurate(verdict) for verdict in verdicts)


def _inaccurate(verdict: Verdict) -> bool:
    failed = {check.name for check in verdict.failed_checks}
    return "accuracy" in failed or (verdict.accuracy is Accuracy.REDUCED and "values" in failed)


def _precision(variant: Variant) -> Precision | None:
    return next((opt for opt in variant.edits.opts if isinstance(opt, Precision)), None)


def forward_only(steps: Iterable[Step]) -> bool:
    """Whether one of the steps that were kept has brought a kernel as strategies make them: without a backward."""
    kept = (by_id(step.action.strategy) for step in steps if step.outcome is Outcome.KEPT)
    return any(strategy is not None and strategy.promises_kernel for strategy in kept)


def rewritten(steps: Iterable[Step]) -> bool:
    """Whether one of the steps that were kept is a rewrite of Kernelwright's own."""
    return any(step.outcome is Outcome.KEPT and step.author == DETERMINISTIC for step in steps)


def failure_of(refusal: Refusal) -> Failure:
    """Why a Variant of a model's is no edit that may be tried, as the failure of its Step."""
    kind = FailureKind.NO_ANSWER if isinstance(refusal, NoReply) else FailureKind.EDIT_REFUSED
    return Failure(kind, refusal.reason)


def best_of(attempts: tuple[Attempt, ...]) -> Attempt:
    """The attempt that makes the fastest kept step; where none was kept, the last one for which there was an answer."""
    rank = lambda one: (one.step.outcome is Outcome.KEPT, _speedup(one.step), _is_answered(one), attempts.index(one))
    return max(attempts, key=rank)


def with_earlier(attempts: tuple[Attempt, ...]) -> Step:
    """The Step of the best attempt, which names its author, what all have taken, and how the others ended."""
    best = best_of(attempts)
    return dataclasses.replace(
        best.step,
        author=best.variant.author,
        earlier=tuple(f"{one.variant.edits.summary}: {one.step.reason}" for one in attempts if one is not best),
        usage=sum((one.variant.usage for one in attempts), NOTHING_SPENT),
    )


def beside(step: Step, better: Step) -> Step:
    """A step that another coder's, kept in its place, was better than: it stays in the journal, to be compared."""
    if step.outcome is not Outcome.KEPT:
        return step
    reason = f"{step.reason} The step by {better.author} is faster"
    if better.measurement is not None:
        reason += f": {better.measurement.step_speedup:.2f}x"
    return dataclasses.replace(step, outcome=Outcome.REJECTED, reason=f"{reason}.")


def _is_answered(attempt: Attempt) -> bool:
    return not isinstance(attempt.variant.refusal, NoReply)


def _speedup(step: Step) -> float:
    kept = step.outcome is Outcome.KEPT and step.measurement is not None
    return step.measurement.step_speedup if kept and step.measurement is not None else 0.0


def syntax_failure(support: LanguageSupport, text: str) -> Failure | None:
    """The Failure of a rewritten text that its language does not parse, None where it does."""
    problem = support.syntax_problem(text)
    if problem is None:
        return None
    said = f"The rewritten text does not parse: {problem.message}."
    return Failure(FailureKind.COMPILE_FAILED, said, line=problem.line)


def of_files(answer: TrialResult | Failure, text: str) -> TrialResult | Failure:
    """The answer with lines of a joined text told as those of its files."""
    if not is_joined(text):
        return answer
    if isinstance(answer, Failure):
        return dataclasses.replace(answer, message=in_files(answer.message, text))
    verdict = dataclasses.replace(
        answer.verdict,
        reason=in_files(answer.verdict.reason, text),
        checks=tuple(
            dataclasses.replace(check, detail=in_files(check.detail, text)) for check in answer.verdict.checks
        ),
        caveats=tuple(in_files(one, text) for one in answer.verdict.caveats),
    )
    return dataclasses.replace(answer, verdict=verdict)


def new_id() -> str:
    """Eight hexadecimal digits."""
    return uuid.uuid4().hex[:8]


def now() -> str:
    """ISO 8601 in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
