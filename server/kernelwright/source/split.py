"""A file as its top-level pieces, so that one changed character re-analyses one piece and an error costs its own only.

Cut from the text alone: a syntax tree of the whole file may change everywhere when one bracket or quote is typed.
"""

import bisect
import functools
import re
from collections.abc import Callable
from typing import AnyStr, NamedTuple

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


class _Split(NamedTuple):
    """A text as pieces. `reaches`: the offset up to which each piece follows from the text."""

    source: bytes
    pieces: tuple[Piece, ...]
    reaches: tuple[int, ...]
    starts: tuple[int, ...]


EMPTY = _Split(b"", (), (), ())
_RECENT = 3
_SMALL = 256  # bytes, of a change that is looked for in no other text
_recent: tuple[_Split, ...] = (EMPTY,)  # the last ones, newest first; only ever makes the next split quicker


@functools.lru_cache(maxsize=16)
def encoded(text: str) -> bytes:
    """A text as `split` takes it; the same object for the same text, whose hash is then known."""
    return text.encode("utf-8", "surrogatepass")


def split(source: bytes) -> tuple[Piece, ...]:
    """The top-level statements in order. What begins with a quote or bracket, or is a comment, goes to the one before.

    A bracket that nothing closes ends where the next definition begins. Of a text that is much like one of the last, only
    the pieces around the change are looked for; the others are the same objects.
    """
    global _recent
    found = _known(source)
    if found is not _recent[0]:
        _recent = (found, *(one for one in _recent if one is not found))[:_RECENT]
    return found.pieces


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
    quoted = _quoted(before.source, ahead, behind) or _quoted(source, ahead, behind)
    if quoted and _finished(source) != _finished(before.source):
        ahead = behind = 0
    delta = len(source) - len(before.source)
    kept = next((i for i, reach in enumerate(before.reaches) if reach > ahead), len(before.pieces))
    pieces, reaches = [*before.pieces[:kept]], [*before.reaches[:kept]]
    start = before.starts[kept] if kept < len(before.starts) else 0
    line = before.pieces[kept].line if kept < len(before.pieces) else 0
    while start < len(source):
        old = bisect.bisect_left(before.starts, start - delta)
        if old < len(before.starts) and before.starts[old] == start - delta >= len(before.source) - behind:
            shift = line - before.pieces[old].line
            pieces += _moved(before.pieces[old:], delta, shift)
            reaches += [reach + delta for reach in before.reaches[old:]] if delta else before.reaches[old:]
            break
        end, reach = _piece(source, start)
        pieces.append(Piece(source[start:end].rstrip(), start, line))
        reaches.append(reach)
        line += source.count(b"\n", start, end)
        start = end
    return _Split(source, tuple(pieces), tuple(reaches), tuple(piece.start for piece in pieces))


def around(pieces: tuple[Piece, ...], lines: range) -> range:
    """Which pieces the lines are in. Between two of them the one before counts too: it may reach that far."""
    begins = [piece.line for piece in pieces]
    return range(max(bisect.bisect_right(begins, lines.start) - 1, 0), bisect.bisect_left(begins, lines.stop))


def unchanged(old: AnyStr, new: AnyStr) -> tuple[int, int]:
    """How many bytes or letters two texts share at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    ahead = _longest(most, lambda low, high: old[low:high] == new[low:high])
    most, a, b = most - ahead, len(old), len(new)
    return ahead, _longest(most, lambda low, high: old[a - high : a - low] == new[b - high : b - low])


def _quoted(source: bytes, ahead: int, behind: int) -> bool:
    """Whether a quote stands in what is not shared, or so near that the change can make another string of it."""
    changed = source[max(0, ahead - 2) : len(source) - behind + 2]
    return b'"' in changed or b"'" in changed


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


def _moved(pieces: tuple[Piece, ...], delta: int, lines: int) -> tuple[Piece, ...]:
    if not delta and not lines:
        return pieces
    return tuple(Piece(source, start + delta, line + lines) for source, start, line in pieces)


def _piece(source: bytes, start: int) -> tuple[int, int]:
    """Where the piece that begins at `start` ends, and how far that follows from the text."""
    reach, decorated = start, True
    while decorated and start < len(source):
        decorated = _DECORATOR.match(source, start) is not None
        start, looked = _after(source, start)
        reach = max(reach, looked)
    return start, reach


def _following(source: bytes, offset: int) -> int:
    """The first place after `offset` at which something begins at top level; the end of the text for none."""
    found = _BEGINS.search(source, offset)
    return found.start() + 1 if found else len(source)


def _after(source: bytes, start: int) -> tuple[int, int]:
    """Where the statement that begins at `start` ends, in no bracket or string of it, and up to where the text was read."""
    end, depth, joined = _following(source, start), 0, 0
    least = end
    while True:
        quotes, brackets = _left_open(source[start:end])
        continued = source.endswith(b"\\\n", 0, end)
        if quotes and _finished(source) and (closed := source.find(quotes, end)) >= 0:
            start, end, depth = closed + len(quotes), _following(source, closed), depth + brackets
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
