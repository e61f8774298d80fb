"""What an attempt came to, in the words that help to make the next one better."""

from dataclasses import dataclass

from kernelwright import words
from kernelwright.prompting.templates import fenced
from kernelwright.values import Resources, Step, VerdictStatus
from kernelwright.values.plain import plain

_MOST_CHECKS = 6
_LAST_LINES = 25  # of a traceback or compiler's log


@dataclass(frozen=True)
class Evidence:
    """Why a Step was not the last word: a sentence, details between fences or as a list, and what to look at next."""

    verdict: str
    details: str
    advice: str


def evidence_of(step: Step, resources: tuple[Resources, ...] = ()) -> Evidence:
    """`resources`: what the compiler says of the attempt, for one that is right and not fast enough."""
    if step.failure is not None:
        log = "\n".join(plain(step.failure.detail, lines=True).strip().splitlines()[-_LAST_LINES:])
        return Evidence(
            words.of_failure(step.failure), fenced(log) if log else "", "Repair the cause, not the symptom."
        )
    verdict = step.verdict
    if verdict is None:
        return Evidence(step.reason, "", "")
    if not verdict.passed:
        failed = [f"- {words.of_check(check)}" for check in verdict.failed_checks[:_MOST_CHECKS]]
        advice = (
            "Look at the case that is named: its sizes, its scale, its special values."
            if verdict.status is VerdictStatus.FAILED
            else "Make it so that this can be checked."
        )
        return Evidence(words.of_verdict(verdict), "\n".join(failed), advice)
    facts = [f"- {_compiled(one)}" for one in resources]
    if step.measurement is not None:
        facts.insert(0, f"- {words.compared(step.measurement)}")
    return Evidence(
        f"It is right, but this is what became of its speed: {step.reason}",
        "\n".join(facts),
        "Keep what is right and look for what bounds its time.",
    )


def _compiled(one: Resources) -> str:
    spills = f", {one.spill_bytes} bytes spilled" if one.spill_bytes else ""
    return (
        f"{one.kernel}: {one.registers} registers{spills}, {one.shared_bytes} bytes of shared memory, {one.num_warps} warps, "
        f"occupancy {one.occupancy:.0%} (limited by {one.limited_by})"
    )
