"""Edits belong to one version of the text; what two versions share is not read again."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.values import Edits, StaleEdits, TextEdit, apply, digest, line_starts, unchanged


def test_edits_apply_in_order_of_place() -> None:
    text = "x = 1\ny = 2\n"
    edits = Edits(digest(text), (TextEdit(10, 11, "20"), TextEdit(4, 5, "10")))
    assert apply(edits, text) == "x = 10\ny = 20\n"


def test_edits_for_another_version_are_never_applied() -> None:
    with pytest.raises(StaleEdits):
        apply(Edits(digest("old"), (TextEdit(0, 1, "n"),)), "new")


@pytest.mark.parametrize("places", [((0, 2), (1, 3)), ((0, 99),), ((2, 1),)])
def test_edits_that_overlap_or_overrun_are_an_error(places: tuple[tuple[int, int], ...]) -> None:
    text = "abcdef"
    with pytest.raises(ValueError, match="overlaps"):
        apply(Edits(digest(text), tuple(TextEdit(a, b, "") for a, b in places)), text)


@given(st.text("ab\n\ré", max_size=40), st.text("ab\n\ré", max_size=40))
def test_what_two_texts_share(old: str, new: str) -> None:
    ahead, behind = unchanged(old, new)
    assert old[:ahead] == new[:ahead]
    assert old[len(old) - behind :] == new[len(new) - behind :]
    assert ahead + behind <= min(len(old), len(new))
    middle = old[ahead : len(old) - behind], new[ahead : len(new) - behind]
    assert not all(middle) or (middle[0][0] != middle[1][0] and middle[0][-1] != middle[1][-1])


@given(st.lists(st.text("ab\n\rü", max_size=30), min_size=1, max_size=6))
def test_lines_start_where_they_do_whatever_text_came_before(texts: list[str]) -> None:
    for text in texts:
        lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
        assert line_starts(text) == tuple(itertools.accumulate(map(len, lines[:-1]), initial=0))
