"""Finds the functions that a CUDA text defines, at its top level, in namespaces and in blocks of `extern "C"`."""

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.source.cpp.tokens import Kind, Token, closing, closing_angle, tokens_of

_WITH_ARGUMENTS = frozenset(
    (
        *("__launch_bounds__", "__align__", "alignas", "__attribute__", "__declspec", "__maxnreg__"),
        *("__cluster_dims__", "__block_size__", "noexcept", "decltype", "requires"),
    )
)
_TYPES = frozenset(("class", "struct", "union", "enum"))
_QUALIFIERS = frozenset(
    [
        "__global__",
        "__device__",
        "__host__",
        "__constant__",
        "__shared__",
        "__managed__",
        "static",
        "inline",
        "constexpr",
        "__forceinline__",
        "__noinline__",
        "extern",
    ]
)
_CV = frozenset(["const", "volatile", "__restrict__", "__restrict", "struct", "enum", "typename"])
_BUILTIN = frozenset(["int", "char", "long", "short", "double", "float", "bool", "void", "unsigned", "signed"]) | _CV


@dataclass(frozen=True)
class Parameter:
    """`type` as written, with single blanks; `pointee` for a pointer what it points to, without const."""

    name: str
    type: str
    default: str | None = None

    @property
    def pointee(self) -> str | None:
        words = [word for word in self.type.split() if word not in ("const", "volatile", "__restrict__", "__restrict")]
        return " ".join(words[:-1]) if words[-1:] == ["*"] else None

    @property
    def is_const(self) -> bool:
        """Whether what it points to cannot be written by way of it."""
        return "const" in self.type.split("*")[0].split()


@dataclass(frozen=True)
class Function:
    """A definition. `tokens`: the indices of the braces of its body; `alike`: others of its name take other parameters.

    `overloaded`: neither that nor its launch tells it from these. One kernel among functions of the host is told by its launch.
    """

    name: str
    scope: tuple[str, ...]
    qualifiers: frozenset[str]
    template: str
    returns: str
    parameters: tuple[Parameter, ...]
    line: int
    start: int
    end: int
    tokens: tuple[int, int]
    alike: bool = False
    overloaded: bool = False
    member: bool = False

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.qualifiers

    @property
    def on_device(self) -> bool:
        return self.is_kernel or "__device__" in self.qualifiers

    @property
    def on_host(self) -> bool:
        return not self.on_device or "__host__" in self.qualifiers

    @property
    def can_be_entry(self) -> bool:
        """Whether a workload line can call it: a kernel or a host function that is one function."""
        return not (self.template or self.overloaded or self.member or self.name == "main") and (
            self.is_kernel or "__device__" not in self.qualifiers
        )


@functools.lru_cache(maxsize=64)
def functions_of(text: str) -> tuple[Function, ...]:
    """The functions that a text defines, in its order; what is half-typed is left out."""
    found = _Reader(text, tokens_of(text)).functions
    named: dict[tuple[tuple[str, ...], str], list[Function]] = {}
    for one in found:
        named.setdefault((one.scope, one.name), []).append(one)
    return tuple(_among(one, named[one.scope, one.name]) for one in found)


def _among(function: Function, named: Sequence[Function]) -> Function:
    """The function, of those that have its name."""
    if len({tuple(each.type for each in one.parameters) for one in named}) == 1:
        return function
    others = [one for one in named if one is not function]
    told = function.is_kernel and not function.template and not any(one.on_device or one.template for one in others)
    return dataclasses.replace(function, alike=True, overloaded=not told)


class _Reader:
    def __init__(self, text: str, tokens: tuple[Token, ...]) -> None:
        self._text = text
        self._tokens = tokens
        self.functions: list[Function] = []
        self._read()

    def _read(self) -> None:
        tokens, scopes, head, index, hidden = self._tokens, list[str | None](), list[int](), 0, 0
        while index < len(tokens):
            token = tokens[index]
            if token.kind is Kind.DIRECTIVE:
                hidden = _hidden(token.text, hidden)
                index += 1
                continue
            if hidden:
                index += 1
                continue
            match token.text:
                case ";":
                    head = []
                case "}":
                    head = []
                    if scopes:
                        scopes.pop()
                case "(" | "[":
                    close = closing(tokens, index)
                    head += range(index, min(close + 1, len(tokens)))
                    index = close
                case "{":
                    opened = self._scope(head)
                    if opened is not None:
                        scopes += opened
                    else:
                        close = closing(tokens, index)
                        made = self._function(head, index, close, tuple(name for name in scopes if name is not None))
                        if made is not None:
                            self.functions.append(made)
                        index = close
                    head = []  # no `;` follows an operator, or a template for some types
                case _:
                    head.append(index)
            index += 1

    def _scope(self, head: list[int]) -> list[str | None] | None:
        """The scopes that a brace opens behind these tokens: names of namespaces, None for a linkage; None for no scope."""
        words = [self._tokens[i].text for i in head]
        if words[-2:-1] == ["extern"] and self._tokens[head[-1]].kind is Kind.STRING:
            return [None]
        if "namespace" not in words or "(" in words:
            return None
        names = words[words.index("namespace") + 1 :]
        # One brace closes them all, so that a nested name is one scope.
        return ["".join(names)]

    def _function(self, head: list[int], opens: int, closes: int, scope: tuple[str, ...]) -> Function | None:
        tokens = self._tokens
        if closes >= len(tokens):
            return None
        template, rest = self._without_template(head)
        place = 0
        while place < len(rest):
            token = tokens[rest[place]]
            if token.text == "=" or (token.text in _TYPES and not self._has_parameters(rest[place:])):
                return None
            if token.text == "(":
                before = tokens[rest[place - 1]] if place else None
                if before is None or before.kind is not Kind.WORD:
                    return None
                if before.text in _WITH_ARGUMENTS:
                    place = self._behind(rest, place)
                    continue
                return self._made(template, rest, place, opens, closes, scope)
            if token.text == "<" and (angle := closing_angle(tokens, rest[place])) is not None and angle in rest:
                place = rest.index(angle, place)
            place += 1
        return None

    def _has_parameters(self, rest: list[int]) -> bool:
        return any(self._tokens[i].text == "(" for i in rest)

    def _behind(self, rest: list[int], place: int) -> int:
        close = closing(self._tokens, rest[place])
        return rest.index(close, place) + 1 if close in rest else len(rest)

    def _without_template(self, head: list[int]) -> tuple[str, list[int]]:
        tokens, said = self._tokens, ""
        while head and tokens[head[0]].text == "template" and len(head) > 1 and tokens[head[1]].text == "<":
            close = closing_angle(tokens, head[1])
            if close is None or close not in head:
                return said or "template", []
            said += self._text[tokens[head[1]].start : tokens[close].end]
            head = head[head.index(close) + 1 :]
        return said, head

    def _made(
        self, template: str, rest: list[int], place: int, opens: int, closes: int, scope: tuple[str, ...]
    ) -> Function | None:
        tokens = self._tokens
        name = tokens[rest[place - 1]].text
        before = [tokens[i] for i in rest[: place - 1]]
        words = [token.text for token in before]
        if "operator" in words or not words:
            return None
        close = closing(tokens, rest[place])
        qualifiers = frozenset(word for word in words if word in _QUALIFIERS)
        returns = [t.text for t in before if t.text not in _QUALIFIERS and t.kind is not Kind.STRING]
        behind = tokens[rest[0]]
        return Function(
            name,
            scope,
            qualifiers,
            template,
            " ".join(returns),
            _parameters(self._text, tokens, rest[place] + 1, close),
            tokens[rest[place - 1]].line,
            behind.start,
            tokens[closes].end,
            (opens, closes),
            member=words[-1] in ("::", "~"),
        )


def _hidden(directive: str, depth: int) -> int:
    """How deep in what `#if 0` hides the text behind the directive lies."""
    words = directive[1:].split(None, 1)
    kind = words[0] if words else ""
    if depth:
        if kind.startswith("if"):
            return depth + 1
        return depth - 1 if kind == "endif" or (depth == 1 and kind in ("else", "elif")) else depth
    return int(kind == "if" and words[1:] == ["0"])


def _parameters(text: str, tokens: tuple[Token, ...], start: int, end: int) -> tuple[Parameter, ...]:
    parts, part, index = list[list[int]](), list[int](), start
    while index < end:
        word = tokens[index].text
        close = index
        if word in ("(", "[", "{"):
            close = min(closing(tokens, index), end - 1)
        elif word == "<":
            angle = closing_angle(tokens, index)
            close = angle if angle is not None and angle < end else index
        if word == ",":
            parts.append(part)
            part = []
        else:
            part += range(index, close + 1)
        index = close + 1
    parts += [part] if part else []
    given = [_parameter(text, tokens, one, number) for number, one in enumerate(parts)]
    return () if [one.type for one in given] == ["void"] else tuple(given)


def _parameter(text: str, tokens: tuple[Token, ...], part: list[int], number: int) -> Parameter:
    words = [tokens[i] for i in part]
    default = None
    equals = next((i for i, token in enumerate(words) if token.text == "="), None)
    if equals is not None:
        default = text[words[equals + 1].start : words[-1].end] if equals + 1 < len(words) else None
        words = words[:equals]
    array = next((i for i, token in enumerate(words) if token.text == "["), None)
    words, stars = (words[:array], ["*"]) if array is not None else (words, [])
    last = words[-1] if words else None
    named = (
        last is not None
        and last.kind is Kind.WORD
        and last.text not in _BUILTIN
        and sum(token.kind is Kind.WORD and token.text not in _CV for token in words) > 1
    )
    name = last.text if named and last is not None else f"argument {number}"
    return Parameter(name, " ".join([t.text for t in (words[:-1] if named else words)] + stars), default)
