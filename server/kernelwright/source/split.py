"""A file as its top-level pieces, so that one changed character re-analyses one piece and an error costs its own only.

Cut from the text alone: a syntax tree of the whole file may change everywhere when one bracket or quote is typed.
"""

import bisect
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import AnyStr, NamedTuple, overload

# What begins something at top level. The line break in front, and not `^`, lets `re` look for it as fast as for a text.
_BEGINS = re.compile(rb"\n(?!(?:else|elif|except|finally)\b)[@A-Za-z_\x80-\xff]")
_DEFINITION = re.compile(rb"@|(?:async[ \t]+)?def\b|class\b")
_DECORATOR = re.compile(rb"@[\w.]*\w[ \t]*(?:\(|#|\r?\n)")  # not one that is still being typed
_TOKEN = re.compile(
    rb"(\"\"\"|''')(?:(?:\\[\s\S]|[^\\])*?(\1)|[\s\S]*)"
    rb"|\"(?:\\[\s\S]|[^\"\\\n])*\"?|'(?:\\[\s\S]|[^'\\\n])*'?|#[^\n]*|([(\[{])|([)\]}])"
)
MARKS = (b'"""', b"'''", b"__global__", b"get_inputs")
"""What is counted in each text, from one version to the next."""

_MOST_JOINED = 100  # lines in the first column inside one bracket


class Piece(NamedTuple):
    """The utf-8 bytes of a top-level statement with its decorators, and the offset and line at which they begin."""

    source: bytes
    start: int
    line: int

    @property
    def text(self) -> str:
        return self.source.decode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Pieces(Sequence[Piece]):
    """The pieces of a text in order, held as columns: a key moves all that follow it, which is one pass over a column."""

    sources: tuple[bytes, ...] = ()
    starts: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.sources)

    @overload
    def __getitem__(self, index: int) -> Piece: ...
    @overload
    def __getitem__(self, index: slice) -> "Pieces": ...
    def __getitem__(self, index: int | slice) -> "Piece | Pieces":
        if isinstance(index, slice):
            return Pieces(self.sources[index], self.starts[index], self.lines[index])
        return Piece(self.sources[index], self.starts[index], self.lines[index])

    def __iter__(self) -> Iterator[Piece]:
        return map(Piece, self.sources, self.starts, self.lines)

    def followed_by(self, other: "Pieces", offset: int, line: int) -> "Pieces":
        """These with `other` behind them, moved by an offset and by lines."""
        starts = map(offset.__add__, other.starts) if offset else other.starts
        lines = map(line.__add__, other.lines) if line else other.lines
        return Pieces(self.sources + other.sources, (*self.starts, *starts), (*self.lines, *lines))


class _Split(NamedTuple):
    """A text as pieces. `reaches`: the offset up to which each piece follows from the text; `counts`: of each mark."""

    source: bytes
    pieces: Pieces
    reaches: tuple[int, ...]
    counts: tuple[int, ...]


EMPTY = _Split(b"", Pieces(), (), (0,) * len(MARKS))
_RECENT = 3
_SMALL = 256  # bytes, of a change that is looked for in no other text
_recent: tuple[_Split, ...] = (EMPTY,)  # the last ones, newest first; only ever makes the next split quicker


def split(source: bytes) -> Pieces:
    """The top-level statements in order. What begins with a quote or bracket, or is a comment, goes to the one before.

    A bracket that nothing closes ends where the next definition begins. Of a text that is much like one of the last, only
    the pieces around the change are looked for; the bytes of the others are the same objects.
    """
    return _split(source).pieces


def holds(source: bytes, mark: bytes) -> bool:
    """Whether one of MARKS stands in a text, for less than looking for it after each key costs."""
    return _split(source).counts[MARKS.index(mark)] > 0


def _split(source: bytes) -> _Split:
    global _recent
    found = _known(source)
    if found is not _recent[0]:
        _recent = (found, *(one for one in _recent if one is not found))[:_RECENT]
    return found


@functools.lru_cache(maxsize=16)
def _known(source: bytes) -> _Split:
    """The pieces from the newest of the last texts that is all but the same, else from the nearest."""
    found: list[tuple[int, _Split, tuple[int, int]]] = []
    for one in _recent:
        shared = unchanged(one.source, source)
        found.append((sum(shared), one, shared))
        if sum(shared) + _SMALL > len(source):
            break
    _, nearest, shared = max(found, key=lambda one: one[0])
    return again(source, nearest, shared)


def again(source: bytes, before: _Split, shared: tuple[int, int]) -> _Split:
    """The pieces of a text, with those of an earlier one where nothing that they follow from has changed.

    `shared`: see `unchanged`.
    """
    ahead, behind = shared
    counts = _counts(source, before, ahead, behind)
    closed = _all_closed(counts)
    if closed != _all_closed(before.counts):
        ahead = behind = 0
    delta, old = len(source) - len(before.source), before.pieces
    kept = next((i for i, reach in enumerate(before.reaches) if reach > ahead), len(old))
    start = old.starts[kept] if kept < len(old) else 0
    line = old.lines[kept] if kept < len(old) else 0
    fresh: list[Piece] = []
    reaches: list[int] = []
    rest, moved = Pieces(), 0
    while start < len(source):
        at = bisect.bisect_left(old.starts, start - delta)
        if at < len(old) and old.starts[at] == start - delta >= len(before.source) - behind:
            rest, moved = old[at:], line - old.lines[at]
            reaches += map(delta.__add__, before.reaches[at:])
            break
        end, reach = _piece(source, start, closed)
        fresh.append(Piece(source[start:end].rstrip(), start, line))
        reaches.append(reach)
        line += source.count(b"\n", start, end)
        start = end
    pieces = old[:kept].followed_by(Pieces(*zip(*fresh, strict=True)) if fresh else Pieces(), 0, 0)
    return _Split(source, pieces.followed_by(rest, delta, moved), (*before.reaches[:kept], *reaches), counts)


def around(pieces: Pieces, lines: range) -> range:
    """Which pieces the lines are in. Between two of them the one before counts too: it may reach that far."""
    begins = pieces.lines
    return range(max(bisect.bisect_right(begins, lines.start) - 1, 0), bisect.bisect_left(begins, lines.stop))


def unchanged(old: AnyStr, new: AnyStr) -> tuple[int, int]:
    """How many bytes or letters two texts share at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    ahead = _longest(most, lambda low, high: old[low:high] == new[low:high])
    most, a, b = most - ahead, len(old), len(new)
    return ahead, _longest(most, lambda low, high: old[a - high : a - low] == new[b - high : b - low])


def _counts(source: bytes, before: _Split, ahead: int, behind: int) -> tuple[int, ...]:
    """How often each mark stands in a text; of an earlier one only the lines that changed are counted again."""
    start = source.rfind(b"\n", 0, ahead) + 1
    ends = [text.find(b"\n", len(text) - behind) for text in (source, before.source)]
    new, old = (
        text[start : end if end >= 0 else None] for text, end in zip((source, before.source), ends, strict=True)
    )
    counted = zip(before.counts, MARKS, strict=True)
    return tuple(count + new.count(mark) - old.count(mark) for count, mark in counted)


def _all_closed(counts: tuple[int, ...]) -> bool:
    """Whether every long string is closed: one that is not would otherwise hide what follows it."""
    return counts[0] % 2 == 0 and counts[1] % 2 == 0


def _longest(most: int, same: Callable[[int, int], bool]) -> int:
    """How long the part is that is the same: halved each time, since comparing text costs less than counting."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _piece(source: bytes, start: int, closed: bool) -> tuple[int, int]:
    """Where the piece that begins at `start` ends, and how far that follows from the text."""
    reach, decorated = start, True
    while decorated and start < len(source):
        decorated = _DECORATOR.match(source, start) is not None
        start, looked = _after(source, start, closed)
        reach = max(reach, looked)
    return start, reach


def _following(source: bytes, offset: int) -> int:
    """The first place after `offset` at which something begins at top level; the end of the text for none."""
    found = _BEGINS.search(source, offset)
    return found.start() + 1 if found else len(source)


def _after(source: bytes, start: int, closed: bool) -> tuple[int, int]:
    """Where the statement that begins at `start` ends, in no bracket or string of it, and up to where the text was read.

    `closed`: whether every long string of the text is.
    """
    end, depth, joined = _following(source, start), 0, 0
    least = end
    while True:
        quotes, brackets = _left_open(source[start:end])
        continued = source.endswith(b"\\\n", 0, end)
        if quotes and closed and (last := source.find(quotes, end)) >= 0:
            start, end, depth = last + len(quotes), _following(source, last), depth + brackets
            least, joined = end, 0
        elif depth + brackets <= 0 and not continued:
            return end, len(source) + 1 if quotes else _read(source, end)
        elif end == len(source) or joined >= _MOST_JOINED or _DEFINITION.match(source, end):
            return least, len(source) + 1 if quotes else _read(source, end)
        elif continued:
            end, joined = _following(source, end), joined + 1
        else:
            start, end, depth, joined = end, _following(source, end), depth + brackets, joined + 1


def _read(source: bytes, begin: int) -> int:
    """Up to where a text was read to know that something begins there, and what: to the end of the line."""
    end = source.find(b"\n", begin)
    return end + 1 if end >= 0 else len(source) + 1


@functools.lru_cache(maxsize=8192)
def _left_open(source: bytes) -> tuple[bytes, int]:
    """The quotes of the string in which a text ends, if it does, and how many more brackets it opens than it closes."""
    quotes, brackets = b"", 0
    for token in _TOKEN.finditer(source):
        quotes = b"" if token[2] else token[1] or b""
        brackets += (token[3] is not None) - (token[4] is not None)
    return quotes, brackets
