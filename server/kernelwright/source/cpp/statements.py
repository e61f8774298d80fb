"""Reads the statements of a function's body: where each begins and ends, and which blocks are within it."""

from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.source.cpp.tokens import Kind, Token, closing

_LOOPS = ("for", "while", "do")


@dataclass(frozen=True)
class Statement:
    """`start` and `end` are code points of the text; `words` its own tokens, those of the head where it has blocks.

    `bare`: it is the whole of a branch or loop and has no braces of its own.
    """

    line: int
    start: int
    end: int
    words: tuple[str, ...]
    blocks: tuple[tuple["Statement", ...], ...] = ()
    bare: bool = False
    bodies: tuple[int, ...] = ()  # where the first statement of each block is put, behind its brace

    @property
    def is_loop(self) -> bool:
        return self.words[:1] in (("for",), ("while",), ("do",))

    @property
    def varies(self) -> bool:
        """Whether anything but numbers says how often a loop turns."""
        if self.words[:1] != ("for",):
            return True
        condition = " ".join(self.words).split(";")[1:2]
        names = [word for part in condition for word in part.split() if word[0].isalpha() or word[0] == "_"]
        return len(set(names)) > 1

    def walk(self) -> Iterator["Statement"]:
        """It and all within it, in the order of the text."""
        yield self
        for block in self.blocks:
            for one in block:
                yield from one.walk()


def statements_of(tokens: tuple[Token, ...], braces: tuple[int, int]) -> tuple[Statement, ...]:
    """The statements between two braces, by their indices."""
    return _Body(tokens).block(braces[0] + 1, braces[1])


class _Body:
    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens

    def block(self, at: int, end: int) -> tuple[Statement, ...]:
        found = []
        while at < end:
            token = self._tokens[at]
            if token.kind is Kind.DIRECTIVE or token.text == ";":
                at += 1
                continue
            if (label := self._behind_label(at, end)) is not None:
                at = label
                continue
            made, at = self._statement(at, end)
            found += made
        return tuple(found)

    def _behind_label(self, at: int, end: int) -> int | None:
        """Behind `case 1:`, `default:` or the name of a place to go to."""
        tokens = self._tokens
        if tokens[at].text == "case":
            while at < end and tokens[at].text != ":":
                at = closing(tokens, at) if tokens[at].text in "([" else at + 1
            return at + 1
        named = tokens[at].kind is Kind.WORD and at + 1 < end and tokens[at + 1].text == ":"
        return at + 2 if named else None

    def _statement(self, at: int, end: int, bare: bool = False) -> tuple[list[Statement], int]:
        """What begins here, and the index behind it. A block alone is the statements in it."""
        tokens, first = self._tokens, tokens_at(self._tokens, at)
        if first.text == "{":
            close = min(closing(tokens, at), end)
            return list(self.block(at + 1, close)), close + 1
        if first.text in ("if", "for", "while", "switch"):
            return self._with_condition(at, end, bare)
        if first.text == "do":
            block, body, behind = self._branch(at + 1, end)
            after = self._to_semicolon(behind, end)
            return [self._made(at, at + 1, after, (block,), bare, (body,))], after
        if first.text == "try":
            return list(self.block(at + 2, min(closing(tokens, at + 1), end))), min(closing(tokens, at + 1), end) + 1
        if first.text == "catch":
            return [], min(closing(tokens, min(closing(tokens, at + 1) + 1, end)), end) + 1
        after = self._to_semicolon(at, end)
        return [self._made(at, after, after, (), bare)], after

    def _with_condition(self, at: int, end: int, bare: bool) -> tuple[list[Statement], int]:
        tokens, index = self._tokens, at + 1
        if tokens_at(tokens, index).text == "constexpr":
            index += 1
        if tokens_at(tokens, index).text != "(":
            after = self._to_semicolon(at, end)
            return [self._made(at, after, after, (), bare)], after
        head = min(closing(tokens, index), end) + 1
        block, body, behind = self._branch(head, end)
        blocks, bodies = [block], [body]
        if tokens[at].text == "if" and behind < end and tokens[behind].text == "else":
            other, body, behind = self._branch(behind + 1, end)
            blocks.append(other)
            bodies.append(body)
        return [self._made(at, head, behind, tuple(blocks), bare, tuple(bodies))], behind

    def _branch(self, at: int, end: int) -> tuple[tuple[Statement, ...], int, int]:
        """The block that begins here, where its first probe is put (-1 where it has no braces), and the index behind it."""
        tokens = self._tokens
        while at < end and tokens[at].kind is Kind.DIRECTIVE:
            at += 1
        if at >= end or tokens[at].text == ";":
            return (), -1, at + 1
        if tokens[at].text == "{":
            made, behind = self._statement(at, end)
            return tuple(made), tokens[at].end, behind
        made, behind = self._statement(at, end, bare=True)
        return tuple(made), -1, behind

    def _to_semicolon(self, at: int, end: int) -> int:
        tokens = self._tokens
        while at < end and tokens[at].text != ";":
            at = (min(closing(tokens, at), end) if tokens[at].text in ("(", "[", "{") else at) + 1
        return min(at + 1, end)

    def _made(
        self,
        at: int,
        head: int,
        after: int,
        blocks: tuple[tuple[Statement, ...], ...],
        bare: bool,
        bodies: tuple[int, ...] = (),
    ) -> Statement:
        words = tuple(t.text for t in self._tokens[at:head] if t.kind is not Kind.DIRECTIVE)
        first, last = self._tokens[at], self._tokens[min(after, len(self._tokens)) - 1]
        return Statement(first.line, first.start, last.end, words, blocks, bare, bodies)


def tokens_at(tokens: tuple[Token, ...], at: int) -> Token:
    """The token at an index, the last one behind the end."""
    return tokens[min(at, len(tokens) - 1)]
