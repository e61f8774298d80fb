"""Which pieces of a file can matter to the kernels of some of them, so that one kernel costs no reading of all."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kernelwright.source.definitions import Outline

K = TypeVar("K")

_MOST_FILES = 3


def connected(outlines: Sequence[Outline], around: range) -> list[int]:
    """Which pieces are `around`, are used by those or use them, and so on, in the file's order.

    Linked without the others they give the same kernels: whatever linking looks up, it looks up by a name that both
    pieces touch.
    """
    file = _taken(frozenset(outlines))
    near = fresh = frozenset(outlines[i] for i in around)
    followed: frozenset[str] = frozenset()
    while fresh:
        names = file.known(frozenset().union(*(one.touches for one in fresh)) - followed)
        followed |= names
        fresh = file.touching(names) - near
        near |= fresh
    _recent[:] = [file, *_recent][:_MOST_FILES]
    return [i for i, one in enumerate(outlines) if one in near]


class _Names:
    """The pieces of a file by the names in them. Of its next version only the pieces that changed are looked at."""

    def __init__(self) -> None:
        self.pieces: frozenset[Outline] = frozenset()
        self._touching: dict[str, set[Outline]] = {}
        self._defining: dict[str, set[Outline]] = {}
        self._aliasing: dict[tuple[str, frozenset[str]], set[Outline]] = {}

    def follow(self, pieces: frozenset[Outline]) -> None:
        """Makes these the pieces of the file."""
        for one in pieces - self.pieces:
            _add(self._touching, one.touches, one)
            _add(self._defining, one.defines, one)
            _add(self._aliasing, one.aliases, one)
        for one in self.pieces - pieces:
            _drop(self._touching, one.touches, one)
            _drop(self._defining, one.defines, one)
            _drop(self._aliasing, one.aliases, one)
        self.pieces = pieces

    def known(self, names: frozenset[str]) -> frozenset[str]:
        """Those that the file defines, or that may stand for something that it defines."""
        aliases = {name for name, mentions in self._aliasing if not mentions.isdisjoint(self._defining)}
        return frozenset(name for name in names if name in self._defining or name in aliases)

    def touching(self, names: frozenset[str]) -> frozenset[Outline]:
        return frozenset().union(*(self._touching[name] for name in names))


_recent: list[_Names] = []  # of the last files, newest first; they only ever make the next answer quicker


def _taken(pieces: frozenset[Outline]) -> _Names:
    """The names of a file with these pieces, made from those of an earlier version, which nobody else has until they are
    given back."""
    found = next((i for i, one in enumerate(_recent) if 2 * len(one.pieces & pieces) > len(pieces)), None)
    names = _Names() if found is None else _recent.pop(found)
    names.follow(pieces)
    return names


def _add(pieces: dict[K, set[Outline]], keys: Iterable[K], one: Outline) -> None:
    for key in keys:
        pieces.setdefault(key, set()).add(one)


def _drop(pieces: dict[K, set[Outline]], keys: Iterable[K], one: Outline) -> None:
    for key in keys:
        held = pieces[key]
        held.discard(one)
        if not held:
            del pieces[key]
