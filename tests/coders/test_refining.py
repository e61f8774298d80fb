"""When a coder that learns from evidence stops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.coders.refining import distance_to_bound, goes_on, rounds
from kernelwright.values import (
    Action,
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

ACTION = Action("triton.retile", Region(0, 0, ""))


def step(outcome: Outcome = Outcome.REJECTED, ms: float | None = None, floor: float | None = 1.0, **more) -> Step:
    """A verified step whose candidate takes `ms`, the version before 4 ms, and the roofline's least time `floor` ms."""
    timing = lambda median: Timing(median, median, median, 9)
    measured = None
    if ms is not None:
        speedup = (4.0 / ms,) * 3
        measured = Measurement(
            "a", "b", "NVIDIA H200", timing(4.0), timing(4.0), timing(ms), *speedup, *speedup, floor_ms=floor
        )
    verdict = Verdict(VerdictStatus.PASSED, "a", "b")
    return Step("1", "k", ACTION, None, "b", "a", outcome, "", **{"verdict": verdict, "measurement": measured, **more})


FAILED = step(verdict=Verdict(VerdictStatus.FAILED, "a", "b"))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), True),
        ((FAILED,), True),
        ((FAILED, FAILED), True),
        ((FAILED, FAILED, FAILED), False),  # three rounds are all there are
        ((step(Outcome.KEPT, 1.05),), False),  # at the bound
        ((step(Outcome.KEPT, 3.0),), True),  # three times the least time: all rounds are worth it
        ((step(Outcome.REJECTED, 3.9),), True),
        ((step(Outcome.KEPT, 1.2),), False),  # little room: one round
        ((step(Outcome.KEPT, 1.6),), True),
        ((step(Outcome.KEPT, 1.6), step(Outcome.REJECTED, 3.0)), False),  # the best one counts: two rounds
        ((step(Outcome.KEPT, 3.0, floor=None),), False),  # no bound is known: what is right is enough
        ((step(Outcome.REJECTED, 3.9, floor=None),), True),  # and no gain is no reason to stop
        ((step(Outcome.REJECTED),), False),  # right, and not measured
        ((step(failure=Failure(FailureKind.CANCELLED, "Cancelled.")),), False),
        ((step(verdict=None, failure=Failure(FailureKind.EDIT_REFUSED, "No block.")),), True),
    ],
)
def test_rounds_end_with_the_headroom(steps: tuple[Step, ...], expected: bool) -> None:
    assert goes_on(steps, 3) is expected


@given(st.floats(1.0, 100.0), st.floats(0.0, 10.0), st.integers(1, 20))
def test_more_room_never_means_fewer_rounds(distance: float, more: float, most: int) -> None:
    assert 1 <= rounds(distance, most) <= rounds(distance + more, most) <= most


def test_the_distance_is_that_of_the_text_that_stays() -> None:
    assert distance_to_bound(step(Outcome.KEPT, 2.0)) == 2.0
    assert distance_to_bound(step(Outcome.REJECTED, 3.99)) == 4.0
    assert distance_to_bound(FAILED) is None
