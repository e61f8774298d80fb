"""A Python text with what follows from it alone: its bytes, its top-level pieces and, for short texts, its syntax tree."""

import functools
import itertools
from dataclasses import dataclass

import tree_sitter_python
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Tree

from kernelwright.source.pieces import Pieces
from kernelwright.source.split import split
from kernelwright.values import digest, encoded


@functools.cache
def _python() -> Parser:
    return Parser(Grammar(tree_sitter_python.language()))


@dataclass(frozen=True)
class Document:
    """One version of a text. Tree columns and offsets are utf-8 bytes; `source` holds those bytes."""

    text: str
    source: bytes

    @functools.cached_property
    def tree(self) -> Tree:
        """Asked for of one piece at a time: parsing a long file again after an opened bracket takes 150 ms."""
        return _python().parse(self.source)

    @functools.cached_property
    def pieces(self) -> Pieces:
        return split(self.source)

    @functools.cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each piece begins, in code points."""
        parts = (self.source[start:end] for start, end in itertools.pairwise(self.pieces.starts))
        return tuple(itertools.accumulate((len(part.decode("utf-8", "surrogatepass")) for part in parts), initial=0))

    @functools.cached_property
    def hash(self) -> str:
        return digest(self.text)

    def content(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def parse(text: str) -> Document:
    return Document(text, encoded(text))
