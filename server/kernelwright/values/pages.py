"""A kernel's file and the one that launches it as one text: what reads, edits, hashes or keeps a text does so with both.

Between the two pages stands a statement with the second one's path, which a text that was parsed and written again still has.
Lines of the first page are those of its file.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MARK = (
    "kernelwright: from here on "  # looked for first, in a tenth of the time: editors ask of long texts with each key
)
_BORDER = re.compile(rf"""\n(['"]){_MARK}([\w ./+-]+)\1\n""")
_LINES = re.compile(r"\b([Ll]ines?) (\d+(?:, \d+)*)")


@dataclass(frozen=True)
class Page:
    """A file's part of a text. `name`: its path from the folder of the first page's file, "" for that file itself.

    `line`: where the part begins, from 0.
    """

    name: str
    text: str
    line: int = 0


def joined(first: str, name: str, second: str) -> str | None:
    """Both texts as one; None where they, or the path `name` from the first one's folder, could be read otherwise."""
    text = f'{first}\n"kernelwright: from here on {name}"\n{second}'
    return text if [(page.name, page.text) for page in pages(text)] == [("", first), (name, second)] else None


def pages(text: str) -> tuple[Page, ...]:
    """The parts of a text, in order: one, with all of it, where it is not joined."""
    return tuple(_pages(text))


def page_around(text: str, line: int) -> Page:
    """The page that a line of the text, from 0, stands on."""
    return next(page for page in reversed(pages(text)) if line >= page.line)


def page_names(text: str) -> tuple[str, ...]:
    """The names of its pages, which no edit may change."""
    return tuple(page.name for page in pages(text))


def files_of(path: str, text: str) -> tuple[str, ...]:
    """The files that the pages of a text stand in; `path` is the first one's."""
    folder = posixpath.dirname(path)
    return tuple(posixpath.normpath(posixpath.join(folder, name)) if name else path for name in page_names(text))


def is_joined(text: str) -> bool:
    return _MARK in text and _BORDER.search(text) is not None


def first_page(text: str) -> str:
    """The part of the file that the text is journaled under."""
    return next(_pages(text)).text


def with_pages_of(text: str, other: str) -> str:
    """The text with as many pages as `other` has, the second one taken from there where it is missing."""
    if is_joined(text) == is_joined(other):
        return text
    if is_joined(text):
        return first_page(text)
    _, second = pages(other)
    return joined(text, second.name, second.text) or text


def with_texts(known: str, texts: Sequence[str]) -> str:
    """The text whose pages are named as those of `known`, and hold `texts`."""
    first, *others = texts
    names = page_names(known)[1:]
    return (joined(first, names[0], others[0]) or first) if names else first


def in_files(words: str, text: str) -> str:
    """Words on lines of a joined text, counted from 1, as on the lines of its files."""
    if _LINES.search(words) is None or not is_joined(text):
        return words
    _, second = pages(text)

    def told(match: re.Match[str]) -> str:
        lines = [int(line) for line in match[2].split(", ")]
        if not any(line > second.line for line in lines):
            return match[0]
        said = (f"{line - second.line} of {second.name}" if line > second.line else f"{line}" for line in lines)
        return f"{match[1]} {', '.join(said)}"

    return _LINES.sub(told, words)


def _pages(text: str) -> Iterator[Page]:
    start, line, name = 0, 0, ""
    for border in _BORDER.finditer(text) if _MARK in text else ():
        yield Page(name, text[start : border.start()], line)
        start, line, name = border.end(), text.count("\n", 0, border.end()), border[2]
    yield Page(name, text[start:], line)
