"""What an answer of the workers says of a pair, and how several runs add up in one file."""

from pathlib import Path

import pytest
from benchmarks.records import Pair, Plant, Run, alike, append, first_of_gates, pair_of, plants, read
from benchmarks.subjects import Subject, Wanted

from kernelwright.proof.jobs import TrialResult
from kernelwright.values import Check, Device, Failure, FailureKind, Measurement, Timing, Verdict, VerdictStatus

WANTED = Wanted(Subject("pointwise", 0.1, "f(randn(8))", 1), 0.05, 0.06, 1.049)
PASSED = Verdict(VerdictStatus.PASSED, "new", "old")
REFUSED = Verdict(VerdictStatus.FAILED, "new", "old", (Check("judge-clock", "while timing", False, "hidden"),), "why")
RUN = Run("2026-01-01", Device("cpu", "a CPU"), {"torch": "2"}, "abc", {"budget": 2.0})
PAIR = Pair("pointwise", 0.1, "f(randn(8))", 1, "measured", 1.5, low=0.99, ratio=1.0, high=1.01)


def measurement(low: float, ratio: float, high: float) -> Measurement:
    one = Timing(1.0, 0.9, 1.1, 40)
    return Measurement("new", "old", "a CPU", one, one, one, 9.0, 8.0, 10.0, ratio, low, high)


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (TrialResult(PASSED, measurement(0.9, 1.0, 1.1)), "measured"),
        (TrialResult(PASSED, None, "too busy", unsteady=True), "unsteady"),
        (TrialResult(PASSED, None, "no GPU"), "not measured"),
        (TrialResult(REFUSED), "judge-clock"),
        (TrialResult(Verdict(VerdictStatus.NOT_CHECKABLE, "new", "old")), "not checkable"),
        (Failure(FailureKind.TIMED_OUT, "slow"), "timed-out"),
    ],
)
def test_an_answer_ends_as(answer: TrialResult | Failure, ending: str) -> None:
    pair = pair_of(WANTED, answer, 1.2345)
    assert (pair.ending, pair.seconds, pair.plant, pair.true) == (ending, 1.234, 0.05, 1.049)


@pytest.mark.parametrize(
    ("interval", "faster", "slower", "kept"),
    [
        ((0.9, 1.0, 1.1), False, False, False),
        ((1.001, 1.01, 1.03), True, False, False),  # less than the least gain
        ((1.001, 1.03, 1.05), True, False, True),
        ((0.9, 0.95, 0.99), False, True, False),
    ],
)
def test_an_interval_says(interval: tuple[float, float, float], faster: bool, slower: bool, kept: bool) -> None:
    pair = pair_of(WANTED, TrialResult(PASSED, measurement(*interval)), 1.0)
    assert (pair.faster, pair.slower, pair.kept) == (faster, slower, kept)


def test_runs_add_up_where_they_are_alike(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "pairs.jsonl"
    other = Run("2026-01-02", RUN.device, RUN.versions, "another gate", RUN.settings)
    later = Run("2026-01-03", RUN.device, RUN.versions, RUN.gate, RUN.settings)
    plant = Plant("a CPU", "matmul", 0.1, "f(randn(8))", 1, 0.02, 0.01, 1.02, 1.01, 1.03, True)
    for value in (RUN, PAIR, other, PAIR, plant, PAIR, later, PAIR):
        append(file, value)
    with file.open("a") as cut:
        cut.write('{"$": "Pair", "kind')
    found = read(file)
    assert plants(file) == [plant]
    assert [len(pairs) for _, pairs in found] == [1, 2, 1]
    assert alike(found, later) == [PAIR, PAIR]
    assert [run.date for run in first_of_gates(found)] == ["2026-01-01", "2026-01-02"]


def test_there_is_nothing_in_no_file(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == []
