"""Which workload a kernel of a Python file has: get_inputs() of the KernelBench convention, or workload lines."""

import contextlib
import functools
import itertools
import re
from dataclasses import dataclass

from kernelwright.source.memory import PerPiece
from kernelwright.source.split import holds, split
from kernelwright.source.workload.evaluate import WorkloadError, evaluate, split_at_launch
from kernelwright.source.workload.lines import entry_of, grouped, lines_of, workload_of_lines
from kernelwright.values import Call, Case, Refusal, Workload, WorkloadSource, encoded

KERNELBENCH_ENTRY = "Model"

_TOKENS = re.compile(
    r"\"\"\"(?:\\[\s\S]|[^\\])*?(?:\"\"\"|\Z)|'''(?:\\[\s\S]|[^\\])*?(?:'''|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?"
    r"|#[^\n]*"
)
_DEFINITION = re.compile(  # the line break in front, and not `^`, lets `re` look for it as fast as for a text
    r"\n(?:(?:(?:async[ \t]+)?def|class)[ \t]+([^\W\d]\w*)|([^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=))"
)
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")  # of a variable, and not of an attribute


def find_workload(text: str, entry: str | None) -> Workload | Refusal:
    """How `entry`, a function or class of `text`, is called.

    In this order: get_inputs() when `entry` is Model; the workload lines that name `entry`; get_inputs() when Model
    uses `entry`; the lines of a function that uses `entry`, those that stand above `entry` or else the first ones. A Refusal
    says what to write, or which line is wrong.
    """
    if entry is None:
        return Refusal(
            "No function of this file launches this kernel: add one that does and a workload line for it, or write its own "
            "launch, '# workload: kernel[(128,)](randn(…), …)', above it."
        )
    lines = lines_by_entry(text)
    kernelbench = _has_kernelbench(text)
    if kernelbench and entry == KERNELBENCH_ENTRY:
        return Workload(WorkloadSource.KERNELBENCH, KERNELBENCH_ENTRY)
    if entry in lines:
        return workload_of_lines(entry, lines[entry])
    if kernelbench and uses(text, KERNELBENCH_ENTRY, entry):
        return Workload(WorkloadSource.KERNELBENCH, KERNELBENCH_ENTRY)
    above = _lines_above(text, entry)
    for other, cases in sorted(lines.items(), key=lambda one: all(case.line not in above for case in one[1])):
        if uses(text, other, entry):
            return workload_of_lines(other, cases)
    if written := workload_lines(text):
        return Refusal(
            f"No workload line calls {entry}: add '# workload: {entry}(randn(…))' above it.", written[0].line
        )
    return Refusal(f"No workload says how to call {entry}: add '# workload: {entry}(randn(…))' above it.")


def any_workload(text: str) -> Workload | Refusal:
    """The file's own first choice, when no kernel is named: get_inputs(), or the entry of the first workload line."""
    if _has_kernelbench(text):
        return Workload(WorkloadSource.KERNELBENCH, KERNELBENCH_ENTRY)
    for entry in lines_by_entry(text):
        return find_workload(text, entry)
    return Refusal("The file has no workload: add a comment like '# workload: softmax(randn(8192, 1024))'.")


def performance_calls(text: str) -> dict[str, Call]:
    """What the first workload line of each entry describes; an entry whose line cannot be evaluated is left out."""
    found: dict[str, Call] = {}
    for entry, cases in lines_by_entry(text).items():
        with contextlib.suppress(WorkloadError):
            found[entry] = evaluate(cases[0].text)
    return found


@functools.lru_cache(maxsize=8)
def lines_by_entry(text: str) -> dict[str, tuple[Case, ...]]:
    """The workload lines by the name that they call, both in order; what does not read as a call is left out.

    So are launches of CUDA: no name of a Python text is called like that.
    """
    return _by_entry(_noted(text))


def workload_lines(text: str) -> tuple[Case, ...]:
    """Every `# workload:` comment that stands on a line of its own, right or wrong, in order."""
    return _placed(_noted(text))


@dataclass(frozen=True, eq=False)
class _Notes:
    """The workload lines of a piece, which count from its first one; compared by identity, for equal ones are one object."""

    cases: tuple[Case, ...]

    @functools.cached_property
    def entries(self) -> tuple[str, ...]:
        """What each calls, "" where it does not read as a call of Python."""
        return tuple("" if split_at_launch(case.text)[0] else entry_of(case.text) for case in self.cases)


_Noted = tuple[tuple[_Notes, int], ...]  # with the lines on which their pieces begin


@functools.lru_cache(maxsize=8)
def _noted(text: str) -> _Noted:
    if "workload" not in text:
        return ()
    pieces = split(encoded(text))
    return tuple((notes, line) for notes, line in zip(_notes(pieces), pieces.lines, strict=True) if notes is not None)


@functools.lru_cache(maxsize=8)
def _placed(noted: _Noted) -> tuple[Case, ...]:
    return tuple(Case(case.line + line, case.column, case.text) for notes, line in noted for case in notes.cases)


@functools.lru_cache(maxsize=8)
def _by_entry(noted: _Noted) -> dict[str, tuple[Case, ...]]:
    entries = itertools.chain.from_iterable(notes.entries for notes, _ in noted)
    return grouped(zip(entries, _placed(noted), strict=True))


def _notes_of(piece: bytes) -> _Notes | None:
    if b"workload" not in piece:
        return None
    cases = lines_of(piece.decode("utf-8", "surrogatepass"), _TOKENS, "#")
    return _of_cases(cases) if cases else None


_of_cases = functools.lru_cache(maxsize=8192)(_Notes)


_notes = PerPiece(_notes_of)


@functools.lru_cache(maxsize=8)
def _has_kernelbench(text: str) -> bool:
    if not holds(encoded(text), b"get_inputs"):
        return False
    defined = definitions(text)
    return "get_inputs" in defined and KERNELBENCH_ENTRY in defined


def _lines_above(text: str, entry: str) -> range:
    """The lines between the top-level definition before `entry`, its body included, and `entry`."""
    starts = {name: start for name, (start, _) in definitions(text).items()}
    own = starts.get(entry, 0)
    before = max((start for start in starts.values() if start < own), default=0)
    return range(text.count("\n", 0, before), text.count("\n", 0, own))


def uses(text: str, user: str, used: str) -> bool:
    """Whether the top-level definition `user` mentions `used`, itself or through other definitions of the file.

    An attribute, as in `tl.cumsum`, is no mention of a definition of the file; of what another file defines it is one.
    """
    bodies = definitions(text)
    seen, open_ = {user}, [user]
    while open_:
        start, end = bodies.get(open_.pop(), (0, 0))
        names = _names(body := code(text)[start:end])
        mentioned = used in names if used in bodies else bool(re.search(rf"\b{re.escape(used)}\b", body))
        if mentioned and (used != user or len(seen) > 1):
            return True
        fresh = (names & bodies.keys()) - seen
        seen |= fresh
        open_ += sorted(fresh)
    return False


@functools.lru_cache(maxsize=2048)
def _names(code: str) -> frozenset[str]:
    return frozenset(_NAME.findall(code))


@functools.lru_cache(maxsize=8)
def definitions(text: str) -> dict[str, tuple[int, int]]:
    """Where each top-level function, class or assignment stands, as offsets; for a name bound twice the last counts."""
    matches = list(_DEFINITION.finditer("\n" + code(text)))
    starts = (*(match.start() for match in matches), len(text))
    return {m.group(1) or m.group(2): span for m, span in zip(matches, itertools.pairwise(starts), strict=True)}


@functools.lru_cache(maxsize=8)
def code(text: str) -> str:
    """`text` with strings and comments blanked, line breaks and offsets unchanged."""
    return _TOKENS.sub(lambda match: "\n".join(" " * len(line) for line in match.group().split("\n")), text)
