"""A file as its top-level pieces, so that one changed character re-analyses one piece and an error costs its own only.

Cut from the text alone: a syntax tree of the whole file may change everywhere when one bracket or quote is typed.
"""

import bisect
import functools
import itertools
import re
from typing import NamedTuple

# What begins something at top level. The line break in front, and not `^`, lets `re` look for it as fast as for a text.
_BEGINS = re.compile(rb"\n(?!(?:else|elif|except|finally)\b)[@A-Za-z_\x80-\xff]")
_DEFINITION = re.compile(rb"@|(?:async[ \t]+)?def\b|class\b")
_DECORATOR = re.compile(rb"@[\w.]*\w[ \t]*(?:\(|#|\r?\n)")  # not one that is still being typed
_TOKEN = re.compile(
    rb"(\"\"\"|''')(?:(?:\\[\s\S]|[^\\])*?(\1)|[\s\S]*)"
    rb"|\"(?:\\[\s\S]|[^\"\\\n])*\"?|'(?:\\[\s\S]|[^'\\\n])*'?|#[^\n]*|([(\[{])|([)\]}])"
)
_MOST_JOINED = 100  # lines in the first column inside one bracket


class Piece(NamedTuple):
    """The utf-8 bytes of a top-level statement with its decorators, and the offset and line at which they begin."""

    source: bytes
    start: int
    line: int

    @property
    def text(self) -> str:
        return self.source.decode("utf-8", "surrogatepass")


@functools.lru_cache(maxsize=16)
def split(source: bytes) -> tuple[Piece, ...]:
    """The top-level statements in order. What begins with a quote or bracket, or is a comment, goes to the one before.

    A bracket that nothing closes ends where the next definition begins.
    """
    starts = _starts(source)
    pieces: list[Piece] = []
    line = counted = 0
    for start, end in itertools.pairwise((*starts, len(source))):
        line += source.count(b"\n", counted, start)
        counted = start
        pieces.append(Piece(source[start:end].rstrip(), start, line))
    return tuple(pieces)


def _starts(source: bytes) -> list[int]:
    lines = sorted({0, *(match.start() for match in _BEGINS.finditer(b"\n" + source)), len(source)})
    starts: list[int] = []
    index, decorated = 0, False
    while index < len(lines) - 1:
        if not decorated:
            starts.append(lines[index])
        decorated = _DECORATOR.match(source, lines[index]) is not None
        index = _after(source, lines, index)
    return starts


def _after(source: bytes, lines: list[int], index: int) -> int:
    """Which of `lines` is the first after the statement that begins on line `index`: in no bracket or string of it."""
    start, end, depth = lines[index], index + 1, 0
    least, most = end, end + _MOST_JOINED
    while True:
        quotes, brackets = _left_open(source[start : lines[end]])
        continued = source.endswith(b"\\\n", 0, lines[end])
        if quotes and _finished(source) and (closed := source.find(quotes, lines[end])) >= 0:
            start, end, depth = closed + len(quotes), bisect.bisect_right(lines, closed), depth + brackets
            least, most = end, end + _MOST_JOINED
        elif depth + brackets <= 0 and not continued:
            return end
        elif end == len(lines) - 1 or end >= most or _DEFINITION.match(source, lines[end]):
            return least
        elif continued:
            end += 1
        else:
            start, end, depth = lines[end], end + 1, depth + brackets


@functools.lru_cache(maxsize=4)
def _finished(source: bytes) -> bool:
    """Whether every long string is closed: one that is not would otherwise hide what follows it."""
    return source.count(b'"""') % 2 == 0 and source.count(b"'''") % 2 == 0


@functools.lru_cache(maxsize=8192)
def _left_open(source: bytes) -> tuple[bytes, int]:
    """The quotes of the string in which a text ends, if it does, and how many more brackets it opens than it closes."""
    quotes, brackets = b"", 0
    for token in _TOKEN.finditer(source):
        quotes = b"" if token[2] else token[1] or b""
        brackets += (token[3] is not None) - (token[4] is not None)
    return quotes, brackets
