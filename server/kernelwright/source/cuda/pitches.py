"""Sizes for which the rows of a matrix lie apart: one that begins before the last one ends is written to by two blocks."""

from collections.abc import Iterable, Iterator, Mapping

from kernelwright.source.polynomials import Polynomial


def with_rows_apart(extents: Iterable[Polynomial], sizes: Mapping[str, int], *, equal: bool) -> dict[str, int]:
    """The sizes, of which a row is no longer than the way to the next one, for arrays of so many elements.

    Where it was longer, both get the larger size where they are to be `equal`, and otherwise each other's.
    """
    found = dict(sizes)
    for pitch, width in (pair for extent in extents for pair in _rows(extent)):
        if pitch in found and found.get(width, 0) > found[pitch]:
            least, most = found[pitch], found[width]
            found |= {pitch: most, width: most if equal else least}
    return found


def _rows(extent: Polynomial) -> Iterator[tuple[str, str]]:
    """(from one row to the next, elements of a row): P and V where `rows*P - P + V` elements are touched."""
    for pitch in sorted(extent.names):
        rows = extent.coefficient(pitch)
        if rows is not None and rows.constant == -1 and rows.names:
            rest = extent.without(pitch).terms
            yield from ((pitch, term[0]) for term, number in rest if len(term) == 1 and number == 1)
