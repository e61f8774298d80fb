"""Splits C++ with CUDA's launches into tokens, in a time linear in the text; whatever is half-typed is a token as well."""

import functools
import re
from dataclasses import dataclass
from enum import StrEnum

_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"\.?\d(?:[eEpP][+-]|[\w.']){0,200}")
_RAW = re.compile(r'(?:u8|[uUL])?R"([^()\\\s]{0,16})\(')
_QUOTED = re.compile(r"(?:u8|[uUL])?([\"'])")
_SPACE = re.compile(r"[ \t\r\f\v]+")
_LONG = ("<<<", "...", "->*", "<<=", "::", "->", "++", "--", "<=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "|=")
_OPENING = {"(": ")", "[": "]", "{": "}"}


class Kind(StrEnum):
    WORD = "word"
    NUMBER = "number"
    STRING = "string"
    PUNCTUATION = "punctuation"
    DIRECTIVE = "directive"  # a whole line of the preprocessor, with those that it continues on


@dataclass(frozen=True)
class Token:
    """`start` and `end` are code points of the text, `line` a line from 0."""

    kind: Kind
    text: str
    start: int
    end: int
    line: int


@functools.lru_cache(maxsize=64)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text without its comments."""
    found: list[Token] = []
    at, line, fresh = 0, 0, True  # whether nothing but blanks stands before on the line
    while at < len(text):
        start, kind = at, Kind.PUNCTUATION
        if text[at] == "\n":
            at, line, fresh = at + 1, line + 1, True
            continue
        if (blank := _SPACE.match(text, at)) is not None:
            at = blank.end()
            continue
        if text.startswith(("//", "/*"), at):
            at = _comment(text, at)
            line += text.count("\n", start, at)
            continue
        if text[at] == "\\" and text.startswith(("\n", "\r\n"), at + 1):
            at, line = text.find("\n", at) + 1, line + 1
            continue
        if text[at] == "#" and fresh:
            at, kind = _directive(text, at), Kind.DIRECTIVE
        elif (raw := _RAW.match(text, at)) is not None:
            end = text.find(f'){raw[1]}"', raw.end())
            at, kind = len(text) if end < 0 else end + len(raw[1]) + 2, Kind.STRING
        elif (quote := _QUOTED.match(text, at)) is not None:
            at, kind = _string(text, quote.end(), quote[1]), Kind.STRING
        elif (word := _WORD.match(text, at)) is not None:
            at, kind = word.end(), Kind.WORD
        elif (number := _NUMBER.match(text, at)) is not None:
            at, kind = number.end(), Kind.NUMBER
        else:
            at += next((len(sign) for sign in _LONG if text.startswith(sign, at)), 1)
        found.append(Token(kind, text[start:at], start, at, line))
        line += text.count("\n", start, at)
        fresh = False
    return tuple(found)


def closing(tokens: tuple[Token, ...], at: int) -> int:
    """The index of the bracket that closes the one at index `at`; the number of tokens where it is missing."""
    waiting: list[str] = []
    for index in range(at, len(tokens)):
        sign = tokens[index].text if tokens[index].kind is Kind.PUNCTUATION else ""
        if sign in _OPENING:
            waiting.append(_OPENING[sign])
        elif waiting and sign in _OPENING.values():
            while waiting and waiting[-1] != sign:
                waiting.pop()
            if waiting:
                waiting.pop()
            if not waiting:
                return index
    return len(tokens)


def closing_angle(tokens: tuple[Token, ...], at: int) -> int | None:
    """The index of the `>` for the `<` at index `at`; None where that is no list of template arguments."""
    depth, index = 0, at
    while index < len(tokens):
        match tokens[index].text:
            case "<":
                depth += 1
            case ">":
                depth -= 1
                if not depth:
                    return index
            case "(" | "[":
                index = closing(tokens, index)
            case ";" | "{" | "}" | "<<<":
                return None
        index += 1
    return None


def _comment(text: str, at: int) -> int:
    if text[at + 1] == "*":
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    end = text.find("\n", at)
    while end > 0 and _continues(text, end):
        end = text.find("\n", end + 1)
    return len(text) if end < 0 else end


def _continues(text: str, end: int) -> bool:
    """Whether the line that ends at a line feed goes on in the next one."""
    return text[end - 2 if text[end - 1] == "\r" else end - 1] == "\\"


def _directive(text: str, at: int) -> int:
    end = text.find("\n", at)
    while end > 0 and _continues(text, end):
        end = text.find("\n", end + 1)
    return len(text) if end < 0 else end


def _string(text: str, at: int, quote: str) -> int:
    while at < len(text) and text[at] not in (quote, "\n"):
        at += 2 if text[at] == "\\" else 1
    return min(at + (at < len(text) and text[at] == quote), len(text))
