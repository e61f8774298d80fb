"""The strings of a Python text that hold CUDA C++, by the calls that compile them.

A string counts where a call of the table `_CALLS` is given it, as written there or by the name that it is assigned to.
"""

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.source.document import Document, parse
from kernelwright.source.memory import PerPiece
from kernelwright.source.syntax import walk

_CALLS = {
    "load_inline": ("cuda_sources", 2),
    "RawKernel": ("code", 0),
    "RawModule": ("code", 0),
    "_compile_kernel": ("kernel_source", 0),
    "SourceModule": ("source", 0),
    "Program": ("code", 0),
}
"""By the last part of a function's name, the argument that holds CUDA C++: its keyword and its place."""

KERNEL = "__global__"
_LOOKED_AT = re.compile(
    rb"__global__|\b(?:" + "|".join(_CALLS).encode() + rb")\b|\A\w+[ \t]*(?::[^=\n]*)?=[ \t]*[(\[]?[rRuU]?[\"']"
)
_FIRST_BREAK = re.compile(r"\A\\(?=\r?\n)")  # escaped: the string begins on the next line
_CONTINUED = re.compile(r"\\\\(?=\r?\n)")  # of C++, escaped
_MADE = 'it is put together while the file runs; write it as one string, r"""…"""'
_ESCAPED = 'it has escapes, which would move its columns; make it a raw string, r"""…"""'
_TWICE = "its name is assigned more than once"
_ELSEWHERE = "a part of it is not written in this file"


@dataclass(frozen=True)
class String:
    """The content of a string, or an expression that makes one. `reason`: why it cannot be read, "" if it can."""

    start: int
    end: int
    raw: bool = False
    reason: str = ""


@dataclass(frozen=True)
class _Piece:
    """What a piece of a text assigns (name, whether at top level, string) and compiles (strings, and names of strings)."""

    assigned: tuple[tuple[str, bool, String], ...] = ()
    compiled: tuple[tuple[String | str, ...], ...] = ()


def compiled_strings(document: Document) -> Iterator[tuple[int, list[String]]]:
    """The strings of each call that compiles some, at their places in the text, and the line of the statement of the first."""
    pieces = _pieces(document.pieces)
    top = [(i, name, string) for i, one in enumerate(pieces) for name, at_top, string in one.assigned if at_top]
    for index, piece in enumerate(pieces):
        own = [(index, name, string) for name, _, string in piece.assigned]
        for parts in piece.compiled:
            found, missing = list[tuple[int, String]](), False
            for part in parts:
                named = [(i, string) for i, name, string in own if name == part] if isinstance(part, str) else []
                named = named or [(i, string) for i, name, string in top if name == part]
                if isinstance(part, String):
                    found.append((index, part))
                elif named:
                    number, string = named[-1]
                    reason = _TWICE if len(named) > 1 else string.reason
                    found.append((number, dataclasses.replace(string, reason=reason)))
                else:
                    missing = True
            if found:
                strings = [_moved(one, document.offsets[i], _ELSEWHERE if missing else one.reason) for i, one in found]
                yield document.pieces[found[0][0]].line, strings


def _moved(string: String, offset: int, reason: str) -> String:
    return dataclasses.replace(string, start=string.start + offset, end=string.end + offset, reason=reason)


def _piece(source: bytes) -> _Piece:
    if not _LOOKED_AT.search(source):
        return _Piece()
    document = parse(source.decode("utf-8", "surrogatepass"))
    assigned, compiled = list[tuple[str, bool, String]](), list[tuple[String | str, ...]]()
    for node in walk(document.tree.root_node):
        if node.type in ("assignment", "augmented_assignment"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            string = _string(document, right) if right is not None else None
            if left is not None and left.type == "identifier" and isinstance(string, String):
                reason = _MADE if node.type == "augmented_assignment" else string.reason
                name = document.content(left)
                assigned.append((name, _is_top_level(node), dataclasses.replace(string, reason=reason)))
        elif node.type == "call" and (parts := tuple(_strings(document, node))):
            compiled.append(parts)
    return _Piece(tuple(assigned), tuple(compiled))


_pieces = PerPiece(_piece)


def _is_top_level(assignment: Node) -> bool:
    statement = assignment.parent
    return statement is not None and statement.parent is not None and statement.parent.type == "module"


def _strings(document: Document, call: Node) -> Iterator[String | str]:
    """What a call compiles."""
    function, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    name = document.content(function).rpartition(".")[2] if function is not None else ""
    if name not in _CALLS or given is None:
        return
    keyword, place = _CALLS[name]
    positional = [one for one in given.named_children if one.type not in ("keyword_argument", "comment")]
    named = [one for one in given.named_children if _keyword(document, one) == keyword]
    value = named[0].child_by_field_name("value") if named else next(iter(positional[place:]), None)
    several = value is not None and value.type in ("list", "tuple")
    for one in value.named_children if value is not None and several else [value]:
        string = _string(document, one) if one is not None else None
        if string is not None:
            yield string


def _keyword(document: Document, argument: Node) -> str:
    name = argument.child_by_field_name("name") if argument.type == "keyword_argument" else None
    return document.content(name) if name is not None else ""


def _string(document: Document, node: Node) -> String | str | None:
    """A string, or the name of one; None for what is neither and speaks of no kernel."""
    if node.type == "parenthesized_expression" and len(node.named_children) == 1:
        return _string(document, node.named_children[0])
    if node.type == "identifier":
        return document.content(node)
    opening = document.content(node.children[0]) if node.type == "string" and node.children else ""
    prefix = opening.rstrip("\"'")
    if not opening or prefix.lower() not in ("", "r", "u"):
        kernel = document.source.find(KERNEL.encode(), node.start_byte, node.end_byte)
        if kernel < 0:
            return None
        return String(_place(document, kernel), _place(document, node.end_byte), reason=_MADE)
    start, end = node.children[0].end_byte, node.children[-1].start_byte
    raw = prefix.lower() == "r"
    content = document.source[start:end].decode("utf-8", "surrogatepass")
    reason = "" if raw or meant(content) is not None else _ESCAPED
    return String(_place(document, start), _place(document, end), raw, reason)


def _place(document: Document, byte: int) -> int:
    return len(document.source[:byte].decode("utf-8", "surrogatepass"))


def meant(content: str) -> str | None:
    """What a string that is not raw holds, as long as it is written; None where escapes change its length."""
    code = _FIRST_BREAK.sub(" ", content)
    return _CONTINUED.sub(r" \\", code) if "\\" not in _CONTINUED.sub("", code) else None
