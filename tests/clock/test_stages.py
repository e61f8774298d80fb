"""A trial's time by stage and step: every second is somebody's, and nobody's twice."""

import pytest
from benchmarks.stages import JUDGE, Mark, Span, StageClock, by_stage, by_step, stage_of, times

CASE = "f(randn(64, 64))"


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        ("Loading baseline and candidate", "load, first process"),
        (f"Verifying, case 1 of 20: {CASE}, seed 0", "gate: the case itself"),
        (f"Verifying, case 2 of 20: {CASE}, seed 1, constant parameters changed", "gate: other seeds"),
        (f"Verifying, case 3 of 20: {CASE}, seed 3, inputs x 3", "gate: scaled inputs"),
        ("Verifying, case 4 of 20: f(randn(7, 64)), seed 2", "gate: other sizes"),
        (f"Verifying, case 5 of 20: {CASE}, seed 3, all equal", "gate: special data"),
        ("Verifying: outputs outlive the next call", "gate: calls one after another"),
        ("Measuring: warming up", "warm-up"),
        ("Measuring, round 3 of 40", "timed samples"),
        ("Checking the timed results", "audits after timing"),
        ("Measuring the gain again, in new processes", "new processes for a gain that may be luck"),
        ("Looking at whose kernels do the work", "whose kernels, close"),
        ("Brewing tea", "other: Brewing tea"),
    ],
)
def test_words_tell_their_stage(words: str, stage: str) -> None:
    assert stage_of(words, CASE, ("all equal", "one hot")) == stage


def test_a_step_has_its_own_seconds_only() -> None:
    marks = [Mark(0.0, "a"), Mark(10.0, "b")]
    spans = [Span("collect", 2.0, 3.0), Span("audit", 1.0, 5.0), Span("fire", 9.0, 11.0)]
    taken = times(marks, spans, 14.0, lambda words: words)
    assert taken == {
        ("a", JUDGE): 5.0,
        ("a", "collect"): 1.0,
        ("a", "audit"): 3.0,
        ("a", "fire"): 1.0,
        ("b", "fire"): 1.0,
        ("b", JUDGE): 3.0,
    }
    assert by_stage(taken) == {"a": 10.0, "b": 4.0}
    assert by_step(taken)["fire"] == 2.0


def test_the_timed_processes_have_a_stage_of_their_own() -> None:
    marks = [Mark(0.0, "Loading"), Mark(2.0, "Verifying: outputs"), Mark(9.0, "Measuring: warming up")]
    spans = [Span("fork", 0.5, 1.0), Span("fork", 5.0, 6.0), Span("fork", 7.0, 8.0)]
    taken = by_stage(times(marks, spans, 10.0, lambda words: stage_of(words, CASE, ())))
    assert taken == {
        "load, first process": 2.0,
        "gate: calls one after another": 3.0,
        "start of the timed processes": 4.0,
        "warm-up": 1.0,
    }


class Worker:
    def ask(self, request: object) -> str:
        return "done"

    def fail(self) -> None:
        raise ValueError


def test_calls_are_watched_and_left_as_they_were() -> None:
    ask, clock = Worker.ask, StageClock(now=iter(range(10)).__next__)
    with clock.watching((Worker, "ask", ""), (Worker, "fail", "failing")):
        assert Worker().ask(3.0) == "done"
        with pytest.raises(ValueError):  # noqa: PT011
            Worker().fail()
    assert clock.spans == [Span("float", 0, 1), Span("failing", 2, 3)]
    assert Worker.ask is ask
