"""What is counted as false, as seen and as missed, and how a plant gets its size."""

import pytest
from benchmarks import aa, planted
from benchmarks.long_run import calibrated, of_size
from benchmarks.records import Pair

from kernelwright.proof.worker.clock.statistics import Ratio


def pair(low: float, high: float, *, plant: float = 0.0, ms: float = 0.1, ending: str = "measured") -> Pair:
    ratio = (low + high) / 2
    kept = low > 1.0 and ratio >= 1.02
    return Pair("pointwise", ms, "f(randn(8))", 1, ending, 2.0, plant=plant, low=low, ratio=ratio, high=high, kept=kept)


PAIRS = (
    pair(0.99, 1.01),
    pair(1.001, 1.003),
    pair(1.01, 1.05, ms=1.0),
    pair(0.9, 0.98, ms=1.0),
    pair(0, 0, ending="unsteady", ms=1.0),
    pair(0, 0, ending="crashed", ms=1.0),
)


def test_false_faster_is_counted_by_size() -> None:
    small, large, kind, whole = aa.rows(PAIRS)
    assert (small.of, small.pairs, small.faster, small.kept) == ("100 us", 2, 1, 0)
    assert (large.of, large.pairs, large.measured, large.faster, large.kept) == ("1 ms", 4, 2, 1, 1)
    assert (large.slower, large.unsteady, large.highest_low) == (1, 1, 1.01)
    assert (kind.of, whole.of, whole.pairs, whole.faster) == ("pointwise", "all", 6, 2)


def test_the_table_says_why_pairs_were_not_measured() -> None:
    text = aa.table(PAIRS)
    assert "| 2 (50.0%) |" in text
    assert text.endswith("1 x unsteady: \n1 x crashed: ")


def test_a_distribution_in_words() -> None:
    assert aa.distribution([3.0, 1.0, 2.0]).startswith("0% 1.0000, 10% 1.0000")
    assert aa.distribution([]) == "none"


@pytest.mark.parametrize(
    ("plant", "low", "high", "seen"),
    [
        (0.05, 0.9, 0.99, True),
        (0.05, 0.9, 1.01, False),
        (0.05, 1.01, 1.1, False),  # the wrong way round
        (-0.05, 1.01, 1.1, True),
        (-0.05, 0.99, 1.1, False),
    ],
)
def test_a_plant_is_seen_when_the_interval_excludes_one_on_its_side(
    plant: float, low: float, high: float, seen: bool
) -> None:
    assert planted.seen(pair(low, high, plant=plant)) is seen


def test_plants_are_counted_by_size_and_place() -> None:
    pairs = [pair(0.9, 0.99, plant=0.05), pair(1.01, 1.1, plant=-0.05), pair(1.01, 1.1, plant=0.05)]
    pairs.append(pair(0, 0, plant=0.1, ending="unsteady"))
    rows = {(row.plant, row.where, row.kernels): row for row in planted.rows(pairs)}
    assert (rows[0.05, "either", "all"].seen, rows[0.05, "either", "all"].wrong_way) == (2, 1)
    assert rows[0.05, "baseline", "all"].seen == 1
    assert (rows[0.1, "candidate", "all"].trials, rows[0.1, "candidate", "all"].seen) == (1, 0)
    assert "99% missed" in rows[0.05, "either", "all"].line


def test_a_plant_is_sized_until_it_fits() -> None:
    extra, true = calibrated(0.05, lambda extra: Ratio(1 + 0.5 * extra, 1.0, 2.0))
    assert extra == pytest.approx(0.1)
    assert of_size(-0.05, true.value, 0.1)


def test_a_plant_is_sized_beside_a_launch_that_costs_something_itself() -> None:
    extra, true = calibrated(0.05, lambda extra: Ratio(1.03 + extra, 1.0, 2.0))
    assert extra == pytest.approx(0.02)
    assert true.value == pytest.approx(1.05)


def test_of_plants_that_do_not_fit_the_nearest_is_taken() -> None:
    _, true = calibrated(0.02, lambda extra: Ratio(1.1 + extra, 1.0, 2.0))  # a launch alone takes a tenth
    assert true.value == pytest.approx(1.1, abs=0.01)
    assert not of_size(0.02, true.value, 0.25)
