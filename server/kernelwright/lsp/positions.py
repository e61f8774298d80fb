"""Offsets in a text (code points) to positions in the client's encoding and back, the way the protocol counts."""

import bisect
from dataclasses import dataclass

from lsprotocol.types import Position, PositionEncodingKind, Range

from kernelwright.values import know_lines, line_starts


@dataclass(frozen=True)
class Lines:
    """A text with the offsets at which its lines begin."""

    text: str
    starts: tuple[int, ...]
    ascii: bool

    def line(self, number: int) -> str:
        """The line without its ending; empty past the end."""
        if not 0 <= number < len(self.starts):
            return ""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end].rstrip("\r\n")

    def offset(self, position: Position, encoding: PositionEncodingKind | str) -> int:
        """The offset of a client's position; past the end of a line means its end, as the protocol says."""
        if position.line >= len(self.starts):
            return len(self.text)
        line = self.line(position.line)
        return self.starts[position.line] + columns_before(line, position.character, encoding)

    def position(self, offset: int, encoding: PositionEncodingKind | str) -> Position:
        """The client's position of an offset; an offset inside a CRLF is the end of its line."""
        number = bisect.bisect_right(self.starts, min(max(offset, 0), len(self.text))) - 1
        return self.at(number, offset - self.starts[number], encoding)

    def at(self, number: int, column: int, encoding: PositionEncodingKind | str) -> Position:
        """The client's position of a column in code points."""
        if number >= len(self.starts):
            return self.position(len(self.text), encoding)
        line = self.line(number)
        before = line[: max(column, 0)]
        return Position(number, len(before) if self.ascii else units(before, encoding))

    def replaced(self, start: int, end: int, new: str) -> "Lines":
        """The text with `new` between two offsets; only what is new is read for its lines."""
        text = self.text[:start] + new + self.text[end:]
        if "\r" in text:
            return lines(text)
        before, after = (bisect.bisect_right(self.starts, offset) for offset in (start, end))
        moved = map((len(new) - (end - start)).__add__, self.starts[after:])
        fresh = [start + offset for offset in line_starts(new)[1:]]
        starts = (*self.starts[:before], *fresh, *moved)
        know_lines(text, starts)
        return Lines(text, starts, text.isascii())

    def range(self, start: int, end: int, encoding: PositionEncodingKind | str) -> Range:
        return Range(self.position(start, encoding), self.position(end, encoding))


def lines(text: str) -> Lines:
    return Lines(text, line_starts(text), text.isascii())


def units(text: str, encoding: PositionEncodingKind | str) -> int:
    """How many code units of the encoding the text takes."""
    if encoding == PositionEncodingKind.Utf32 or text.isascii():
        return len(text)
    if encoding == PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def columns_before(line: str, character: int, encoding: PositionEncodingKind | str) -> int:
    """The code points of `line` in front of a client's column; a column inside a character is the character's start."""
    if encoding == PositionEncodingKind.Utf32 or line.isascii():
        return min(character, len(line))
    count = 0
    for column, point in enumerate(line):
        count += units(point, encoding)
        if count > character:
            return column
    return len(line)
