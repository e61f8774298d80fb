"""A file as its top-level pieces, so that one changed character costs reading one of them again, whatever the language."""

import bisect
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import AnyStr, NamedTuple, overload


class Piece(NamedTuple):
    """The utf-8 bytes of what stands at top level, and the offset and line at which they begin."""

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

    def followed_by(self, other: "Pieces", offset: int = 0, lines: int = 0) -> "Pieces":
        """These and behind them `other`, which moves by an offset and a number of lines."""
        starts = map(offset.__add__, other.starts) if offset else other.starts
        moved = map(lines.__add__, other.lines) if lines else other.lines
        return Pieces(self.sources + other.sources, (*self.starts, *starts), (*self.lines, *moved))


class Cut(NamedTuple):
    """A text as pieces. `reaches`: the offset up to which each piece follows from the text.

    `counts` is what its language counts in the text, from one version to the next.
    """

    source: bytes
    pieces: Pieces
    reaches: tuple[int, ...]
    counts: tuple[int, ...] = ()


EMPTY = Cut(b"", Pieces(), ())

Shared = tuple[int, int]
"""How many bytes two texts share at the beginning, and how many of the others at the end."""

_RECENT = 3
_SMALL = 256  # bytes, of a change that is looked for in no other text


class Cuts:
    """Cuts texts by `again`, which takes one, an earlier one that is much like it, and what the two share.

    The last texts are remembered, newest first; they only ever make the next cut quicker.
    """

    def __init__(self, again: Callable[[bytes, Cut, Shared], Cut], empty: Cut = EMPTY) -> None:
        self._again = again
        self._recent: tuple[Cut, ...] = (empty,)
        self._known = functools.lru_cache(maxsize=16)(self._from_the_nearest)

    def __call__(self, source: bytes) -> Cut:
        found = self._known(source)
        if found is not self._recent[0]:
            self._recent = (found, *(one for one in self._recent if one is not found))[:_RECENT]
        return found

    def _from_the_nearest(self, source: bytes) -> Cut:
        """From the newest of the last texts that is all but the same, else from the nearest."""
        found: list[tuple[int, Cut, Shared]] = []
        for one in self._recent:
            shared = unchanged(one.source, source)
            found.append((sum(shared), one, shared))
            if sum(shared) + _SMALL > len(source):
                break
        _, nearest, shared = max(found, key=lambda one: one[0])
        return self._again(source, nearest, shared)


def recut(
    source: bytes, before: Cut, shared: Shared, piece: Callable[[int], tuple[int, int]], *, stripped: bool
) -> tuple[Pieces, tuple[int, ...]]:
    """The pieces of a text and their reaches, with those of an earlier one where nothing that they follow from has changed.

    `piece` tells where the piece that begins at an offset ends, and how far that follows from the text; with `stripped`
    the white space at its end is no part of it.
    """
    ahead, behind = shared
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
        end, reach = piece(start)
        found = source[start:end]
        fresh.append(Piece(found.rstrip() if stripped else found, start, line))
        reaches.append(reach)
        line += found.count(b"\n")
        start = end
    pieces = old[:kept].followed_by(Pieces(*zip(*fresh, strict=True)) if fresh else Pieces())
    return pieces.followed_by(rest, delta, moved), (*before.reaches[:kept], *reaches)


def around(pieces: Pieces, lines: range) -> range:
    """Which pieces the lines are in. Between two of them the one before counts too: it may reach that far."""
    begins = pieces.lines
    return range(max(bisect.bisect_right(begins, lines.start) - 1, 0), bisect.bisect_left(begins, lines.stop))


def unchanged(old: AnyStr, new: AnyStr) -> Shared:
    """How many bytes or letters two texts share at the beginning, and how many of the others at the end."""
    most = min(len(old), len(new))
    ahead = _longest(most, lambda low, high: old[low:high] == new[low:high])
    most, a, b = most - ahead, len(old), len(new)
    return ahead, _longest(most, lambda low, high: old[a - high : a - low] == new[b - high : b - low])


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
