"""The definitions of a CUDA text as pieces that know what they need of each other, so that a key costs one of them."""

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.cuda.definitions import HOLDERS, read_apart
from kernelwright.source.cuda.text import Source, parse

_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARED = re.compile(r"(?<!\w)([A-Za-z_]\w{0,255})\s{0,99}(?:\[[^\[\]]{0,200}\]\s{0,99}){0,4}[=;,{(]")
_DEFINED = re.compile(r"#[ \t]{0,99}define[ \t]{1,99}(\w{1,255})")
_PIECES = frozenset(
    (
        *("function_definition", "preproc_def", "preproc_function_def", "declaration", "type_definition"),
        *("alias_declaration", "struct_specifier", "class_specifier", "enum_specifier"),
    )
)
_LONGEST_HELPER = 1000  # characters of a host function that launches are computed with
_MOST_NEEDED = 64  # pieces that one function is read with


@dataclass(frozen=True, eq=False)
class Piece:
    """One definition at top level, one object for the same text. `names` are defined by it, `words` all that stand in it."""

    text: str
    names: frozenset[str]
    words: frozenset[str]
    name: str = ""
    is_kernel: bool = False
    is_device: bool = False
    launched: tuple[str, ...] = ()

    @property
    def is_helper(self) -> bool:
        """Whether another function may be read with it."""
        return not self.is_kernel and (self.is_device or not self.name or len(self.text) <= _LONGEST_HELPER)


@dataclass(frozen=True)
class Placed:
    """A piece at its place: `start` counts bytes, lines count from 0."""

    piece: Piece
    start: int
    line: int
    end_line: int


@dataclass(frozen=True, eq=False)
class Outline:
    """The pieces of a text in order."""

    source: Source
    placed: tuple[Placed, ...]

    @functools.cached_property
    def _by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.placed):
            for name in one.piece.names:
                found.setdefault(name, []).append(index)
        return found

    @functools.cached_property
    def starting(self) -> dict[int, int]:
        """The piece that begins at a byte."""
        return {one.start: index for index, one in enumerate(self.placed)}

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return _one_object(frozenset(self._by_name))

    @functools.cached_property
    def _launchers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.placed):
            for name in one.piece.launched:
                found.setdefault(name, []).append(index)
        return found

    def launchers(self, kernel: str) -> tuple[int, ...]:
        """The functions that launch a kernel."""
        return tuple(self._launchers.get(kernel, ()))

    def needed(self, pieces: Iterable[int]) -> tuple[int, ...]:
        """Whatever these pieces mention, and what that mentions, apart from kernels and long functions of the host."""
        found = dict.fromkeys(pieces)
        given = len(found)
        waiting = list(found)
        while waiting and len(found) < _MOST_NEEDED:
            for name in _mentioned(self.placed[waiting.pop()].piece, self._names):
                for index in self._by_name[name]:
                    if index not in found and self.placed[index].piece.is_helper:
                        found[index] = None
                        waiting.append(index)
        return tuple(sorted(list(found)[given:]))

    def touching(self, lines: range) -> frozenset[int]:
        """The pieces that stand on some of these lines."""
        return frozenset(
            index for index, one in enumerate(self.placed) if one.line < lines.stop and lines.start <= one.end_line
        )


@functools.lru_cache(maxsize=16)
def _one_object(names: frozenset[str]) -> frozenset[str]:
    """The same object for equal names, so that what is remembered of them is found by identity."""
    return names


@functools.lru_cache(maxsize=8192)
def _mentioned(piece: Piece, names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(piece.words & names))


def outline(text: str) -> Outline:
    """The pieces of a text. Never raises for one that is being typed."""
    return _outline(text)


@functools.lru_cache(maxsize=4)
def _outline(text: str) -> Outline:
    source = parse(text)
    placed = []
    for node in _pieces(source.tree.root_node):
        content = source.source[node.start_byte : node.end_byte]
        placed.append(Placed(_piece(content, node.type), node.start_byte, node.start_point.row, node.end_point.row))
    return Outline(source, tuple(placed))


def _pieces(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _PIECES or (node.type == "template_declaration" and not _holds_more(node)):
            yield node
        elif node.type in HOLDERS or node.type == "ERROR":
            stack.extend(reversed(node.named_children))


def _holds_more(template: Node) -> bool:
    return any(one.type in HOLDERS for one in template.named_children)


@functools.lru_cache(maxsize=4096)
def _piece(content: bytes, kind: str) -> Piece:
    text = content.decode("utf-8", "replace")
    words = frozenset(_WORD.findall(text))
    if kind in ("function_definition", "template_declaration"):
        file = read_apart(text)
        if file.functions:
            one = file.functions[0]
            launched = tuple(dict.fromkeys(launch.kernel for launch in file.launches))
            return Piece(
                text, frozenset((one.name,)), words, one.name, one.is_kernel, one.is_kernel or one.is_device, launched
            )
    names = _DEFINED.findall(text) if kind.startswith("preproc") else _DECLARED.findall(text)
    return Piece(text, frozenset(names), words)
