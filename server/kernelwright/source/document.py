"""A Python text with its syntax tree, parsed again incrementally after a change."""

import functools
from dataclasses import dataclass

import tree_sitter_python
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Point, Tree


@functools.cache
def _python() -> Parser:
    return Parser(Grammar(tree_sitter_python.language()))


@dataclass(frozen=True)
class Document:
    """One version of a text. Tree columns and offsets are utf-8 bytes; `source` holds those bytes."""

    text: str
    source: bytes
    tree: Tree

    def content(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def parse(text: str, previous: Document | None = None) -> Document:
    """Parse `text`; with `previous` only what differs between the two is parsed again."""
    source = text.encode("utf-8", "surrogatepass")
    if previous is None:
        return Document(text, source, _python().parse(source))
    old = previous.source
    start = _common_prefix(old, source)
    limit = min(len(old), len(source)) - start
    end = _common_prefix(old[len(old) - limit :][::-1], source[len(source) - limit :][::-1])
    tree = previous.tree.copy()
    tree.edit(
        start_byte=start,
        old_end_byte=len(old) - end,
        new_end_byte=len(source) - end,
        start_point=_point(old, start),
        old_end_point=_point(old, len(old) - end),
        new_end_point=_point(source, len(source) - end),
    )
    return Document(text, source, _python().parse(source, tree))


def _common_prefix(left: bytes, right: bytes) -> int:
    """By halving: comparing slices is far faster than a loop over bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _point(source: bytes, offset: int) -> Point:
    row = source.count(b"\n", 0, offset)
    return Point(row, offset - (source.rfind(b"\n", 0, offset) + 1))
