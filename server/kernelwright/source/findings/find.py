"""All findings of a document. What one definition gives is remembered by its text, so that typing costs one definition."""

import ast
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelwright.source.document import Document
from kernelwright.source.findings.rule import Change, Finding, Fix, Problem, Rule
from kernelwright.source.findings.rules import for_language
from kernelwright.source.findings.scope import TooMuchWork
from kernelwright.source.findings.segments import Segment, split
from kernelwright.source.findings.sizes import Shapes, Sizes, shapes_of
from kernelwright.source.findings.units import summary, torch_unit, triton_unit
from kernelwright.source.imports import Aliases, aliases_of
from kernelwright.values import Edits, Kernel, Language, TextEdit, digest

Place = tuple[int, int]  # line and column in utf-8 bytes, both from 0, in a segment
Constants = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class _Local:
    """A finding in terms of one segment, so that it holds wherever the segment moves to."""

    rule: Rule
    segment: int
    message: str
    start: Place
    end: Place
    fix: str
    edits: tuple[tuple[Place, Place, str], ...]


def find_findings(
    document: Document, kernels: tuple[Kernel, ...] = (), sizes: Sizes | None = None
) -> tuple[Finding, ...]:
    """The findings of every kernel, in order of the text.

    `sizes` are the evaluated performance calls of the workloads, by the name of the function called; the findings that
    need them stay away without. `kernels` give the findings their kernel's name and say which functions are PyTorch
    kernels. Never raises on half-typed code.
    """
    segments, constants = split(document)
    aliases = aliases_of(document)
    summaries = [summary(segment.text, aliases) for segment in segments]
    launchers: dict[str, list[int]] = {}
    for index, found in enumerate(summaries):
        for name in found.launched:
            launchers.setdefault(name, []).append(index)
    hot = frozenset(k.name for k in kernels if k.language is Language.TORCH)
    eval_only = _runs_in_eval_only(document)
    findings: list[Finding] = []
    for index, (segment, found) in enumerate(zip(segments, summaries, strict=True)):
        for name, line in found.kernels:
            where = (index, *(i for i in launchers.get(name, ()) if i != index))
            texts = tuple(segments[i].text for i in where)
            local = _triton(texts, name, line, aliases, _used(constants, texts), shapes_of(sizes))
            findings += _placed(document, tuple(segments[i] for i in where), local, name)
        for name, line in found.torch:
            local = _torch(segment.text, name, line, name in hot, eval_only, aliases, _used(constants, (segment.text,)))
            findings += _placed(document, (segment,), local, name)
    return tuple(sorted({_key(f): f for f in findings}.values(), key=lambda f: (f.start, f.end, f.code)))


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.start, finding.end


def _used(constants: Mapping[str, int], texts: tuple[str, ...]) -> Constants:
    """Only the constants that the texts may mention: another one's change must not cost anything."""
    return tuple(item for item in constants.items() if any(item[0] in text for text in texts))


def _runs_in_eval_only(document: Document) -> bool:
    source = document.source
    return b".eval()" in source and not any(w in source for w in (b".train(", b".backward(", b".step()"))


@functools.lru_cache(maxsize=2048)
def _triton(
    texts: tuple[str, ...], name: str, line: int, aliases: Aliases, constants: Constants, shapes: Shapes
) -> tuple[_Local, ...]:
    unit = triton_unit(texts, name, line, aliases, dict(constants), dict(shapes))
    return () if unit is None else _checked(Language.TRITON, unit, texts)


@functools.lru_cache(maxsize=2048)
def _torch(
    text: str, name: str, line: int, hot: bool, eval_only: bool, aliases: Aliases, constants: Constants
) -> tuple[_Local, ...]:
    unit = torch_unit(text, name, line, hot, eval_only, aliases, dict(constants))
    return () if unit is None else _checked(Language.TORCH, unit, (text,))


def _checked(language: Language, unit: object, texts: tuple[str, ...]) -> tuple[_Local, ...]:
    return tuple(_local(rule, problem) for rule in for_language(language) for problem in _problems(rule, unit))


def _problems(rule: Rule, unit: object) -> Iterable[Problem]:
    """A rule that runs out of stack or steps on absurdly tangled code has nothing to say."""
    try:
        return tuple(rule.check(unit))
    except (RecursionError, TooMuchWork):
        return ()


def _local(rule: Rule, problem: Problem) -> _Local:
    edits = tuple((*_span(change), change.new_text) for change in problem.changes)
    return _Local(rule, problem.segment, problem.message, *_ends(problem.node), problem.fix if edits else "", edits)


def _span(change: Change) -> tuple[Place, Place]:
    start, end = _ends(change.node)
    if change.after:
        return end, end
    return start, _ends(change.until)[1] if change.until is not None else end


def _ends(node: ast.AST) -> tuple[Place, Place]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):  # its name is the place, not its whole body
        column = node.col_offset + (4 if isinstance(node, ast.FunctionDef) else 6)
        return (node.lineno - 1, column), (node.lineno - 1, column + len(node.name.encode()))
    return (node.lineno - 1, node.col_offset), (node.end_lineno - 1, node.end_col_offset)


def _placed(
    document: Document, segments: tuple[Segment, ...], local: tuple[_Local, ...], kernel: str
) -> Iterable[Finding]:
    for item in local:
        segment = segments[item.segment]
        start, start_line, start_column = _position(document, segment, item.start)
        end, end_line, end_column = _position(document, segment, item.end)
        edits = tuple(
            TextEdit(_position(document, segment, a)[0], _position(document, segment, b)[0], text)
            for a, b, text in item.edits
        )
        fix = Fix(item.fix, Edits(digest(document.text), edits, item.fix)) if edits else None
        rule = item.rule
        yield Finding(
            rule.code,
            rule.severity,
            item.message,
            start,
            end,
            start_line,
            start_column,
            end_line,
            end_column,
            fix,
            kernel,
        )


def _position(document: Document, segment: Segment, place: Place) -> tuple[int, int, int]:
    """Offset, line and column in code points of the whole text."""
    line, column = place
    source = document.source
    start = segment.start
    for _ in range(line):
        start = source.index(b"\n", start) + 1
    if len(source) == len(document.text):  # one byte a character: nothing to count
        return start + column, segment.line + line, column
    before = len(source[:start].decode("utf-8", "surrogatepass"))
    columns = len(source[start : start + column].decode("utf-8", "replace"))
    return before + columns, segment.line + line, columns
