"""Places in a text and edits against one version of it. Offsets and columns count code points, lines count from 0."""

import functools
import hashlib
import re
from dataclasses import dataclass

from kernelwright.values.opts import Opt

_BREAK = re.compile(r"\r\n|\r|\n")
_LF = re.compile(r"\n")
_MOST_TEXTS = 64  # definitions that are looked at on their own count too

_starts: dict[str, tuple[int, ...]] = {}


@functools.lru_cache(maxsize=16)
def encoded(text: str) -> bytes:
    """The bytes of a text in utf-8; the same object for the same text, whose hash is then known."""
    return text.encode("utf-8", "surrogatepass")


@functools.lru_cache(maxsize=16)
def digest(text: str) -> str:
    """A short name of one version of a text: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(encoded(text)).hexdigest()[:16]


def not_utf8(text: str) -> int | None:
    """Return the first line with bytes that did not decode; an editor hands them over as lone surrogates."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text.count("\n", 0, error.start)
    return None


def line_starts(text: str) -> tuple[int, ...]:
    """The offset of every line. LF, CRLF and CR end one, as for Python and the language server protocol.

    Form feeds and Unicode separators, on which `str.splitlines` splits, do not.
    """
    known = _starts.get(text)
    if known is None:
        breaks = _BREAK if "\r" in text else _LF  # one character is looked for as fast as the text can be read
        known = (0, *[match.end() for match in breaks.finditer(text)])
        know_lines(text, known)
    return known


def know_lines(text: str, starts: tuple[int, ...]) -> None:
    """Remembers what `line_starts` is to say of a text, for one who knows it from the text before a change."""
    _starts[text] = starts
    while len(_starts) > _MOST_TEXTS:
        del _starts[next(iter(_starts))]


@dataclass(frozen=True)
class Region:
    """The lines that an Action works on, end-exclusive, in the version of the text that `text_hash` names."""

    start_line: int
    end_line: int
    text_hash: str
    label: str = ""  # what it is in words: "linear, scale, clamp"


@dataclass(frozen=True)
class TextEdit:
    """Replace the code points `start:end` by `new_text`."""

    start: int
    end: int
    new_text: str


@dataclass(frozen=True)
class Edits:
    """The micro coding of one Action: edits against exactly one version of the text."""

    text_hash: str
    edits: tuple[TextEdit, ...]
    summary: str = ""  # what was chosen, for people: "BLOCK=2048, num_warps=8"
    opts: tuple[Opt, ...] = ()  # the same as a schedule, where there is one


class StaleEdits(Exception):
    """The edits were made for another version of the text."""


def apply(edits: Edits, text: str) -> str:
    """The text after `edits`. Raises StaleEdits for another version, ValueError for edits that overlap or overrun."""
    if digest(text) != edits.text_hash:
        raise StaleEdits("The text has changed since the edit was made; run the strategy again.")
    parts: list[str] = []
    position = 0
    for edit in sorted(edits.edits, key=lambda e: (e.start, e.end)):
        if edit.start < position or not edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start}:{edit.end} overlaps another one or runs past the end of the text")
        parts += (text[position : edit.start], edit.new_text)
        position = edit.end
    return "".join((*parts, text[position:]))
