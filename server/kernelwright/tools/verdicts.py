"""Verdicts and measurements as an agent is told them: a number is a value only where `words.measured` lets it be said."""

from kernelwright import words
from kernelwright.tools.results import CheckRow, Judged, Speedup, UncheckedRow
from kernelwright.values import Check, Measurement, Verdict


def judged(verdict: Verdict) -> Judged:
    return Judged(
        passed=verdict.passed,
        status=verdict.status.value,
        sentence=words.of_verdict(verdict),
        checks=_rows(verdict.checks),
        unchecked=tuple(UncheckedRow(one.name, one.why) for one in verdict.unchecked),
        caveats=verdict.caveats,
        coverage=verdict.coverage.described if verdict.coverage is not None else "",
        accuracy=verdict.accuracy.value if verdict.accuracy is not None else None,
        where=verdict.how,
        effort=verdict.effort.value,
    )


def _rows(checks: tuple[Check, ...]) -> tuple[CheckRow, ...]:
    by_name: dict[str, list[Check]] = {}
    for check in checks:
        by_name.setdefault(check.name, []).append(check)
    return tuple(_row(name, of_name) for name, of_name in by_name.items())


def _row(name: str, checks: list[Check]) -> CheckRow:
    shown = next((check for check in checks if not check.passed), checks[-1])
    passed = sum(check.passed for check in checks)
    return CheckRow(name, passed, len(checks), f"{shown.case}: {shown.detail}".strip(": "))


def speedup(verdict: Verdict | None, measurement: Measurement | None) -> Speedup | None:
    """The number, beside a passing verdict of the very text that was measured."""
    if measurement is None or not words.measured(verdict, measurement):
        return None
    return Speedup(
        ratio=measurement.speedup,
        low=measurement.speedup_low,
        high=measurement.speedup_high,
        confidence=0.95,
        baseline_ms=measurement.baseline.median_ms,
        candidate_ms=measurement.candidate.median_ms,
        device=measurement.device,
        conditions=dict(measurement.conditions),
    )


def in_words(verdict: Judged, sentence: str = "") -> str:
    """The verdict in a few lines: what passed or failed, what was not checked, and what ran. `sentence`: said in its place."""
    failed = [f"Failed: {row.name} ({row.evidence})" for row in verdict.checks if row.passed < row.cases]
    passed = ", ".join(row.name for row in verdict.checks if row.passed == row.cases)
    said = [sentence or verdict.sentence, *failed, f"Passed: {passed}." if passed else ""]
    said += [f"Not checked: {one.name}, {one.why}." for one in verdict.unchecked]
    said.append(f"Of the text, {verdict.coverage}." if verdict.coverage else "")
    return "\n".join(filter(None, said))
