"""A file as its top-level pieces, so that one changed character re-analyses one piece."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.source.document import Document

# A line that begins something at top level, for texts whose tree has errors.
_BEGINS = re.compile(rb"^(?!(?:else|elif|except|finally)\b)[@A-Za-z_\x80-\xff]", re.MULTILINE)
_DECORATOR = re.compile(rb"@[\w.]*\w[ \t]*(?:\(|#|\r?\n)")  # not one that is still being typed
_TRIPLE = re.compile(rb"\"\"\"|'''")
_IGNORED = (b"import ", b"from ", b'"', b"'")


@dataclass(frozen=True)
class Piece:
    """The bytes of a top-level statement with its decorators, and the line on which they begin."""

    source: bytes
    line: int


def pieces(document: Document) -> Iterator[Piece]:
    """The top-level statements in order; imports, comments and strings are left out.

    A text that does not parse is cut at the lines that begin at column 0, so that an error in one definition leaves
    the others whole.
    """
    source = document.source
    starts = _by_lines(document) if document.tree.root_node.has_error else _by_tree(document)
    if not starts:
        return
    line = counted = 0
    for start, end in zip(starts, [*starts[1:], len(source)], strict=True):
        line += source.count(b"\n", counted, start)
        counted = start
        piece = source[start:end].rstrip()
        if not piece.startswith(_IGNORED):
            yield Piece(piece, line)


def _by_tree(document: Document) -> list[int]:
    return [node.start_byte for node in document.tree.root_node.named_children if node.type != "comment"]


def _by_lines(document: Document) -> list[int]:
    source, root = document.source, document.tree.root_node
    in_strings = len(_TRIPLE.findall(source)) % 2 == 0  # else an unfinished string hides what follows it
    starts: list[int] = []
    decorated = False
    for match in _BEGINS.finditer(source):
        start = match.start()
        if in_strings and root.descendant_for_byte_range(start, start + 1).type in ("string_content", "string"):
            continue
        if not decorated:
            starts.append(start)
        decorated = _DECORATOR.match(source, start) is not None
    return starts
