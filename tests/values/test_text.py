"""Edits belong to one version of the text."""

import pytest

from kernelwright.values import Edits, StaleEdits, TextEdit, apply, digest


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
