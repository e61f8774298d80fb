"""Which trial comes next, and when no further one is started."""

from itertools import islice

from benchmarks.trials import in_time, least_tried


def test_what_was_tried_least_comes_first() -> None:
    assert "".join(islice(least_tried({"a": 2, "b": 0, "c": 1}, str), 5)) == "bbcab"


def test_what_nothing_is_made_of_is_not_tried_again() -> None:
    asked: list[str] = []

    def make(name: str) -> str | None:
        asked.append(name)
        return None if name == "b" else name

    assert "".join(islice(least_tried({"a": 0, "b": 0, "c": 0}, make), 4)) == "acac"
    assert asked.count("b") == 1
    assert list(least_tried({"b": 0}, make)) == []


def test_the_longest_so_far_must_still_fit() -> None:
    clock = iter([0.0, 1.0, 4.0, 5.0, 8.0])  # the start, then before each: they take 3, 1 and 3 s
    assert list(in_time(iter("abcde"), 10.0, lambda: next(clock))) == ["a", "b", "c"]


def test_without_a_limit_all_are_made() -> None:
    assert list(in_time(iter("abc"), 0.0)) == ["a", "b", "c"]
