"""What an attempt came to, in the words that help to make the next one better."""

from dataclasses import dataclass

from kernelwright import words
from kernelwright.values import Resources, Step, VerdictStatus
from kernelwright.values.plain import plain

_MOST_CHECKS = 6
_LAST_LINES = 25  # of a traceback or compiler's log


@dataclass(frozen=True)
class Evidence:
    """Why a Step was not the last word: a sentence with the lines that belong to it, and what to look at next."""

    told: str
    advice: str


def evidence_of(step: Step, resources: tuple[Resources, ...] = ()) -> Evidence:
    """`resources`: what the compiler says of the attempt, for one that is right and not fast enough."""
    if step.failure is not None:
        log = plain(step.failure.detail, lines=True).strip().splitlines()[-_LAST_LINES:]
        return Evidence("\n".join([words.of_failure(step.failure), *log]), "Repair the cause, not the symptom.")
    verdict = step.verdict
    if verdict is None:
        return Evidence(step.reason, "")
    if not verdict.passed:
        failed = [words.of_check(check) for check in verdict.failed_checks[:_MOST_CHECKS]]
        advice = (
            "Look at the case that is named: its sizes, its scale, its special values."
            if verdict.status is VerdictStatus.FAILED
            else "Write it so that this can be checked."
        )
        return Evidence("\n".join(dict.fromkeys([words.of_verdict(verdict), *failed])), advice)
    facts = [words.compared(step.measurement)] if step.measurement is not None else []
    return Evidence(
        "\n".join([f"It is right. Its speed: {step.reason}", *facts, *map(_compiled, resources)]),
        "Keep what is right, and look for what bounds its time.",
    )


def _compiled(one: Resources) -> str:
    spills = f", {one.spill_bytes} bytes spilled" if one.spill_bytes else ""
    return (
        f"{one.kernel}: {one.registers} registers{spills}, {one.shared_bytes} bytes of shared memory, {one.num_warps} warps, "
        f"occupancy {one.occupancy:.0%} (limited by {one.limited_by})"
    )
