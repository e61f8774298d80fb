"""A CUDA text as the pieces that its top level is cut into, so that one changed character costs reading one of them again.

Cut from the text alone, by brackets and semicolons: where a syntax tree of the whole file would change everywhere after a
brace is typed, here the piece that holds it ends where the next definition begins in the first column.
"""

import bisect
import re

from kernelwright.source.pieces import Cut, Cuts, Pieces, Shared, recut

_SKIPPED = (
    rb"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|(?:\bu8|\b[uUL])?\bR\"(?P<d>[^()\\\s]{0,16})\([\s\S]*?(?:\)(?P=d)\"|\Z)"
    rb"|\"(?:\\[\s\S]|[^\"\\\n])*\"?|(?<![0-9a-fA-F])'(?:\\[\s\S]|[^'\\\n])*'?"
)
_OUTSIDE = re.compile(_SKIPPED + rb"|[#;(){}\[\]]|\n(?=[A-Za-z_])")
_INSIDE = re.compile(_SKIPPED + rb"|[#{}]|\n(?=[A-Za-z_])")
_DIRECTIVE = re.compile(rb"(?:/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?|\\\r?\n|[^\n])*\n?")
_CONDITION = re.compile(rb"#[ \t]*(if|el|endif)")
_BLANK = re.compile(rb"(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*")
_REST = re.compile(rb"(?:[ \t]|/\*(?:[^*\n]|\*(?!/))*\*/)*(?://[^\n]*)?(?:\r?\n)?")
_HOLDER = re.compile(rb"(?:\bnamespace\b[\w\s:]*|\bextern\s*\"C(?:\+\+)?\"\s*)\Z")
_TYPE = re.compile(rb"(?:template\s*<[^;{}()]*>\s*)?(?:typedef|struct|class|union|enum)\b")
_DECLARED = re.compile(rb"[\w\s,*&\[\]]{0,200};")
_KERNEL = re.compile(rb"(?:extern[ \t]{1,8}\"C\"[ \t]{1,8})?(?:static[ \t]{1,8})?__global__\b")
_DEFINITION = re.compile(
    rb"(?:template\b|namespace\b|__device__\b|__host__\b|__constant__\b|extern\b|static\b)|"
    rb"(?!(?:else|if|for|while|switch|do|return|case)\b)[A-Za-z_][\w:<>,]{0,100}[ \t*&]{1,20}[A-Za-z_][\w:<>,*& \t]{0,200}"
    rb"\([^;{}]{0,1000}\)\s{0,80}\{"
)
_FAR = 1600  # bytes, as many as it takes to see whether a definition begins


_NEAR = 8  # bytes, of a change that moves what stands behind it


def cut(source: bytes) -> Pieces:
    """The definitions and directives at top level in order, each with what stands before it; together they are the text.

    What opens and closes a namespace is a piece of its own, and so is each line of a condition of the preprocessor.
    """
    return _cut(source).pieces


def again(source: bytes, before: Cut, shared: Shared) -> Cut:
    """The text as pieces, from those of an earlier one."""
    piece = lambda start: _same(source, start, before) or _piece(source, start)
    return Cut(source, *recut(source, before, shared, piece, stripped=False))


_cut = Cuts(again)


def _same(source: bytes, start: int, before: Cut) -> tuple[int, int] | None:
    """The piece that begins at `start`, from one near that place in an earlier text which all that it follows from is like.

    It stands between two changes: a key is taken back, and the next one falls elsewhere.
    """
    starts = before.pieces.starts
    first = bisect.bisect_left(starts, start - _NEAR)
    for old in range(first, bisect.bisect_right(starts, start + _NEAR)):
        begin, reach = starts[old], before.reaches[old]
        if reach <= len(before.source) and source.startswith(before.source[begin:reach], start):
            return start + len(before.pieces.sources[old]), start + reach - begin
    return None


def _piece(source: bytes, start: int) -> tuple[int, int]:
    """Where the piece that begins at `start` ends, and how far that follows from the text."""
    begin = first_code(source, start)
    at, braces, brackets, looked = start, 0, 0, 0
    conditions: list[tuple[int, int]] = []
    while (token := (_INSIDE if braces else _OUTSIDE).search(source, at)) is not None:
        sign, place, at = token[0], token.start(), token.end()
        if sign == b"#":
            if source[max(start, source.rfind(b"\n", start, place) + 1) : place].strip():
                continue
            at = _end(_DIRECTIVE, source, place)
            if place == begin:
                return at, _reach(source, at)
            condition = _CONDITION.match(source, place)
            if condition is not None and condition[1] == b"if":
                conditions.append((braces, brackets))
            elif condition is not None and condition[1] == b"el":
                braces, brackets = conditions[-1] if conditions else (0, 0)
            elif condition is not None and conditions:
                conditions.pop()
        elif sign == b"\n":
            if (braces or brackets) and place > begin:
                looked = at + _FAR
                if _begins(source, at, begin):
                    return at, max(looked, _reach(source, at))
        elif sign in b"([":
            brackets += 1
        elif sign in b")]":
            brackets = max(brackets - 1, 0)
        elif sign == b"{":
            if not braces and not brackets and _HOLDER.search(source, begin, place):
                return at, max(looked, _reach(source, at))
            braces += 1
        elif sign == b";" or (sign == b"}" and braces < 2 and not _goes_on(source, begin, at, brackets)):
            if sign == b"}" or not brackets:
                end = _end(_REST, source, at)
                return end, max(looked, _reach(source, at))
        elif sign == b"}":
            braces -= 1
    return len(source), len(source) + 1


def first_code(source: bytes, start: int) -> int:
    """Where the first piece of code after `start` begins."""
    return _end(_BLANK, source, start)


def _end(pattern: re.Pattern[bytes], source: bytes, start: int) -> int:
    found = pattern.match(source, start)
    return found.end() if found is not None else start


def _begins(source: bytes, place: int, begin: int) -> bool:
    """Whether a definition begins at the beginning of a line, though something before it is open still."""
    if _KERNEL.match(source, place):
        return True
    return _DEFINITION.match(source, place) is not None and _TYPE.match(source, begin) is None


def _goes_on(source: bytes, begin: int, place: int, brackets: int) -> bool:
    """Whether what a brace has closed is no end: an initialiser, a body of a type, an argument."""
    following = first_code(source, place)
    if brackets or source[following : following + 1] in (b";", b",", b"{"):
        return True
    return _TYPE.match(source, begin) is not None and _DECLARED.match(source, following) is not None


def _reach(source: bytes, end: int) -> int:
    """Up to where a text was read to know that something ends: the line of what comes next, and a little more."""
    following = first_code(source, end)
    line = source.find(b"\n", following + 220)
    return line + 1 if line >= 0 and source[following : following + 2] != b"/*" else len(source) + 1
