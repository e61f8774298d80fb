"""Which workload a kernel has: get_inputs() of the KernelBench convention, or comment lines that read as calls."""

import functools
import re

from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.values import Case, Refusal, Workload, WorkloadSource

KERNELBENCH_ENTRY = "Model"

_TOKENS = re.compile(
    r"\"\"\"(?:\\[\s\S]|[^\\])*?(?:\"\"\"|\Z)|'''(?:\\[\s\S]|[^\\])*?(?:'''|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
    r"|#[^\n]*|//[ \t]*workload[^\n]*"
)
_LINE = re.compile(r"(?:#|//)[ \t]*workload[ \t]*:[ \t]*(.*)")
_ENTRY = re.compile(r"([^\W\d]\w*)[ \t]*\(")
_DEFINITION = re.compile(  # the line break in front, and not `^`, lets `re` look for it as fast as for a text
    r"\n(?:(?:(?:async[ \t]+)?def|class)[ \t]+([^\W\d]\w*)|([^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=))"
)
_NAME = re.compile(r"[^\W\d]\w*")


def find_workload(text: str, entry: str | None) -> Workload | Refusal:
    """How `entry`, a function or class of `text`, is called.

    In this order: get_inputs() when `entry` is Model; the workload lines that name `entry`; get_inputs() when Model
    uses `entry`; the lines of the first function that uses `entry`. A Refusal says what to write, or which line is wrong.
    """
    if entry is None:
        return Refusal("No function of this file launches this kernel: add one that does, and a workload line for it.")
    lines = workload_lines(text)
    kernelbench = _has_kernelbench(text)
    if kernelbench and entry == KERNELBENCH_ENTRY:
        return Workload(WorkloadSource.KERNELBENCH, KERNELBENCH_ENTRY)
    if any(entry_of(case) == entry for case in lines):
        return _of_lines(lines, entry)
    if kernelbench and uses(text, KERNELBENCH_ENTRY, entry):
        return Workload(WorkloadSource.KERNELBENCH, KERNELBENCH_ENTRY)
    for case in lines:
        other = entry_of(case)
        if other is not None and uses(text, other, entry):
            return _of_lines(lines, other)
    if lines:
        return Refusal(f"No workload line calls {entry}: add '# workload: {entry}(randn(…))' above it.", lines[0].line)
    return Refusal(f"No workload says how to call {entry}: add '# workload: {entry}(randn(…))' above it.")


def any_workload(text: str) -> Workload | Refusal:
    """The file's own first choice, when no kernel is named: get_inputs(), or the entry of the first workload line."""
    if _has_kernelbench(text):
        return Workload(WorkloadSource.KERNELBENCH, KERNELBENCH_ENTRY)
    for case in workload_lines(text):
        entry = entry_of(case)
        if entry is not None:
            return find_workload(text, entry)
    return Refusal("The file has no workload: add a comment like '# workload: softmax(randn(8192, 1024))'.")


def entry_of(case: Case) -> str | None:
    """The name that a workload line calls, None when it does not read as a call."""
    match = _ENTRY.match(case.text)
    return match.group(1) if match else None


@functools.lru_cache(maxsize=8)
def workload_lines(text: str) -> tuple[Case, ...]:
    """Every `# workload:` (or `// workload:`) comment that stands on a line of its own, right or wrong, in order."""
    if "workload" not in text:
        return ()
    cases: list[Case] = []
    line, counted = 0, 0
    for token in _TOKENS.finditer(text):
        match = _LINE.match(token.group())
        if match is None:
            continue
        start = text.rfind("\n", 0, token.start()) + 1
        if text[start : token.start()].strip():
            continue
        line += text.count("\n", counted, start)
        counted = start
        call = match.group(1).rstrip(" \t\r")
        if "'" not in call and '"' not in call:
            call = call.partition("#")[0].rstrip()
        cases.append(Case(line, token.start() - start + match.start(1), call))
    return tuple(cases)


def _of_lines(lines: tuple[Case, ...], entry: str) -> Workload | Refusal:
    cases = tuple(case for case in lines if entry_of(case) == entry)
    for case in cases:
        try:
            evaluate(case.text)
        except WorkloadError as error:
            return Refusal(f"The workload on line {case.line + 1} cannot be used: {error.message}", case.line)
    return Workload(WorkloadSource.LINES, entry, cases)


@functools.lru_cache(maxsize=8)
def _has_kernelbench(text: str) -> bool:
    if "get_inputs" not in text:
        return False
    defined = definitions(text)
    return "get_inputs" in defined and KERNELBENCH_ENTRY in defined


def uses(text: str, user: str, used: str) -> bool:
    """Whether the top-level definition `user` mentions `used`, itself or through other definitions of the file."""
    bodies = definitions(text)
    seen, open_ = {user}, [user]
    while open_:
        start, end = bodies.get(open_.pop(), (0, 0))
        names = set(_NAME.findall(code(text)[start:end]))
        if used in names and (used != user or len(seen) > 1):
            return True
        fresh = (names & bodies.keys()) - seen
        seen |= fresh
        open_ += sorted(fresh)
    return False


@functools.lru_cache(maxsize=8)
def definitions(text: str) -> dict[str, tuple[int, int]]:
    """Where each top-level function, class or assignment stands, as offsets; for a name bound twice the last counts."""
    matches = list(_DEFINITION.finditer("\n" + code(text)))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    return {m.group(1) or m.group(2): (m.start(), end) for m, end in zip(matches, ends, strict=True)}


@functools.lru_cache(maxsize=8)
def code(text: str) -> str:
    """`text` with strings and comments blanked, line breaks and offsets unchanged."""
    return _TOKENS.sub(lambda match: "\n".join(" " * len(line) for line in match.group().split("\n")), text)
