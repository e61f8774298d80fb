"""CUDA C++ in the strings of a Python text as texts of their own, in which everything keeps its line and column."""

import bisect
import dataclasses
import functools
import itertools
import re
from dataclasses import dataclass

from kernelwright.source.cuda_strings import KERNEL, compiled_strings, meant
from kernelwright.source.document import parse
from kernelwright.source.pieces import unchanged
from kernelwright.source.workload.find import workload_lines
from kernelwright.values import Edits, Refusal, TextEdit, apply, digest, line_starts

_WRITTEN = re.compile(r"[^\r\n]+")
_SIGN = re.compile(r"#[ \t]")


@dataclass(frozen=True)
class Span:
    """The content of a string, in code points. In one that is not raw a backslash is written as two."""

    start: int
    end: int
    raw: bool = False


@dataclass(frozen=True, eq=False)
class CudaUnit:
    """Strings of a Python text that are compiled as one. `lines`: those, end-exclusive, of the statements that hold them."""

    host: str
    spans: tuple[Span, ...]
    lines: range

    @property
    def text(self) -> str:
        """The code on its lines and columns, the workload lines of the Python text as comments of C++, and nothing else.

        So what changes elsewhere in the Python text does not change it.
        """
        return self._text[0]

    @property
    def shift(self) -> int:
        """How much further back code stands in the Python text than in `text`, in code points."""
        return self._text[1]

    @functools.cached_property
    def _text(self) -> tuple[str, int]:
        starts = (*line_starts(self.host), len(self.host))
        first, last = self.spans[0].start, self.spans[-1].end
        begin = bisect.bisect_right(starts, first) - 1
        end = bisect.bisect_right(starts, last, hi=len(starts) - 1) - 1
        kept = [(one.start, one.end, self._code(one)) for one in self.spans]
        ahead, behind, before, after = "", "", 0, end
        for case in workload_lines(self.host):
            place, stop = starts[case.line], starts[case.line + 1]
            comment = _comment(self.host[place:stop].rstrip("\r\n"))
            if case.line < begin:
                ahead += "\n" * (case.line - before) + comment
                before = case.line
            elif case.line > end:
                behind += "\n" * (case.line - after) + comment
                after = case.line
            else:
                kept.append((place, place + len(comment), comment))
        ahead += "\n" * (begin - before)
        parts, at = [ahead], starts[begin]
        for place, stop, code in sorted(kept):
            parts += (_blank(self.host[at:place]), code)
            at = stop
        return "".join((*parts, behind)), starts[begin] - len(ahead)

    def _code(self, span: Span) -> str:
        written = self.host[span.start : span.end]
        code = written if span.raw else meant(written)
        assert code is not None, "strings that are not as long as they are written make no unit"
        return code

    def edits(self, edits: Edits) -> Edits | Refusal:
        """Edits of `text` as edits of the Python text."""
        moved = []
        for one in edits.edits:
            edit = _inside(_moved(_trimmed(one, self.text), self.shift), self.spans)
            if edit is None:
                return _OUTSIDE
            moved.append(edit)
        made = dataclasses.replace(edits, text_hash=digest(self.host), edits=tuple(moved))
        expected = apply(dataclasses.replace(edits, text_hash=digest(self.text)), self.text)
        same = (one for one in cuda_units(apply(made, self.host)) if one.spans[0].start == self.spans[0].start)
        held = next(same, None)
        return made if held is not None and held.text.split() == expected.split() else _NOT_IN_A_STRING


_OUTSIDE = Refusal("The change reaches beyond the string that holds the code.")
_NOT_IN_A_STRING = Refusal(
    'The change cannot be written inside of the string that holds the code: make it a raw string, r"""…""".'
)
_ORDER = "its strings are compiled in another order than they stand in"


def cuda_units(text: str) -> tuple[CudaUnit, ...]:
    """The CUDA C++ of a Python text that can be read, in order. Never raises for a text that is being typed."""
    return _read(text)[0]


def unread_cuda(text: str) -> tuple[Refusal, ...]:
    """Why other CUDA C++ of a Python text cannot be read, each with its line."""
    return _read(text)[1]


@functools.lru_cache(maxsize=8)
def _read(text: str) -> tuple[tuple[CudaUnit, ...], tuple[Refusal, ...]]:
    if KERNEL not in text:
        return (), ()
    document, starts = parse(text), line_starts(text)
    units: dict[tuple[Span, ...], CudaUnit] = {}
    problems: dict[int, Refusal] = {}
    for begins, strings in compiled_strings(document):
        spans = tuple(Span(one.start, one.end, one.raw) for one in strings)
        kernels = [one for one in spans if KERNEL in text[one.start : one.end]]
        if not kernels:
            continue
        first, last = (bisect.bisect_right(starts, place) - 1 for place in (kernels[0].start, spans[-1].end))
        ordered = all(one.end <= other.start for one, other in itertools.pairwise(spans))
        reason = next((one.reason for one in strings if one.reason), "" if ordered else _ORDER)
        if reason:
            problems[first] = Refusal(f"The CUDA C++ on line {first + 1} is not read: {reason}.", first)
        else:
            units[spans] = CudaUnit(text, spans, range(begins, last + 1))
    return tuple(sorted(units.values(), key=lambda one: one.spans[0].start)), tuple(problems.values())


def _comment(line: str) -> str:
    """A workload line as a comment of C++; blanks for one that would not be as long, or would go on in the next line."""
    sign = _SIGN.search(line)
    if sign is None or "\\" in line:
        return _blank(line)
    return f"{_blank(line[: sign.start()])}//{line[sign.end() :]}"


def _blank(text: str) -> str:
    return _WRITTEN.sub(lambda match: " " * len(match[0]), text)


def _trimmed(edit: TextEdit, text: str) -> TextEdit:
    """The edit without what it leaves as it is at its ends."""
    new = edit.new_text
    ahead, behind = unchanged(text[edit.start : edit.end], new)
    return TextEdit(edit.start + ahead, edit.end - behind, new[ahead : len(new) - behind])


def _moved(edit: TextEdit, shift: int) -> TextEdit:
    return TextEdit(edit.start + shift, edit.end + shift, edit.new_text)


def _inside(edit: TextEdit, spans: tuple[Span, ...]) -> TextEdit | None:
    """The edit as it is written in the one of the strings that it touches; blanks around strings stay. None for no string."""
    for span in spans:
        if edit.start <= span.end and span.start <= edit.end:
            new = edit.new_text if span.raw else edit.new_text.replace("\\", "\\\\")
            return TextEdit(max(edit.start, span.start), min(edit.end, span.end), new)
    return None
