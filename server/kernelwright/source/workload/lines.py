"""Workload lines of any language: comments that stand on lines of their own and read as calls with generators."""

import functools
import math
import re
from collections.abc import Iterable

from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.values import Case, Refusal, Workload, WorkloadSource

_MOST_LINES = 4
_ENTRY = re.compile(r"([^\W\d]\w*)[ \t]*(?:\.[ \t]*apply[ \t]*)?(?:[(\[]|(?:<[^<>()]*>[ \t]*)?<<<)")


def lines_of(text: str, tokens: re.Pattern[str], comment: str) -> tuple[Case, ...]:
    """Finds the workload lines of a text, right or wrong, in order; lines count from 0.

    `tokens` matches each string and each comment as a whole, `comment` is what begins one that ends with its line.
    """
    if "workload" not in text:
        return ()
    cases: list[Case] = []
    pattern, line, counted = _line(comment), 0, 0
    for token in tokens.finditer(text):
        match = pattern.match(token.group())
        if match is None:
            continue
        start = text.rfind("\n", 0, token.start()) + 1
        if text[start : token.start()].strip(" \t\r\f\v\ufeff"):
            continue
        line += text.count("\n", counted, start)
        counted = start
        call = match.group(1).rstrip(" \t\r")
        if "'" not in call and '"' not in call:
            call = call.partition(comment)[0].rstrip()
        cases.append(Case(line, token.start() - start + match.start(1), call))
    return tuple(cases)


def by_entry(cases: tuple[Case, ...]) -> dict[str, tuple[Case, ...]]:
    """Groups workload lines by the name that they call, both in order; what does not read as a call is left out."""
    return grouped((entry_of(case.text), case) for case in cases)


def grouped(called: Iterable[tuple[str, Case]]) -> dict[str, tuple[Case, ...]]:
    """Groups workload lines by the names that come with them; one with "" is left out."""
    found: dict[str, tuple[Case, ...]] = {}
    for entry, case in called:
        if entry:
            found[entry] = (*found[entry], case) if entry in found else (case,)
    return found


def workload_of_lines(entry: str, cases: tuple[Case, ...]) -> Workload | Refusal:
    """The workload of the lines that call `entry`; a Refusal for the first one that cannot be evaluated."""
    for case in cases:
        try:
            evaluate(case.text)
        except WorkloadError as error:
            return Refusal(f"The workload on line {case.line + 1} cannot be used: {error.message}", case.line)
    return Workload(WorkloadSource.LINES, entry, cases)


def few_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Of calls as workload lines those to keep: the largest ones, the largest first, and the smallest."""
    largest_first = sorted(lines, key=lambda line: -_elements(line))
    return tuple(
        largest_first if len(largest_first) <= _MOST_LINES else [*largest_first[: _MOST_LINES - 1], largest_first[-1]]
    )


def _elements(line: str) -> int:
    call = evaluate(line)
    return sum(math.prod(getattr(v, "shape", (0,))) for v in (*call.args, *call.named.values()))


@functools.cache
def _line(comment: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(comment)}[ \t]*workload[ \t]*:[ \t]*(.*)")


@functools.lru_cache(maxsize=8192)
def entry_of(line: str) -> str:
    """The name that a workload line calls, "" where it does not read as a call."""
    match = _ENTRY.match(line)
    return match[1] if match else ""
