"""Differences round-trip, and a revert never loses what a person typed meanwhile."""

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.micro.edits import difference, transplant
from kernelwright.values import Edits, Refusal, apply

LINES = st.lists(st.sampled_from(["a", "b", "c = 1", "", "é𝛼", "\tx"]), max_size=12).map("\n".join)


@given(LINES, LINES)
def test_a_difference_turns_old_into_new(old: str, new: str) -> None:
    assert apply(difference(old, new), old) == new


def test_a_difference_keeps_carriage_returns() -> None:
    assert apply(difference("a\r\nb\r\n", "a\r\nc\r\n"), "a\r\nb\r\n") == "a\r\nc\r\n"


def test_an_edit_follows_its_lines_when_others_changed() -> None:
    step_before, step_after = "one\ntwo\nthree\nfour\n", "one\nTWO\nthree\nfour\n"
    current = "zero\none\nTWO\nthree\nFOUR!\n"
    moved = transplant(difference(step_after, step_before), step_after, current)
    assert isinstance(moved, Edits)
    assert apply(moved, current) == "zero\none\ntwo\nthree\nFOUR!\n"


def test_an_edit_of_changed_lines_is_refused_with_the_line() -> None:
    refusal = transplant(difference("one\nTWO\n", "one\ntwo\n"), "one\nTWO\n", "one\nTWO, by hand\n")
    assert isinstance(refusal, Refusal)
    assert refusal.line == 1
    assert "Line 2 was changed" in refusal.reason
