"""A text as top-level segments that can be looked at, and remembered, one by one."""

import ast
import functools
import re
import warnings
from dataclasses import dataclass

from kernelwright.source.document import Document

_COMPOUND = frozenset(
    [
        "function_definition",
        "class_definition",
        "decorated_definition",
        "if_statement",
        "try_statement",
        "with_statement",
        "for_statement",
        "while_statement",
        "ERROR",
    ]
)
_HEAD = re.compile(rb"^(?:@|(?:async[ \t]+)?def\b|class\b)", re.MULTILINE)
_CONSTANT = re.compile(r"([A-Za-z_]\w*)\s*(?::[^=]+)?=\s*([0-9_]{1,20}|1\s*<<\s*[0-9]{1,3})\s*(?:#.*)?$")
_TRIES = 8
_DEEPEST = 150  # deeper code is generated, and the rules walk it recursively


@dataclass(frozen=True)
class Segment:
    """One top-level statement. `start` is its offset in utf-8 bytes; it begins in the first column of `line`."""

    start: int
    line: int
    text: str


def split(document: Document) -> tuple[tuple[Segment, ...], dict[str, int]]:
    """The definitions and other compound statements of a document, and the integer constants of its top level."""
    segments: list[Segment] = []
    constants: dict[str, int] = {}
    for node in document.tree.root_node.children:
        kind = node.type
        if kind in _COMPOUND or (
            kind == "expression_statement" and b"](" in document.source[node.start_byte : node.end_byte]
        ):
            segments += _pieces(document, node.start_byte, node.end_byte, node.start_point.row, node.has_error)
        elif kind == "expression_statement":
            match = _CONSTANT.match(document.content(node))
            if match:
                constants[match[1]] = _integer(match[2])
    return tuple(segments), constants


def _integer(text: str) -> int:
    base, _, shift = text.replace("_", "").partition("<<")
    return int(base or "0") << min(int(shift or "0"), 64)


def _pieces(document: Document, start: int, end: int, row: int, broken: bool) -> list[Segment]:
    """One segment; where the text is broken, one for each definition in it, so that an error costs its own one only."""
    source = document.source[start:end]
    if not broken:
        return [Segment(start, row, source.decode("utf-8", "replace"))]
    heads = [match.start() for match in _HEAD.finditer(source)]
    joined = [h for i, h in enumerate(heads) if i == 0 or not _is_decorator(source, heads[i - 1])]
    cuts = sorted({0, *joined})
    return [
        Segment(start + a, row + source.count(b"\n", 0, a), source[a:b].decode("utf-8", "replace").rstrip())
        for a, b in zip(cuts, [*cuts[1:], len(source)], strict=True)
    ]


def _is_decorator(source: bytes, head: int) -> bool:
    return source[head : head + 1] == b"@"


@functools.lru_cache(maxsize=2048)
def syntax(text: str) -> ast.Module | None:
    """The syntax tree of a segment. Lines that do not parse yet are taken as `pass`; None when that does not help."""
    for _ in range(_TRIES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
            return tree if _depth(tree) <= _DEEPEST else None
        except SyntaxError as error:
            blanked = _blank(text, error.lineno)
            if blanked is None or blanked == text:
                return None
            text = blanked
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _depth(tree: ast.AST) -> int:
    """How deeply the nodes are nested; counted without recursion, which is what depth would break."""
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _blank(text: str, number: int | None) -> str | None:
    """`text` with one line made harmless; its other lines keep their places."""
    lines = text.split("\n")
    if number is None or not 1 <= number <= len(lines):
        return None
    line = lines[number - 1]
    indent = line[: len(line) - len(line.lstrip())]
    following = next((later for later in lines[number:] if later.strip()), "")
    deeper = len(following) - len(following.lstrip()) > len(indent)
    lines[number - 1] = indent + ("if 1:" if deeper else "pass")
    return "\n".join(lines)
