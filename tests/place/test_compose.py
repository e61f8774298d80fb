"""Two sets of edits, one after the other, are one set of edits of the first text."""

import itertools

import pytest

from kernelwright.place.compose import composed
from kernelwright.values import Edits, TextEdit, apply, digest

TEXT = "abcdefgh"
FIRST = ((TextEdit(2, 4, "XYZ"),), (TextEdit(0, 0, "XY"), TextEdit(3, 5, "")), (TextEdit(8, 8, "XY"),), ())
SECOND = ((TextEdit(3, 6, "12"),), (TextEdit(0, 1, ""), TextEdit(4, 4, "12")), (TextEdit(2, 3, "1"),), ())


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FIRST, SECOND)))
def test_composed_edits_do_what_both_do(first: tuple[TextEdit, ...], second: tuple[TextEdit, ...]) -> None:
    between = apply(Edits(digest(TEXT), first), TEXT)
    after = apply(Edits(digest(between), second), between)
    assert apply(Edits(digest(TEXT), composed(first, second, len(TEXT))), TEXT) == after


def test_what_neither_touches_is_not_edited() -> None:
    assert composed((TextEdit(2, 4, "XYZ"),), (TextEdit(3, 4, ""),), 8) == (TextEdit(2, 4, "XZ"),)
    assert composed((), (), 8) == ()
