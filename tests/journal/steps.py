"""A Step with every kind of value in it, for the journal's tests and the processes that they start."""

from kernelwright.values import (
    Action,
    Check,
    Edits,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    Region,
    Roof,
    Step,
    TextEdit,
    Timing,
    Verdict,
    VerdictStatus,
    digest,
)


def step(
    number: int, before: str = "a", after: str = "b", *, outcome: Outcome = Outcome.KEPT, kernel="softmax"
) -> Step:
    old, new = digest(before), digest(after)
    timing = Timing(median_ms=0.42, p10_ms=0.41, p90_ms=0.5, samples=200)
    return Step(
        id=f"step-{number}",
        kernel=kernel,
        action=Action(
            "triton.tune-launch", Region(3, 9, old, "the launch"), {"BLOCK": 2048, "ratio": 0.5, "kind": "x"}
        ),
        edits=Edits(old, (TextEdit(0, 1, after),), "BLOCK=2048"),
        before_hash=old,
        after_hash=new,
        outcome=outcome,
        reason="kept: 2.3x",
        verdict=Verdict(
            VerdictStatus.PASSED,
            new,
            old,
            (Check("values", "case 1", True, "max |err| 0"),),
            "",
            1e-7,
            float("nan"),
            "here",
        ),
        measurement=Measurement(
            new,
            old,
            "NVIDIA H200",
            timing,
            timing,
            timing,
            2.3,
            2.2,
            float("inf"),
            1.1,
            1.0,
            1.2,
            {"dtype": "fp32"},
            roof=Roof(2**30, 2**31, "float32", 4.8e12, 6.7e13),
        ),
        failure=Failure(FailureKind.TIMED_OUT, "Took too long.", "log", 3),
        created="2026-01-02T03:04:05+00:00",
    )
