"""A text as top-level segments that can be looked at, and remembered, one by one."""

import ast
import functools
import re
import warnings
from dataclasses import dataclass

from kernelwright.source.document import Document

_COMPOUND = re.compile(rb"@|(?:(?:async[ \t]+)?(?:def|for|with)|class|if|try|while)\b")
_CONSTANT = re.compile(r"([A-Za-z_]\w*)\s*(?::[^=]+)?=\s*([0-9_]{1,20}|1\s*<<\s*[0-9]{1,3})\s*(?:#.*)?$")
_TRIES = 8
_DEEPEST = 150  # deeper code is generated, and the rules walk it recursively


@dataclass(frozen=True)
class Segment:
    """One top-level statement. `start` is its offset in code points; it begins in the first column of `line`."""

    start: int
    line: int
    text: str


def split(document: Document) -> tuple[tuple[Segment, ...], dict[str, int]]:
    """The definitions and other compound statements of a document, and the integer constants of its top level."""
    segments: list[Segment] = []
    constants: dict[str, int] = {}
    start = counted = 0
    for piece in document.pieces:
        start += len(document.source[counted : piece.start].decode("utf-8", "surrogatepass"))
        counted = piece.start
        if _COMPOUND.match(piece.source) or b"](" in piece.source:
            segments.append(Segment(start, piece.line, piece.source.decode("utf-8", "surrogatepass")))
        elif match := _CONSTANT.match(piece.source.partition(b"\n")[0].decode("utf-8", "replace")):
            constants[match[1]] = _integer(match[2])
    return tuple(segments), constants


def _integer(text: str) -> int:
    base, _, shift = text.replace("_", "").partition("<<")
    return int(base or "0") << min(int(shift or "0"), 64)


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
