"""Two sets of edits, one after the other, as one set of edits of the first text."""

from collections.abc import Sequence

from kernelwright.values import TextEdit

Piece = tuple[int, int, str]  # a range of the first text, or for an empty range what is new there


def composed(first: Sequence[TextEdit], second: Sequence[TextEdit], length: int) -> tuple[TextEdit, ...]:
    """The edits that do to a text of `length` what `first` does, and to its result what `second` does."""
    after_first = _edited([(0, length, "")], first)
    return _as_edits(_edited(after_first, second), length)


def _edited(pieces: Sequence[Piece], edits: Sequence[TextEdit]) -> list[Piece]:
    """The pieces of the text after `edits` to the text that `pieces` are."""
    result: list[Piece] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        result += _cut(pieces, position, edit.start)
        if edit.new_text:
            result.append((0, 0, edit.new_text))
        position = edit.end
    return result + _cut(pieces, position, sum(map(_size, pieces)))


def _size(piece: Piece) -> int:
    start, end, text = piece
    return len(text) or end - start


def _cut(pieces: Sequence[Piece], start: int, end: int) -> list[Piece]:
    """What of the pieces lies in start:end of their text."""
    cut: list[Piece] = []
    position = 0
    for piece in pieces:
        low, high = max(start - position, 0), min(end - position, _size(piece))
        position += _size(piece)
        if low < high:
            begin, _, text = piece
            cut.append((0, 0, text[low:high]) if text else (begin + low, begin + high, ""))
    return cut


def _as_edits(pieces: Sequence[Piece], length: int) -> tuple[TextEdit, ...]:
    edits: list[TextEdit] = []
    position, new = 0, ""
    for start, end, text in (*pieces, (length, length, "")):
        if text:
            new += text
            continue
        if new or start > position:
            edits.append(TextEdit(position, start, new))
        position, new = end, ""
    return tuple(edits)
