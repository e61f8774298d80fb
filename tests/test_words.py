"""The sentences: a number only beside a passing verdict of the same text."""

import dataclasses

import pytest

from kernelwright import words
from kernelwright.proof import endings
from kernelwright.values import (
    Accuracy,
    Action,
    Check,
    Edits,
    Effort,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    Region,
    Step,
    Timing,
    Verdict,
    VerdictStatus,
)

PASSED = Verdict(VerdictStatus.PASSED, "new", "old", tuple(Check("values", f"seed {i}", True, "") for i in range(12)))
MEASURED = Measurement(
    text_hash="new",
    baseline_hash="old",
    device="NVIDIA H200",
    baseline=Timing(0.42, 0.41, 0.43, 100),
    previous=Timing(0.36, 0.35, 0.37, 100),
    candidate=Timing(0.18, 0.17, 0.19, 100),
    speedup=2.31,
    speedup_low=2.28,
    speedup_high=2.34,
    step_speedup=2.0,
    step_speedup_low=1.9,
    step_speedup_high=2.1,
    conditions={"dtype": "float32"},
)
FAILED = Verdict(
    VerdictStatus.FAILED,
    "new",
    "old",
    (Check("dtype", "seed 0", True, ""), Check("values", "seed 3, scale 0.01", False, "max |err| 0.5 at (3, 117)")),
)


def test_a_speedup() -> None:
    assert words.result(PASSED, MEASURED) == (
        "Verified: 2.31x faster than baseline (0.42 -> 0.18 ms, 95 % CI 2.28-2.34, NVIDIA H200, fp32, 12 checks)"
    )


def test_caveats_stand_right_behind_the_first_word() -> None:
    verdict = dataclasses.replace(PASSED, caveats=("gradients not compared", "parameter `eps` is gone"))
    begin = "Verified, gradients not compared, parameter `eps` is gone: "
    assert words.result(verdict, MEASURED).startswith(begin + "2.31x faster")
    assert words.of_verdict(verdict).startswith(begin + "passed 12 checks")


def test_what_a_verdict_had_to_do_without_is_said_behind_a_speedup_too() -> None:
    verdict = dataclasses.replace(PASSED, how="batch reduced from 64 to 8")
    assert words.result(verdict, MEASURED).endswith("12 checks); batch reduced from 64 to 8")
    assert words.of_verdict(verdict).endswith("12 checks batch reduced from 64 to 8")


@pytest.mark.parametrize(
    ("accuracy", "alone", "timed"),
    [
        (Accuracy.BIT_EXACT, "Verified: passed 12 checks (bit-exact)", "12 checks, bit-exact)"),
        (Accuracy.AS_BASELINE, "Verified: passed 12 checks (as accurate", "12 checks, as accurate as the baseline)"),
        (Accuracy.REDUCED, "Verified with reduced accuracy: passed 12 checks", "Verified with reduced accuracy: 2.31x"),
    ],
)
def test_the_accuracy_is_said_with_the_number_and_without(accuracy: Accuracy, alone: str, timed: str) -> None:
    verdict = dataclasses.replace(PASSED, accuracy=accuracy)
    assert words.of_verdict(verdict).startswith(alone)
    assert timed in words.result(verdict, MEASURED)


def test_no_speedup_on_a_quick_verdict() -> None:
    quick = dataclasses.replace(PASSED, effort=Effort.QUICK)
    assert not words.measured(quick, MEASURED)
    said = words.result(quick, MEASURED)
    assert said == (
        "Verified at effort quick, the most telling cases only: passed 12 checks; no speedup is shown at this level"
    )
    paranoid = dataclasses.replace(PASSED, effort=Effort.PARANOID)
    assert words.result(paranoid, MEASURED).startswith("Verified at effort paranoid: 2.31x faster than baseline")


def test_slower_and_the_same() -> None:
    slower = dataclasses.replace(MEASURED, speedup=0.5, speedup_low=0.4, speedup_high=0.8)
    assert "2.00x slower than baseline" in words.result(PASSED, slower)
    assert "95 % CI 1.25-2.50" in words.result(PASSED, slower)
    same = dataclasses.replace(MEASURED, speedup=1.01, speedup_low=0.99, speedup_high=1.03)
    assert "as fast as baseline, 1.01x" in words.result(PASSED, same)


@pytest.mark.parametrize(
    ("speedup", "said"),
    [
        (0.9974, "as fast as baseline, 1.00x"),
        (1.004, "as fast as baseline, 1.00x"),
        (0.99, "1.01x slower"),
        (1.006, "1.01x faster"),
    ],
)
def test_a_difference_that_two_digits_do_not_show_is_none(speedup: float, said: str) -> None:
    close = dataclasses.replace(MEASURED, speedup=speedup, speedup_low=speedup * 0.9999, speedup_high=speedup * 1.0001)
    assert said in words.result(PASSED, close)


@pytest.mark.parametrize(
    ("verdict", "measurement"),
    [
        (FAILED, MEASURED),
        (dataclasses.replace(PASSED, text_hash="other"), MEASURED),
        (dataclasses.replace(PASSED, baseline_hash="other"), MEASURED),
        (Verdict(VerdictStatus.NOT_CHECKABLE, "new", "old", reason="no GPU"), MEASURED),
    ],
)
def test_no_speedup_without_a_passing_verdict_of_the_same_text(verdict: Verdict, measurement: Measurement) -> None:
    said = words.result(verdict, measurement, "2.31x faster than before")
    assert "2.31" not in said
    assert "faster than" not in said


def test_verified_without_a_number_says_why() -> None:
    verdict = dataclasses.replace(PASSED, how="in Triton's interpreter on the CPU")
    assert words.result(verdict, None, "No GPU here.") == (
        "Verified: passed 12 checks in Triton's interpreter on the CPU; speed not measured: no GPU here"
    )


def test_a_failed_check_with_its_numbers_and_case() -> None:
    assert words.of_verdict(FAILED) == "Check values failed on seed 3, scale 0.01: max |err| 0.5 at (3, 117)"


def test_a_failure_says_what_to_change() -> None:
    failure = Failure(FailureKind.NO_INTERPRETER, "/no/python does not exist")
    assert words.of_failure(failure).endswith("Set kernelwright.interpreter to a Python that has torch.")


def step(outcome: Outcome, **fields: object) -> Step:
    edits = Edits("old", (), "BLOCK=2048")
    return Step("1", "softmax", Action("triton.x", Region(0, 1, "")), edits, "before", "new", outcome, "", **fields)


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (step(Outcome.KEPT, verdict=PASSED, measurement=MEASURED), "2.00x over the version before"),
        (step(Outcome.REJECTED, verdict=FAILED), "X (BLOCK=2048): not kept. Check values failed"),
        (step(Outcome.REJECTED, failure=Failure(FailureKind.CRASHED, "It died")), "X (BLOCK=2048): not kept. It died."),
        (step(Outcome.REVERTED), "X (BLOCK=2048): reverted"),
    ],
)
def test_a_step(subject: Step, expected: str) -> None:
    assert expected in words.of_step(subject, "X")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.42, "0.42"), (12.34, "12.3"), (0.008712, "0.00871"), (250.4, "250"), (1.0, "1"), (0.1, "0.1")],
)
def test_milliseconds(value: float, expected: str) -> None:
    assert words.milliseconds(value) == expected


@pytest.mark.parametrize(
    "failure", [endings.timed_out(120, ""), endings.busy(5), endings.too_much_memory(2 << 30, 1 << 30)]
)
def test_a_failure_says_once_what_to_change(failure: Failure) -> None:
    said = words.of_failure(failure)
    assert said.startswith(failure.message)
    assert sum(said.lower().count(word) for word in ("smaller", "try again")) == 1
