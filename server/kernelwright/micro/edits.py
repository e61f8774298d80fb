"""Differences between texts as Edits, and their transplantation onto a text that has moved on elsewhere."""

import difflib
from itertools import accumulate

from kernelwright.values import Edits, Refusal, TextEdit, digest


def difference(old: str, new: str, summary: str = "") -> Edits:
    """The line-wise edits that turn `old` into `new`."""
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, old_lines))]
    edits = tuple(
        TextEdit(starts[i1], starts[i2], "".join(new_lines[j1:j2]))
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
        if tag != "equal"
    )
    return Edits(digest(old), edits, summary)


def transplant(edits: Edits, old: str, current: str) -> Edits | Refusal:
    """`edits` against `old` as edits against `current`, which differs from `old` in other places only.

    Refused when a line that the edits replace, or a neighbour of an insertion, was changed since: nothing that a person
    wrote is lost.
    """
    if old == current:
        return edits
    old_lines, current_lines = old.splitlines(keepends=True), current.splitlines(keepends=True)
    current_starts = [0, *accumulate(map(len, current_lines))]
    line_of_offset = {offset: line for line, offset in enumerate([0, *accumulate(map(len, old_lines))])}
    blocks = difflib.SequenceMatcher(None, old_lines, current_lines, autojunk=False).get_matching_blocks()
    moved: list[TextEdit] = []
    for edit in edits.edits:
        start, end = line_of_offset.get(edit.start), line_of_offset.get(edit.end)
        if start is None or end is None:
            return Refusal("The edit does not begin and end on whole lines, so it cannot be moved to the changed text.")
        shift = _shift(blocks, start, end)
        if shift is None:
            return Refusal(
                f"Line {start + 1} was changed after this step; undo that change first, or revert by hand.", line=start
            )
        moved.append(TextEdit(current_starts[start + shift], current_starts[end + shift], edit.new_text))
    return Edits(digest(current), tuple(moved), edits.summary)


def _shift(blocks: list[difflib.Match], start: int, end: int) -> int | None:
    """How far the lines `start:end` moved, when one matching block holds them all."""
    for block in blocks:
        if block.a <= start and end <= block.a + block.size and (block.size or start == end):
            return block.b - block.a
    return None
