"""A Python file as its top-level pieces, so that one changed character re-analyses one piece and an error costs its own only.

Cut from the text alone: a syntax tree of the whole file may change everywhere when one bracket or quote is typed.
"""

import functools
import re

from kernelwright.source.pieces import Cut, Cuts, Pieces, Shared, recut

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

EMPTY = Cut(b"", Pieces(), (), (0,) * len(MARKS))


def split(source: bytes) -> Pieces:
    """The top-level statements in order. What begins with a quote or bracket, or is a comment, goes to the one before.

    A bracket that nothing closes ends where the next definition begins. Of a text that is much like one of the last, only
    the pieces around the change are looked for; the bytes of the others are the same objects.
    """
    return _cut(source).pieces


def holds(source: bytes, mark: bytes) -> bool:
    """Whether one of MARKS stands in a text, for less than looking for it after each key costs."""
    return _cut(source).counts[MARKS.index(mark)] > 0


def again(source: bytes, before: Cut, shared: Shared) -> Cut:
    """The text as pieces, from those of an earlier one."""
    counts = _counts(source, before, shared)
    closed = _all_closed(counts)
    if closed != _all_closed(before.counts):
        shared = 0, 0
    found = recut(source, before, shared, lambda start: _piece(source, start, closed), stripped=True)
    return Cut(source, *found, counts)


_cut = Cuts(again, EMPTY)


def _counts(source: bytes, before: Cut, shared: Shared) -> tuple[int, ...]:
    """How often each mark stands in a text; of an earlier one only the lines that changed are counted again."""
    ahead, behind = shared
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
