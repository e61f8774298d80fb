"""The definitions of a CUDA text as pieces that know what they need of each other, so that a key costs one of them."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node

from kernelwright.source.cuda.cut import cut, first_code
from kernelwright.source.cuda.definitions import HOLDERS, File, Function, file_of
from kernelwright.source.cuda.text import Source, of_type, parse, parse_apart
from kernelwright.source.memory import PerPiece
from kernelwright.source.pieces import Pieces
from kernelwright.values import encoded

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"#[ \t]{0,99}define[ \t]{1,99}(\w{1,255})")
_PIECES = frozenset(
    (
        "function_definition",
        "preproc_def",
        "preproc_function_def",
        "declaration",
        "type_definition",
        "alias_declaration",
    )
)
_LONGEST_HELPER = 1000  # characters of a host function that launches are computed with
_MOST_NEEDED = 64  # pieces that one function is read with


@dataclass(frozen=True, eq=False)
class Piece:
    """One definition at top level, one object for the same text. `words` all that stand in it.

    `names` are those that it gives a function, macro, number or type: what else is declared says nothing to others, and
    in a function that is being typed it would be locals, whose names stand everywhere. `file` is its text read on its own,
    where it is a function; `aliases` the types that it gives another name.
    """

    text: str
    names: frozenset[str]
    words: frozenset[str]
    file: File | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def function(self) -> Function | None:
        """The function; its nodes are those of `file`."""
        return self.file.functions[0] if self.file is not None else None

    @functools.cached_property
    def name(self) -> str:
        return self.function.name if self.function is not None else ""

    @functools.cached_property
    def is_kernel(self) -> bool:
        return self.function is not None and self.function.is_kernel

    @functools.cached_property
    def is_device(self) -> bool:
        return self.function is not None and (self.function.is_kernel or self.function.is_device)

    @functools.cached_property
    def launched(self) -> tuple[str, ...]:
        """The kernels that it launches."""
        return tuple(dict.fromkeys(one.kernel for one in self.file.launches)) if self.file is not None else ()

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """The functions that it calls, as written."""
        if self.file is None or self.function is None:
            return frozenset()
        called = (one.child_by_field_name("function") for one in of_type(self.function.body, "call_expression"))
        return frozenset(self.file.source.content(one) for one in called if one is not None)

    @functools.cached_property
    def is_helper(self) -> bool:
        """Whether another function may be read with it: of a host function only its result or what it changes counts."""
        function = self.function
        if function is None or function.is_kernel or self.is_device:
            return not self.is_kernel
        first = next((one for one in function.body.named_children if one.type != "comment"), None)
        changes = any(one.is_reference and not one.is_const for one in function.parameters)
        returns = first is not None and first.type == "return_statement"
        return (returns or changes) and len(self.text) <= _LONGEST_HELPER


class Placed(NamedTuple):
    """A piece at its place: `start` counts code points, lines count from 0."""

    piece: Piece
    start: int
    line: int
    end_line: int


class _Naming:
    """Which pieces give which names: the same for texts that differ only in pieces that no other is read with.

    Remembers what it has found of a text, so that all of it holds for the text after a key in a kernel.
    """

    def __init__(self, given: tuple[Piece | frozenset[str], ...]) -> None:
        self.by_name: dict[str, list[int]] = {}
        for index, one in enumerate(given):
            for name in one.names if isinstance(one, Piece) else one:
                self.by_name.setdefault(name, []).append(index)
        self._is_helper = [isinstance(one, Piece) for one in given]
        self._helpers: dict[Piece, tuple[int, ...]] = {}
        self._needed: dict[tuple[tuple[int, ...], tuple[Piece, ...]], tuple[int, ...]] = {}

    def helpers(self, piece: Piece) -> tuple[int, ...]:
        """What a piece mentions itself and can be read with."""
        known = self._helpers.get(piece)
        if known is None:
            names = sorted(piece.words & self.by_name.keys())
            known = tuple(i for name in names for i in self.by_name[name] if self._is_helper[i])
            self._helpers[piece] = known
        return known

    def needed(self, placed: Sequence[Placed], pieces: tuple[int, ...]) -> tuple[int, ...]:
        """See `Outline.needed`."""
        key = pieces, tuple(placed[index].piece for index in pieces)
        known = self._needed.get(key)
        if known is None:
            found, waiting = dict.fromkeys(pieces), [*pieces]
            while waiting and len(found) < _MOST_NEEDED:
                for index in self.helpers(placed[waiting.pop()].piece):
                    if index not in found:
                        found[index] = None
                        waiting.append(index)
            if len(self._needed) > _MOST_KNOWN:
                self._helpers, self._needed = {}, {}
            known = self._needed[key] = tuple(sorted([*found][len(key[1]) :]))
        return known


_naming = functools.lru_cache(maxsize=8)(_Naming)


@dataclass(frozen=True, eq=False)
class Outline:
    """The pieces of a text in order. `parts`: what it is cut into, each with one piece or none in most cases.

    `source` makes a tree of the whole text only where somebody asks it for one.
    """

    source: Source
    placed: tuple[Placed, ...]
    parts: Pieces

    @functools.cached_property
    def functions(self) -> tuple[int, ...]:
        """The pieces that are functions."""
        return tuple(index for index, one in enumerate(self.placed) if one.piece.name)

    def defines(self, name: str) -> bool:
        """Whether a function, macro, number or type has this name."""
        return name in self._naming.by_name

    def function(self, name: str) -> Function | None:
        """The first function of this name."""
        return next(
            (one for i in self._naming.by_name.get(name, ()) if (one := self.placed[i].piece.function) is not None),
            None,
        )

    def kernel(self, name: str) -> int | None:
        """The first kernel of this name."""
        return next((i for i in self._naming.by_name.get(name, ()) if self.placed[i].piece.is_kernel), None)

    @functools.cached_property
    def aliases(self) -> dict[str, str]:
        """The types that have another name here."""
        return {name: kind for one in self.placed for name, kind in one.piece.aliases.items()}

    @functools.cached_property
    def _naming(self) -> _Naming:
        return _naming(tuple(one.piece if one.piece.is_helper else one.piece.names for one in self.placed))

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
        return self._naming.needed(self.placed, tuple(dict.fromkeys(pieces)))

    def touching(self, lines: range) -> frozenset[int]:
        """The pieces that stand on some of these lines."""
        return frozenset(
            index for index, one in enumerate(self.placed) if one.line < lines.stop and lines.start <= one.end_line
        )


def outline(text: str) -> Outline:
    """The pieces of a text. Never raises for one that is being typed."""
    return _outline(text)


@functools.lru_cache(maxsize=4)
def _outline(text: str) -> Outline:
    pieces = cut(encoded(text))
    placed, offset = list[Placed](), 0
    for part, (length, found) in zip(pieces, _read(pieces), strict=True):
        for piece, start, line, end_line in found:
            placed.append(Placed(piece, offset + start, part.line + line, part.line + end_line))
        offset += length
    return Outline(parse(text), tuple(placed), pieces)


def _read_alone(part: bytes) -> tuple[int, tuple[Placed, ...]]:
    """How many code points a part of a text has, and the pieces in it at their places there."""
    text, begin = part.decode("utf-8", "surrogatepass"), first_code(part, 0)
    above = part[:begin].decode("utf-8", "surrogatepass")
    source, found, line = parse_apart(text[len(above) :].rstrip()), list[Placed](), above.count("\n")
    for node in _pieces(source.tree.root_node):
        start, row, end = source.offset(node.start_byte), node.start_point.row, node.end_point.row
        found.append(Placed(_piece_of(source, node), len(above) + start, line + row, line + end))
    return len(text), tuple(found)


_read = PerPiece(_read_alone)


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


def _piece_of(source: Source, node: Node) -> Piece:
    content = source.source[node.start_byte : node.end_byte]
    known = _known_pieces.get((content, node.type))
    if known is None:
        whole = source if len(content) == len(source.source) else parse_apart(content.decode("utf-8", "replace"))
        known = _piece(whole, node.type)
        if len(_known_pieces) >= _MOST_KNOWN:
            _known_pieces.clear()
        _known_pieces[content, node.type] = known
    return known


_MOST_KNOWN = 8192
_known_pieces: dict[tuple[bytes, str], Piece] = {}


def _piece(source: Source, kind: str) -> Piece:
    text = source.text
    words = frozenset(_WORD.findall(text))
    if kind in ("function_definition", "template_declaration"):
        file = file_of(source)
        if file.functions:
            return Piece(text, frozenset((file.functions[0].name,)), words, file)
    if kind.startswith("preproc"):
        return Piece(text, frozenset(_DEFINED.findall(text)), words)
    if source.tree.root_node.has_error:
        return Piece(text, frozenset(), words)
    file = file_of(source)
    return Piece(text, frozenset((*file.constants, *file.aliases)), words, aliases=file.aliases)
