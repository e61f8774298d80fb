"""A CUDA C++ text with its syntax tree, which is made from that of the text before it once something asks for it."""

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import tree_sitter_cuda
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Point, Tree

from kernelwright.values import encoded

_GAPS = re.compile(
    rb"_(?:_(?:(?:align__|cluster_dims__|maxnreg__)\s*\([^()\n]*\)|grid_constant__|(?:no|force)inline__|restrict\b)"
    rb"|Pragma\s*\([^()\n]*\))|\]\s*__(?:host|device)__(?=[\s({_])"
)
"""What the grammar does not know; all of it may be missing without changing what the code means.

Each part begins with one of two characters, or going through a long text would take ten times as long.
"""

_BRACKET = b"]"[0]
_latest: list[tuple[bytes, Tree]] = []  # the text that was parsed last, in whatever thread, with its tree


@dataclass(frozen=True, eq=False)
class Source:
    """One version of a text. Nodes count utf-8 bytes, everything that leaves this package code points."""

    text: str
    source: bytes
    is_apart: bool = False

    @functools.cached_property
    def tree(self) -> Tree:
        """Asked for only where nodes of the whole text are needed: see `outline` for the others."""
        seen = _without_gaps(self.source)
        if self.is_apart:
            return _parser().parse(seen)
        before = next(iter(_latest), None)
        old = _edited(before[0], before[1], seen) if before is not None else None
        tree = _parser().parse(seen, old) if old is not None else _parser().parse(seen)
        _latest[:] = [(seen, tree)]
        return tree

    @functools.cached_property
    def _is_ascii(self) -> bool:
        return len(self.text) == len(self.source)

    def content(self, node: Node) -> str:
        """The code of a node as written."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def offset(self, byte: int) -> int:
        """The code point that begins at a byte."""
        return byte if self._is_ascii else len(self.source[:byte].decode("utf-8", "replace"))

    def span(self, node: Node) -> tuple[int, int]:
        """Where a node begins and ends."""
        return self.offset(node.start_byte), self.offset(node.end_byte)

    def column(self, byte: int) -> int:
        """The column of a byte in its line."""
        start = self.source.rfind(b"\n", 0, byte) + 1
        return len(self.source[start:byte].decode("utf-8", "replace"))


def parse(text: str) -> Source:
    """The text with its tree. Never raises for one that is being typed: the tree says what does not parse."""
    return _parsed(text)


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> Source:
    return Source(text, encoded(text))


def parse_apart(text: str) -> Source:
    """A text that is not the one being typed: it costs the next `parse` of that one nothing."""
    return Source(text, encoded(text), is_apart=True)


def walk(node: Node, into: Callable[[Node], bool] = lambda _: True) -> Iterator[Node]:
    """The named nodes of a tree in order of the text, apart from those inside a node that `into` denies."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        if into(current):
            stack.extend(reversed(current.named_children))


def of_type(node: Node, *types: str) -> Iterator[Node]:
    """The nodes of these types in a tree, in order of the text."""
    return (one for one in walk(node) if one.type in types)


def spelled(source: Source, pattern: re.Pattern[bytes], *types: str) -> Iterator[Node]:
    """The nodes of these types around what a pattern finds in the text, without a walk through its whole tree."""
    for match in pattern.finditer(source.source):
        node = source.tree.root_node.descendant_for_byte_range(match.start(), match.end())
        while node is not None and node.type not in types:
            node = node.parent
        if node is not None:
            yield node


def field(node: Node | None, *names: str) -> Node | None:
    """The child that is reached by field names, None where one of them is missing."""
    for name in names:
        node = node.child_by_field_name(name) if node is not None else None
    return node


def is_inside(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte and node.end_byte <= outer.end_byte


def _without_gaps(given: bytes) -> bytes:
    return _GAPS.sub(lambda match: match[0][: match[0][0] == _BRACKET].ljust(len(match[0])), given)


@functools.cache
def _language() -> Grammar:
    return Grammar(tree_sitter_cuda.language())


def _parser() -> Parser:
    return Parser(_language())


def _edited(old: bytes, tree: Tree, new: bytes) -> Tree | None:
    """The tree of `old`, told what has changed, where one place did."""
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    if end + start < len(old) // 2:
        return None  # another file
    edited = tree.copy()
    last, now = len(old) - end, len(new) - end
    edited.edit(start, last, now, _point(old, start), _point(old, last), _point(new, now))
    return edited


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _point(source: bytes, byte: int) -> Point:
    return Point(source.count(b"\n", 0, byte), byte - source.rfind(b"\n", 0, byte) - 1)
