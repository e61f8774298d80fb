"""Finds the structures of a text that hold plain fields, such as `struct Params { int n; const float* x; };`."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.source.cpp.tokens import Kind, Token, closing, closing_angle, tokens_of

_NO_FIELDS = frozenset(("static", "using", "typedef", "friend", "template", "static_assert"))
_DEEPEST = 4


@dataclass(frozen=True)
class Field:
    """One field: its type as words with single blanks, and whether the structure gives it a value itself.

    Of an array it is the type of an element, with the code of its `count` where it has one dimension.
    """

    name: str
    type: str
    has_default: bool = False
    is_array: bool = False
    count: str = ""


@functools.lru_cache(maxsize=64)
def structures_of(text: str) -> Mapping[str, tuple[Field, ...]]:
    """The fields of each structure by its name, in order.

    Left out are those with bases, private members, bit-fields or unions, templates, and names that are taken twice.
    """
    tokens = tokens_of(text)
    found: dict[str, tuple[Field, ...] | None] = {}
    for index, token in enumerate(tokens):
        if token.text != "struct" or token.kind is not Kind.WORD or _is_template(tokens, index):
            continue
        opens = index + 1
        while opens < len(tokens) and (tokens[opens].kind is Kind.WORD or tokens[opens].text == "("):
            opens = closing(tokens, opens) + 1 if tokens[opens].text == "(" else opens + 1
        if opens >= len(tokens) or tokens[opens].text != "{":
            continue
        closes = closing(tokens, opens)
        name = _name(tokens, index, opens, closes)
        if name:
            found[name] = None if name in found else _fields(tokens, opens + 1, closes)
    return {name: fields for name, fields in found.items() if fields}


def paths(structures: Mapping[str, Sequence[Field]], kind: str, depth: int = 0) -> Iterator[tuple[str, Field]]:
    """Each field of a structure that is none itself, by its path, such as "inner.n"."""
    for one in structures.get(structure_name(kind), ()) if depth < _DEEPEST else ():
        if structure_name(one.type) in structures:
            yield from ((f"{one.name}.{path}", inner) for path, inner in paths(structures, one.type, depth + 1))
        else:
            yield one.name, one


def structure_name(kind: str) -> str:
    """The name in the type of something that is passed by value, without const and scopes; "" for a pointer."""
    words = [word for word in kind.split() if word not in ("const", "volatile", "struct", "&")]
    return words[-1] if words and "*" not in words else ""


def _is_template(tokens: tuple[Token, ...], index: int) -> bool:
    return bool(index) and tokens[index - 1].text in (">", ",", "<", "enum", "friend")


def _name(tokens: tuple[Token, ...], index: int, opens: int, closes: int) -> str:
    """The word in front of the brace, or behind it in a typedef."""
    before = [one.text for one in tokens[index + 1 : opens] if one.kind is Kind.WORD]
    if before and tokens[opens - 1].kind is Kind.WORD:
        return before[-1]
    behind = tokens[closes + 1 : closes + 3]
    typedef = bool(index) and tokens[index - 1].text == "typedef"
    return behind[0].text if typedef and [one.text for one in behind[1:]] == [";"] else ""


def _fields(tokens: tuple[Token, ...], start: int, end: int) -> tuple[Field, ...] | None:
    """The fields between two braces; None where not all that is there can be read."""
    found, part, index = list[Field](), list[int](), start
    while index < end:
        text = tokens[index].text
        if text == "public" and tokens[index + 1].text == ":":
            index += 2
            continue
        if text in ("private", "protected", "virtual", "union", "class", "enum"):
            return None
        if text == "{" and any(tokens[i].text == "(" for i in part):  # the body of a member function
            part, index = [], closing(tokens, index) + 1
            continue
        if text == ";":
            made = _declared(tokens, part)
            if made is None:
                return None
            found += made
            part = []
        elif text in ("(", "[", "{"):
            close = min(closing(tokens, index), end - 1)
            part += range(index, close + 1)
            index = close
        else:
            part.append(index)
        index += 1
    return tuple(found) if not part else None


def _declared(tokens: tuple[Token, ...], part: list[int]) -> list[Field] | None:
    """The fields of one declaration; none of a member function, None for what is no plain field."""
    words = [tokens[i].text for i in part]
    if not words or words[0] in _NO_FIELDS:
        return []
    opens = words.index("(") if "(" in words else len(words)
    if {":", "struct", "operator", "&"}.intersection(words[:opens]) or words[opens + 1 : opens + 2] == ["*"]:
        return None
    if opens < len(words) and "=" not in words[:opens] and words[0] not in ("alignas", "__align__"):
        return []
    made, base = list[Field](), list[str]()
    for one in _declarators(tokens, part):
        ends = next((at for at, text in enumerate(one) if text in ("=", "{", "[")), len(one))
        if not ends or not one[ends - 1].isidentifier():
            return None
        base = base or [text for text in one[: ends - 1] if text not in ("*", "__restrict__", "__restrict")]
        if not base:
            return None
        kind = " ".join((*base, *("*" * one[:ends].count("*"))))
        count = " ".join(one[ends + 1 : one.index("]", ends)]) if one.count("[") == 1 and "]" in one[ends:] else ""
        made.append(Field(one[ends - 1], kind, "=" in one or "{" in one, "[" in one, count))
    return made


def _declarators(tokens: tuple[Token, ...], part: list[int]) -> list[list[str]]:
    """The words between the commas of a declaration, the first with the type in front; brackets hold their commas."""
    found, inside = [list[str]()], -1
    for index in part:
        text = tokens[index].text
        if index > inside and text in ("(", "[", "{", "<"):
            closes = closing_angle(tokens, index) if text == "<" else closing(tokens, index)
            inside = closes if closes is not None else inside
        if text == "," and index > inside:
            found.append([])
        else:
            found[-1].append(text)
    return found
