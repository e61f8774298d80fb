"""All findings of a CUDA text. What one kernel gives is remembered by its text and those that it needs, as for Python."""

import bisect
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kernelwright.source.cuda.definitions import Function, Launch, read_together
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.numbers import Numbers
from kernelwright.source.cuda.outline import Outline, outline
from kernelwright.source.cuda.text import Source
from kernelwright.source.findings.cuda import CudaProblem, CudaUnit
from kernelwright.source.findings.cuda_launches import LaunchSite
from kernelwright.source.findings.rule import Finding, Fix, Rule
from kernelwright.source.findings.rules import for_language
from kernelwright.source.findings.sizes import Shapes, Size, Sizes, shapes_of
from kernelwright.source.memory import PerPiece
from kernelwright.values import Edits, Kernel, Language, TextEdit, digest, line_starts

_CHECKED = re.compile(
    r"\bcuda(?:GetLastError|PeekAtLastError)\b|\b(?:cuda|hip)Success\b"
    r"|\b\w*(?:check|CHECK|Check|assert_cuda|ERR|Err|safe|TRY|VERIFY|ENSURE)\w*\s*\("
)
_OF_PROJECT = re.compile(
    r'^[ \t]*#[ \t]*(?:include[ \t]*(?:"|<(?!(?:ATen|c10|cub|cuda|cutlass|cute|nv|sys|thrust|torch)/)\w+/)'
    r"|pragma[ \t]+once\b|ifndef[ \t]+\w*_(?:H|HH|HPP|CUH)_*[ \t]*$)",
    re.M,
)
_INCLUDES = re.compile(
    r"^[ \t]*#[ \t]*include\b(?![ \t]*<(?:cuda|cooperative_groups|c?(?:std|math|float|limits))\w*[.>])", re.M
)
_KNOWN_TO_ALL = re.compile(
    r"cuda\w*|__\w*|dim3|min|max|abs|ceilf?|floorf?|sqrtf?|printf|malloc|free|\W.*|\w+\W.*", re.S
)
_MAIN = re.compile(r"\bmain\s*\(")


@dataclass(frozen=True)
class _Local:
    """A finding with its offsets from the beginning of one piece, so that it holds wherever the piece moves to."""

    rule: Rule
    piece: int
    message: str
    start: int
    end: int
    fix: str
    edits: tuple[tuple[int, int, int, str], ...]  # piece, start, end, new text
    line_of: tuple[int, int] | None = None  # piece, offset


def find_cuda_findings(
    text: str, kernels: tuple[Kernel, ...] = (), calls: Sizes | None = None, lines: range | None = None
) -> tuple[Finding, ...]:
    """The findings of a CUDA text, in order; as `find_findings` for Python.

    `calls` are the evaluated performance calls by the name of the function called. With `lines` only the definitions
    that touch them are looked at, and the kernels that these launch: all findings on the lines, and some more. `kernels`
    name those that findings belong to. Never raises on half-typed code.
    """
    found = outline(text)
    near = frozenset(range(len(found.placed))) if lines is None else found.touching(lines)
    own, includes, main, checks, raises_shared = map(any, zip((False,) * 5, *_signs(found.parts), strict=True))
    is_part = not main and (own or (not includes and _lacks_names(found)))
    is_checked = checks or is_part  # what is part of a project may be checked by its callers
    first = next((name for one in found.placed for name in one.piece.launched), None)
    named = {one.name for one in kernels}
    findings: list[Finding] = []
    for index, one in enumerate(found.placed):
        if not one.piece.is_device:
            continue
        name, launchers = one.piece.name, found.launchers(one.piece.name) if one.piece.is_kernel else ()
        if near.isdisjoint((index, *launchers)):
            continue
        pieces = (index, *(i for i in launchers if i != index), *found.needed((index, *launchers)))
        shapes = shapes_of(calls or {}, frozenset(found.placed[i].piece.name for i in launchers))
        texts = tuple(found.placed[i].piece.text for i in pieces)
        local = _checked(texts, name, shapes, is_checked, name == first, raises_shared)
        findings += _placed(text, found, pieces, local, name if one.piece.is_kernel and name in named else None)
    unique = {(one.code, one.start, one.end): one for one in reversed(findings)}
    return tuple(sorted(unique.values(), key=lambda one: (one.start, one.end, one.code)))


def _signs_in(part: bytes) -> tuple[bool, ...]:
    """Whether a part of a text is a header or includes one of its project, or of a library, has a `main`, asks for errors, and
    raises the limit of shared memory."""
    text = part.decode("utf-8", "surrogatepass")
    found = (one.search(text) is not None for one in (_OF_PROJECT, _INCLUDES, _MAIN, _CHECKED))
    return *found, "cudaFuncSetAttribute" in text


_signs = PerPiece(_signs_in)


def _lacks_names(found: Outline) -> bool:
    """Whether what launches calls functions that the text does not define, so that another one includes it."""
    called = {name for one in found.placed if one.piece.launched for name in one.piece.called}
    return any(not _KNOWN_TO_ALL.fullmatch(name) and not found.defines(name) for name in called)


@functools.lru_cache(maxsize=1024)
def _checked(
    texts: tuple[str, ...], name: str, shapes: Shapes, is_checked: bool, is_first: bool, raises_shared: bool
) -> tuple[_Local, ...]:
    """The findings of one function, read again from its pieces, so that nothing of the rest of the text counts."""
    file = read_together(texts)
    function = next((one for one in file.functions if one.name == name and (one.is_kernel or one.is_device)), None)
    if function is None:
        return ()
    sizes = dict(shapes)
    flows = {one.function.name: Flow(file, one.function) for one in file.launches_of(name)}
    launches = tuple(
        _site(flows[one.function.name], function, one, dict(sizes.get(one.function.name, ())))
        for one in file.launches_of(name)
    )
    unit = CudaUnit(file, function, launches, is_checked, is_first, raises_shared)
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    problems = ((rule, problem) for rule in for_language(Language.CUDA) for problem in _problems(rule, unit))
    return tuple(_local(file.source, starts, rule, problem) for rule, problem in problems)


def _site(flow: Flow, kernel: Function, launch: Launch, arguments: Mapping[int | str, Size]) -> LaunchSite:
    names = [one.name for one in launch.function.parameters]
    sizes = {
        (names[key] if isinstance(key, int) else key): size
        for key, size in arguments.items()
        if isinstance(key, str) or key < len(names)
    }
    numbers = Numbers(flow, {name: size for name, size in sizes.items() if isinstance(size, int)})
    return LaunchSite(launch, flow, numbers, kernel, sizes)


def _problems(rule: Rule, unit: CudaUnit) -> Iterable[CudaProblem]:
    """A rule that runs out of stack on absurdly nested code has nothing to say."""
    try:
        return tuple(rule.check(unit))
    except RecursionError:
        return ()


def _local(source: Source, starts: Sequence[int], rule: Rule, problem: CudaProblem) -> _Local:
    def placed(offset: int) -> tuple[int, int]:
        piece = bisect.bisect_right(starts, offset) - 1
        return piece, offset - starts[piece]

    piece, start = placed(source.span(problem.node)[0])
    end = source.span(problem.node)[1] - starts[piece]
    edits = []
    for change in problem.changes:
        first, last = source.span(change.node)
        where, begin = placed(first)
        edits.append((where, begin, begin if change.before else last - starts[where], change.new_text))
    line_of = placed(source.span(problem.line_of)[0]) if problem.line_of is not None else None
    return _Local(rule, piece, problem.message, start, end, problem.fix if edits else "", tuple(edits), line_of)


def _placed(
    text: str, found: Outline, pieces: Sequence[int], local: tuple[_Local, ...], kernel: str | None
) -> Iterable[Finding]:
    def at(piece: int, offset: int) -> int:
        return min(found.placed[pieces[piece]].start + offset, len(text))

    starts = line_starts(text) if local else ()
    for one in local:
        start, end = at(one.piece, one.start), at(one.piece, one.end)
        first, last = bisect.bisect_right(starts, start) - 1, bisect.bisect_right(starts, end) - 1
        edits = tuple(TextEdit(at(i, a), at(i, b), new) for i, a, b, new in one.edits)
        told = one.message
        if one.line_of is not None:
            told = told.replace("{line}", str(bisect.bisect_right(starts, at(*one.line_of))))
        yield Finding(
            one.rule.code,
            one.rule.severity,
            told,
            start,
            end,
            first,
            start - starts[first],
            last,
            end - starts[last],
            Fix(one.fix, Edits(digest(text), edits, one.fix)) if edits else None,
            kernel,
        )
