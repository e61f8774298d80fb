"""Where a CUDA text does not parse, said only where that is sure: macros may make right code of what no grammar reads."""

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from kernelwright.source.cuda.text import Source, parse


class Fault(NamedTuple):
    """Where a text stops to parse, as a line from 0, and what is wrong there, without a full stop."""

    line: int
    message: str


_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|R\"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)\"|\"(?:\\.|[^\"\\\n])*\"?|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'"
    r"|^[ \t]*#(?:[^\n\\]|\\\r?\n|\\.)*|[()\[\]{}]",
    re.S | re.M,
)
_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|else|elif|endif)\b", re.M)
_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
_BEYOND = re.compile(
    r"\b(?:typeid|new|delete|asm|__asm__|template|requires|concept|operator|decltype|noexcept|co_\w+|consteval|__declspec"
    r"|__attribute__|alignas|typename|using|_Pragma|__extension__)\b|\[\[|<=>|##|@"
)
"""What the grammar is known to misread in right code."""
_ALONE = re.compile(
    r"^[ \t]*[A-Z][A-Z0-9_]{2,}(?:\([^\n]*\))?\s*\Z", re.M
)  # a macro on a line of its own, without a semicolon
_BEFORE = 400  # characters in front of a line that it is looked for in
_MOST = 60  # characters of code that a message repeats


def syntax_problem(text: str) -> Fault | None:
    """Find the first place that does not parse for certain."""
    return _found(text)


@functools.lru_cache(maxsize=8)
def _found(text: str) -> Fault | None:
    source = parse(text)
    if not source.tree.root_node.has_error:
        return None
    sure = next((one for one in _errors(source.tree.root_node) if not _is_excused(source, one)), None)
    if sure is None:
        return None
    return _unbalanced(text) or _told(source, sure)


def _errors(root: Node) -> Iterator[Node]:
    """What does not parse or is missing, in order of the text."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            stack.extend(reversed(node.children))


def _is_excused(source: Source, error: Node) -> bool:
    """Whether macros, conditions of the preprocessor or newer C++ may be what does not parse."""
    whole = _definition(error)
    written = source.content(whole)
    if whole.type.startswith("preproc") or _CONDITION.search(written):
        return True
    line = _line(source, error)
    if _ALONE.search(
        source.source[: source.source.rfind(b"\n", 0, error.start_byte) + 1].decode("utf-8", "replace")[-_BEFORE:]
    ):
        return True
    if _MACRO.search(line) or _BEYOND.search(line) or _BEYOND.search(source.content(error)[:_MOST]):
        return True
    above: Node | None = error
    while above is not None and above != whole:
        if above.type.startswith(("gnu_asm", "template_", "preproc", "lambda")):
            return True
        above = above.parent
    return False


def _definition(node: Node) -> Node:
    """The definition at top level that a node is in."""
    while node.parent is not None and node.parent.parent is not None and node.parent.type != "declaration_list":
        node = node.parent
    return node


def _line(source: Source, node: Node) -> str:
    """The line that a node begins in, and the one before where something is missing at the beginning of it."""
    first = source.source.rfind(b"\n", 0, node.start_byte) + 1
    if not source.source[first : node.start_byte].strip():
        first = source.source.rfind(b"\n", 0, max(first - 1, 0)) + 1
    last = source.source.find(b"\n", node.start_byte)
    return source.source[first : last if last >= 0 else None].decode("utf-8", "replace")


def _unbalanced(text: str) -> Fault | None:
    """A bracket that is not closed, or closes nothing. Of braces the indentation tells which one it is."""
    if _CONDITION.search(text):
        return None  # each branch may have brackets of its own
    open_: list[tuple[str, int]] = []
    odd: tuple[int, int] | None = None  # the first pair of braces that are indented differently
    for token in _TOKEN.finditer(text):
        sign, place = token.group(), token.start()
        if sign in _OPENED_BY.values():
            open_.append((sign, place))
        elif sign in _OPENED_BY:
            opened, begin = open_.pop() if open_ else ("", place)
            if opened == "{" and sign == "}" and odd is None and _indent(text, begin) != _indent(text, place):
                odd = begin, place
            if not opened:
                return Fault(_number(text, odd[1] if odd and sign == "}" else place), f"'{sign}' closes nothing")
            if opened == "{" and sign != "}":
                return Fault(_number(text, place), f"'{sign}' closes nothing")
            if opened != _OPENED_BY[sign]:
                return Fault(_number(text, begin), f"'{opened}' is not closed")
    if open_:
        sign, place = open_[0]
        return Fault(_number(text, odd[0] if odd and sign == "{" else place), f"'{sign}' is not closed")
    return None


def _indent(text: str, offset: int) -> int:
    start = text.rfind("\n", 0, offset) + 1
    return len(text[start:offset]) - len(text[start:offset].lstrip())


def _told(source: Source, error: Node) -> Fault:
    before = source.source[: error.start_byte].rstrip()
    if error.is_missing:
        what = f"'{error.type}'" if not error.type.isidentifier() else error.type.replace("_", " ")
        return Fault(before.count(b"\n"), f"{what} is missing")
    code = " ".join(source.content(error).split())
    shown = code if len(code) <= _MOST else f"{code[:_MOST]}…"
    return Fault(error.start_point.row, f"'{shown}' is not expected here")


def _number(text: str, offset: int) -> int:
    return text.count("\n", 0, offset)
