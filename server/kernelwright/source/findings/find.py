"""All findings of a document. What one definition gives is remembered by its text, so that typing costs one definition."""

import ast
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kernelwright.source.document import Document
from kernelwright.source.findings.rule import Change, Finding, Fix, Problem, Rule
from kernelwright.source.findings.rules import for_language
from kernelwright.source.findings.scope import TooMuchWork
from kernelwright.source.findings.sizes import Shapes, Sizes, shapes_of
from kernelwright.source.findings.units import REFERENCE, Summary, summaries_of, torch_unit, triton_unit
from kernelwright.source.imports import Aliases, aliases_of
from kernelwright.source.pieces import around
from kernelwright.source.trees import extent
from kernelwright.values import Edits, Kernel, Language, TextEdit, line_starts

Point = tuple[int, int]  # line from 0, column in utf-8 bytes
Constants = tuple[tuple[str, int], ...]


class _Place(NamedTuple):
    """A place in a segment, in code points."""

    offset: int
    line: int
    column: int


@dataclass(frozen=True)
class _Local:
    """A finding in terms of one segment, so that it holds wherever the segment moves to."""

    rule: Rule
    segment: int
    message: str
    start: _Place
    end: _Place
    fix: str
    edits: tuple[tuple[_Place, _Place, str], ...]
    line: int | None = None  # of what the message speaks of


def find_findings(
    document: Document, kernels: tuple[Kernel, ...] = (), sizes: Sizes | None = None, lines: range | None = None
) -> tuple[Finding, ...]:
    """The findings of every kernel, in order of the text.

    `sizes` are the evaluated performance calls of the workloads, by the name of the function called; the findings that
    need them stay away without. `kernels` give the findings their kernel's name and say which functions are PyTorch
    kernels. With `lines` (from 0) only the definitions around them, and those that these launch or are launched by, are
    looked at: all findings on the lines, and some more. Never raises on half-typed code.
    """
    segments = document.pieces
    aliases = aliases_of(document)
    summaries = summaries_of(segments, aliases)
    constants = dict(constant for found in summaries if found.constants for constant in found.constants)
    near = range(len(segments)) if lines is None else around(segments, lines)
    kernels_near = frozenset(name for i in near for name in (*summaries[i].launched, *dict(summaries[i].kernels)))
    launchers: dict[str, list[int]] = {}
    for index, found in enumerate(summaries):
        for name in kernels_near & found.launched if found.launched else ():
            launchers.setdefault(name, []).append(index)
    jit = {name: index for index, found in enumerate(summaries) for name, _ in found.kernels}
    hot = frozenset(k.name for k in kernels if k.language is Language.TORCH and not (jit and REFERENCE.search(k.name)))
    eval_only = _runs_in_eval_only(document)
    findings: list[Finding] = []
    for index, found in enumerate(summaries):
        for name, line in found.kernels:
            if name not in kernels_near:
                continue
            where = (index, *(i for i in launchers.get(name, ()) if i != index))
            texts = tuple(segments[i].text for i in where)
            shapes = shapes_of(sizes or {}, frozenset().union(*(summaries[i].functions for i in where)))
            helpers = tuple(segments[i].text for i in _called(index, summaries, jit))
            local = _triton(texts, name, line, aliases, _used(constants, texts), shapes, helpers)
            findings += _placed(document, where, local, name)
        for name, line in found.torch if index in near else ():
            text = segments[index].text
            local = _torch(text, name, line, name in hot, eval_only, aliases, _used(constants, (text,)))
            findings += _placed(document, (index,), local, name)
    return tuple(sorted({_key(f): f for f in findings}.values(), key=lambda f: (f.start, f.end, f.code)))


def _called(index: int, summaries: Sequence[Summary], jit: Mapping[str, int]) -> list[int]:
    """Find the segments of the device functions that a segment's kernels call, directly or not."""
    found: dict[int, None] = {}
    waiting = [index]
    while waiting:
        for at in sorted({jit[name] for name in summaries[waiting.pop()].called & jit.keys()} - found.keys()):
            found[at] = None
            waiting.append(at)
    return list(found)


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.start, finding.end


def _used(constants: Mapping[str, int], texts: tuple[str, ...]) -> Constants:
    """Only the constants that the texts may mention: another one's change must not cost anything."""
    return tuple(item for item in constants.items() if any(item[0] in text for text in texts))


def _runs_in_eval_only(document: Document) -> bool:
    source = document.source
    return b".eval()" in source and not any(w in source for w in (b".train(", b".backward(", b".step()"))


@functools.lru_cache(maxsize=512)
def _triton(
    texts: tuple[str, ...],
    name: str,
    line: int,
    aliases: Aliases,
    constants: Constants,
    shapes: Shapes,
    helpers: tuple[str, ...],
) -> tuple[_Local, ...]:
    unit = triton_unit(texts, name, line, aliases, dict(constants), dict(shapes), helpers)
    return () if unit is None else _checked(Language.TRITON, unit, texts)


@functools.lru_cache(maxsize=512)
def _torch(
    text: str, name: str, line: int, hot: bool, eval_only: bool, aliases: Aliases, constants: Constants
) -> tuple[_Local, ...]:
    unit = torch_unit(text, name, line, hot, eval_only, aliases, dict(constants))
    return () if unit is None else _checked(Language.TORCH, unit, (text,))


def _checked(language: Language, unit: object, texts: tuple[str, ...]) -> tuple[_Local, ...]:
    problems = ((rule, problem) for rule in for_language(language) for problem in _problems(rule, unit))
    return tuple(_local(rule, problem, texts[problem.segment]) for rule, problem in problems)


def _problems(rule: Rule, unit: object) -> Iterable[Problem]:
    """A rule that runs out of stack or steps on absurdly tangled code has nothing to say."""
    try:
        return tuple(rule.check(unit))
    except (RecursionError, TooMuchWork):
        return ()


def _local(rule: Rule, problem: Problem, text: str) -> _Local:
    start, end = (_place(text, point) for point in _ends(problem.node))
    spans = ((*_span(change), change.new_text) for change in problem.changes)
    edits = tuple((_place(text, first), _place(text, last), new_text) for first, last, new_text in spans)
    line = None if problem.line_of is None else _ends(problem.line_of)[0][0]
    return _Local(rule, problem.segment, problem.message, start, end, problem.fix if edits else "", edits, line)


def _place(text: str, point: Point) -> _Place:
    line, size = point
    start = line_starts(text)[line]
    column = len(text[start : start + size].encode()[:size].decode("utf-8", "replace"))
    return _Place(start + column, line, column)


def _span(change: Change) -> tuple[Point, Point]:
    start, end = _ends(change.node)
    if change.after:
        return end, end
    return start, _ends(change.until)[1] if change.until is not None else end


def _ends(node: ast.AST) -> tuple[Point, Point]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):  # its name is the place, not its whole body
        column = node.col_offset + (4 if isinstance(node, ast.FunctionDef) else 6)
        return (node.lineno - 1, column), (node.lineno - 1, column + len(node.name.encode()))
    first, column, last, end = extent(node)
    return (first - 1, column), (last - 1, end)


def _placed(document: Document, where: tuple[int, ...], local: tuple[_Local, ...], kernel: str) -> Iterable[Finding]:
    for item in local:
        number, start, end = where[item.segment], item.start, item.end
        line, offset = document.pieces[number].line, document.offsets[number]
        edits = tuple(TextEdit(offset + a.offset, offset + b.offset, text) for a, b, text in item.edits)
        told = item.message if item.line is None else item.message.replace("{line}", str(line + item.line + 1))
        yield Finding(
            item.rule.code,
            item.rule.severity,
            told,
            offset + start.offset,
            offset + end.offset,
            line + start.line,
            start.column,
            line + end.line,
            end.column,
            Fix(item.fix, Edits(document.hash, edits, item.fix)) if edits else None,
            kernel,
        )
