"""A CUDA text as C++ for the emulator: launches and shared memory become calls, statements get probes, and lines stay."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kernelwright.proof.worker.toolchain.unsupported import LIBRARY_HEADERS
from kernelwright.source.cpp import Field, Function, functions_of, structures_of
from kernelwright.source.cpp.instances import instances_of
from kernelwright.source.cpp.statements import Statement, statements_of
from kernelwright.source.cpp.structures import paths
from kernelwright.source.cpp.tokens import Kind, Token, closing, closing_angle, tokens_of

_INCLUDE = re.compile(r"#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]")
_SIZES = ("gridDim", "blockDim")
_AFTER_A_NAME = (["["], [";"], [","])
_SPECIFIERS = frozenset(("static", "extern", "__shared__", "inline"))


@dataclass(frozen=True)
class Edit:
    """`new` in place of what lies from `start` to `end`."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Translated:
    """A text with the `edits` that made it, in the order of their places in the user's text."""

    text: str
    edits: tuple[Edit, ...]

    def column(self, original: str, line: int, column: int) -> int:
        """The column of the user's text for one of the translated text, both from 0. What an edit wrote has its column."""
        start = _line_start(original, line)
        shift = 0
        for edit in self.edits:
            if edit.start < start or edit.start - start + shift > column:
                continue
            if "\n" in original[start : edit.start]:
                break
            if edit.start - start + shift + len(edit.new) > column:
                return edit.start - start
            shift += len(edit.new) - (edit.end - edit.start)
        return max(column - shift, 0)


@dataclass(frozen=True)
class Entry:
    """A function that a workload line can call; of a template what it is instantiated with."""

    function: Function
    template: str = ""


def entries_of(text: str) -> tuple[Entry, ...]:
    """The kernels and host functions that a workload line can call, in the order of their numbers."""
    functions = functions_of(text)
    templates = {one.name: one for one in functions if one.is_kernel and one.template and not one.overloaded}
    instances = (Entry(templates[name], given) for name, given in instances_of(text) if name in templates)
    return (*(Entry(one) for one in functions if one.can_be_entry), *instances)


def with_entries(text: str) -> Translated:
    """The text with its entries registered, and nothing else changed: for nvcc."""
    return _edited(text, list(_entries(text)))


def translated(text: str, includes: Mapping[str, str] = MappingProxyType({}), *, probes: bool = True) -> Translated:
    """The text for the emulator, with the files that `includes` names in place of the headers that it includes.

    Without `probes` launches are named with their template arguments.
    """
    edits = [*_changed(text, includes, whole_names=not probes), *_entries(text)]
    return _edited(text, [*(_probes(text) if probes else ()), *edits])


def header(text: str, includes: Mapping[str, str]) -> Translated:
    """A header for the emulator: what it defines is no entry, and gets no probes."""
    return _edited(text, list(_changed(text, includes)))


def _changed(text: str, includes: Mapping[str, str], *, whole_names: bool = False) -> Iterator[Edit]:
    yield from _included(text, includes)
    yield from _members(text)
    yield from _launches(text, whole_names=whole_names)
    yield from _shared(text)


def probed(text: str) -> tuple[tuple[Function, tuple[Statement, ...]], ...]:
    """The functions that get probes, with their statements; those of what may be computed by the compiler get none."""
    tokens = tokens_of(text)
    return tuple((one, statements_of(tokens, one.tokens)) for one in functions_of(text) if _is_probed(one))


def numbered(text: str) -> tuple[Statement, ...]:
    """All statements that get probes, in the order of their numbers."""
    return tuple(inner for _, body in probed(text) for one in body for inner in one.walk())


def _is_probed(function: Function) -> bool:
    return "constexpr" not in function.qualifiers


def _edited(text: str, edits: list[Edit]) -> Translated:
    """Edits that begin at one place keep their order; one that lies within another is left out."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    made, kept, at = list[str](), list[Edit](), 0
    for edit in ordered:
        if edit.start < at:
            continue
        made += (text[at : edit.start], edit.new)
        kept.append(edit)
        at = edit.end
    return Translated("".join((*made, text[at:])), tuple(kept))


def _included(text: str, includes: Mapping[str, str]) -> Iterator[Edit]:
    """Other files in place of headers, and nothing in place of those of libraries that the emulator lacks."""
    for token in tokens_of(text):
        found = _INCLUDE.match(token.text) if token.kind is Kind.DIRECTIVE else None
        if found is not None and found[1] in includes:
            yield Edit(token.start, token.start + found.end(), f'#include "{includes[found[1]]}"')
        elif found is not None and LIBRARY_HEADERS.match(found[1]):
            yield Edit(token.start, token.start + found.end(), "")


def _members(text: str) -> Iterator[Edit]:
    """Members, and what host code declares, that are called as a kernel's variables are: these are macros in the emulator."""
    tokens = tokens_of(text)
    if not any(token.text in _SIZES for token in tokens):
        return
    host = [one.tokens for one in functions_of(text) if one.on_host and not one.on_device]
    for index, token in enumerate(tokens[1:], 1):
        if token.text in _SIZES and (
            tokens[index - 1].text in (".", "->") or any(opens < index < closes for opens, closes in host)
        ):
            yield Edit(token.start, token.end, f"kw_{token.text}")


def _entries(text: str) -> Iterator[Edit]:
    for number, entry in enumerate(entries_of(text)):
        one, name = entry.function, entry.function.name
        given = f"<{entry.template}>" if entry.template else ""
        # A kernel may have its name from a function of the host that launches it.
        taken = ", ".join(parameter.type for parameter in one.parameters)
        place = f"static_cast<void (*)({taken})>(&{name})" if one.alike else f"&{name}{given}"
        new = f' static const kw::Entry kw_entry_{number}({number}, {place}, "{name}", {int(one.is_kernel)});'
        yield Edit(one.end, one.end, new + "".join(_structures(number, entry, structures_of(text))))


def _structures(number: int, entry: Entry, structures: Mapping[str, Sequence[Field]]) -> Iterator[str]:
    """What has the compiler say where the fields of an entry's structures lie; not of those that hang on a template."""
    for place, parameter in enumerate(entry.function.parameters):
        kind = " ".join(word for word in parameter.type.split() if word not in ("const", "&"))
        fields = list(paths(structures, parameter.type))
        if fields:
            told = ", ".join(
                f'{{"{path}", __builtin_offsetof({kind}, {path}), kw::field<decltype((({kind}*)0)->{path})>()}}'
                for path, _ in fields
            )
            yield f" static const kw::Structure<{kind}> kw_structure_{number}_{place}({number}, {place}, {{{told}}});"


def _probes(text: str) -> Iterator[Edit]:
    numbers = itertools.count()
    for _, body in probed(text):
        for one in body:
            yield from _probe(one, numbers)


def _probe(one: Statement, numbers: Iterator[int]) -> Iterator[Edit]:
    number = next(numbers)
    opens = f"kw::at({number}); "
    if one.is_loop:
        opens += f"{{ kw::Turns kw_turns_{number}({number}); "
    yield Edit(one.start, one.start, ("{ " if one.bare else "") + opens)
    for block, body in zip(one.blocks, one.bodies, strict=True):
        turn = f"kw_turns_{number}.turn(); " if one.is_loop else ""
        if turn and body >= 0:
            yield Edit(body, body, f" {turn}")
        elif turn and block:
            yield Edit(block[0].start, block[0].start, f"{{ {turn}")
        for inner in block:
            yield from _probe(inner, numbers)
        if turn and block and body < 0:
            yield Edit(block[-1].end, block[-1].end, " }")
    closes = " }" * (one.is_loop + one.bare)
    if closes:
        yield Edit(one.end, one.end, closes)


def _launches(text: str, *, whole_names: bool) -> Iterator[Edit]:
    tokens = tokens_of(text)
    for index, token in enumerate(tokens):
        if token.text != "<<<" or not index:
            continue
        close = _launch_end(tokens, index + 1)
        if close is None or close + 3 >= len(tokens) or tokens[close + 3].text != "(":
            continue
        first = _callee(tokens, index - 1)
        name = " ".join(text[tokens[first].start : tokens[index - 1].end].split())
        config = text[token.end : tokens[close].start]
        short = name if whole_names else tokens[first if tokens[index - 1].text == ">" else index - 1].text
        empty = closing(tokens, close + 3) == close + 4
        call = f'kw::Launch("{short}", {token.line + 1}, {config}).run([=](auto&&... kw_a) {{ {name}(kw_a...); }}'
        yield Edit(tokens[first].start, tokens[close + 3].end, call + ("" if empty else ", "))
        for one in tokens[close + 4 : closing(tokens, close + 3)]:
            if one.text == "NULL":  # which is passed on as a number
                yield Edit(one.start, one.end, "nullptr")


def _launch_end(tokens: tuple[Token, ...], at: int) -> int | None:
    """The index of the first of the three signs that close a launch's configuration."""
    while at + 2 < len(tokens):
        if tokens[at].text in ("(", "[", "{"):
            at = closing(tokens, at)
        elif tokens[at].text == ";":
            return None
        elif all(tokens[at + i].text == ">" and tokens[at + i].start == tokens[at].start + i for i in range(3)):
            return at
        at += 1
    return None


def _callee(tokens: tuple[Token, ...], at: int) -> int:
    """The index where the name that ends at index `at` begins, with its template arguments and namespaces."""
    if tokens[at].text == ">":
        depth, index = 0, at
        while index > 0:
            depth += {">": 1, "<": -1}.get(tokens[index].text, 0)
            if not depth:
                break
            index -= 1
        at = index - 1
    while at >= 2 and tokens[at - 1].text == "::" and tokens[at - 2].kind is Kind.WORD:
        at -= 2
    return at - 1 if at and tokens[at - 1].text == "::" else at


def _shared(text: str) -> Iterator[Edit]:
    tokens, numbers = tokens_of(text), itertools.count()
    starts = [one.tokens for one in functions_of(text)]
    for index, token in enumerate(tokens):
        if token.text != "__shared__":
            continue
        first = index
        # In `float __shared__ tile[4];` the type stands in front.
        behind = [one.text for one in tokens[index + 2 : index + 3]]
        while first and (
            tokens[first - 1].text in _SPECIFIERS or (behind in _AFTER_A_NAME and tokens[first - 1].kind is Kind.WORD)
        ):
            first -= 1
        end = _semicolon(tokens, index)
        inside = any(opens < index < closes for opens, closes in starts)
        made = _declared(text, tokens, first, end, numbers, inside=inside)
        if made is not None:
            lines = "\n" * text.count("\n", tokens[first].start, tokens[end].end)
            yield Edit(tokens[first].start, tokens[end].end, made + lines)


def _semicolon(tokens: tuple[Token, ...], at: int) -> int:
    while at + 1 < len(tokens) and tokens[at].text != ";":
        at = closing(tokens, at) + 1 if tokens[at].text in ("(", "[", "{") else at + 1
    return min(at, len(tokens) - 1)


def _declared(
    text: str, tokens: tuple[Token, ...], first: int, end: int, numbers: Iterator[int], *, inside: bool
) -> str | None:
    """What stands in place of a declaration of shared memory; None for one that is not understood."""
    dynamic = any(tokens[i].text == "extern" for i in range(first, end))
    part, parts, index = list[int](), list[list[int]](), first
    while index < end:
        word = tokens[index].text
        if word in _SPECIFIERS:
            index += 1
            continue
        if word in ("__align__", "alignas", "__attribute__"):
            index = closing(tokens, index + 1) + 1
            continue
        if word == "{" or word == "=":
            return None
        close = index
        if word in ("(", "["):
            close = closing(tokens, index)
        elif word == "<":
            close = closing_angle(tokens, index) or index
        if word == ",":
            parts.append(part)
            part = []
        else:
            part += range(index, close + 1)
        index = close + 1
    parts.append(part)
    base, made = "", list[str]()
    for one in parts:
        opening = next((place for place, i in enumerate(one) if tokens[i].text == "[" and place), len(one))
        if not opening or tokens[one[opening - 1]].kind is not Kind.WORD:
            return None
        name = tokens[one[opening - 1]].text
        if not base:
            base = " ".join(tokens[i].text for i in one[: opening - 1])
        dims = text[tokens[one[opening]].start : tokens[one[-1]].end] if opening < len(one) else ""
        dims = " ".join(dims.split())
        line, number = tokens[first].line + 1, next(numbers)
        if dynamic:
            if not inside:
                made.append(f"static kw::Dynamic<{base}> {name};")
                continue
            rows = dims.partition("]")[2].strip()  # of `tiles[][64 + 4]`
            kind, held = (f"{base}(*){rows}", f"{base} (*{name}){rows}") if rows else (f"{base}*", f"{base}* {name}")
            made.append(f'{held} = ({kind})kw::dynamic_shared("{name}", sizeof({base}));')
            continue
        size = f"sizeof({base}{dims})"
        at = f'kw::shared(&kw_shared_{number}, {size}, "{name}", sizeof({base}), {line})'
        made.append(f"static char kw_shared_{number}; {base} (&{name}){dims} = *({base}(*){dims}){at};")
    return " ".join(made)


def _line_start(text: str, line: int) -> int:
    starts = [0, *(i + 1 for i, sign in enumerate(text) if sign == "\n")]
    return starts[min(line, len(starts) - 1)]
