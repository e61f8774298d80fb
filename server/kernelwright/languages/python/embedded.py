"""CUDA C++ in the strings of a Python text: what the language of `.cu` files says of it, at its places in the Python text."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.languages.cuda.workloads import workload_of
from kernelwright.languages.support import Unit
from kernelwright.source.cuda.outline import outline
from kernelwright.source.cuda_units import CudaUnit, cuda_units, unread_cuda
from kernelwright.source.findings import Finding
from kernelwright.source.workload import WorkloadProblem
from kernelwright.source.workload.find import definitions, lines_by_entry
from kernelwright.source.workload.lines import by_entry
from kernelwright.values import Case, Edits, Kernel, Refusal, Workload, line_starts

SIGN = "# workload: "
Others = Callable[[], tuple[Kernel, ...]]
"""The kernels of the Python text itself, where a name in a string needs them."""


def kernels(text: str, others: Others, lines: range | None = None) -> tuple[Kernel, ...]:
    """The kernels in strings; with `lines` those of strings on them. One with a name that is taken is left out."""
    found = (kernel for unit in _near(text, lines) for kernel in _kernels(unit))
    return tuple(one for one in found if _in_the_way(text, one, others) is None)


def unread(text: str, others: Others) -> tuple[Refusal, ...]:
    """Why strings cannot be read, and kernels in others neither, since their names are taken."""
    found = [*unread_cuda(text)]
    for kernel in (kernel for unit in cuda_units(text) for kernel in _kernels(unit)):
        if (other := _in_the_way(text, kernel, others)) is not None and other != kernel.name_line:
            said = f"The CUDA kernel {kernel.name} on line {kernel.name_line + 1} has the name of"
            found.append(Refusal(f"{said} what line {other + 1} defines; rename one of them.", kernel.name_line))
    return tuple(found)


def findings(text: str, kernels: tuple[Kernel, ...], lines: range | None = None) -> tuple[Finding, ...]:
    """The findings in strings; a remedy that cannot be written inside of one is left out."""
    found = []
    for unit in _near(text, lines):
        for one in CUDA.findings(unit.text, kernels, lines):
            edits = unit.edits(one.fix.edits) if one.fix is not None else None
            fix = dataclasses.replace(one.fix, edits=edits) if one.fix and isinstance(edits, Edits) else None
            start, end = one.start + unit.shift, one.end + unit.shift
            found.append(dataclasses.replace(one, start=start, end=end, fix=fix))
    return tuple(found)


def is_called(text: str, entry: str | None) -> bool:
    """Whether workload lines with this name call what a string defines, and not what the Python text does."""
    return entry is not None and _defining(text, entry) is not None


def workload(text: str, entry: str) -> Workload | Refusal:
    """How a kernel or a host function of a string is called."""
    unit = _defining(text, entry)
    return workload_of(unit.text if unit is not None else "", entry, SIGN)


def workload_lines(text: str) -> tuple[Case, ...]:
    """The workload lines inside of strings, as comments of C++."""
    return tuple(case for unit in cuda_units(text) for case in _lines_inside(unit))


def workload_problems(text: str, others: tuple[WorkloadProblem, ...]) -> tuple[WorkloadProblem, ...]:
    """What is wrong with workload lines: `others`, but for those lines that call what strings define, and of these."""
    found, own = list[WorkloadProblem](), set[int]()
    for unit in cuda_units(text):
        named = by_entry(CUDA.workload_lines(unit.text)).items()
        lines = {case.line for entry, cases in named if _defining(text, entry) is unit for case in cases}
        lines |= {case.line for case in _lines_inside(unit)}
        found += [one for one in CUDA.workload_problems(unit.text) if one.line in lines]
        own |= lines
    return tuple(sorted((*found, *(one for one in others if one.line not in own)), key=lambda one: one.line))


def lines_from_signature(text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
    """Workload lines for a kernel of a string, as comments of Python."""
    lines = CUDA.lines_from_signature(unit_of(text, kernel).text, kernel)
    if isinstance(lines, Refusal):
        return lines
    return tuple(f"{SIGN}{line.removeprefix(CUDA.workload_sign)}" for line in lines)


def unit_of(text: str, kernel: Kernel) -> Unit:
    """The strings that define a kernel of this name as a text of CUDA C++; nothing where they do not any more."""
    unit = _holding(text, kernel)
    return CUDA.unit(unit.text, kernel) if unit is not None else Unit("", CUDA.id, "")


def in_document(text: str, kernel: Kernel, edits: Edits) -> Edits | Refusal:
    """Edits of a unit's text as edits of the Python text."""
    unit = _holding(text, kernel)
    return Refusal("The string that holds the kernel is gone.") if unit is None else unit.edits(edits)


def edit_problem(before: str, after: str, kernel: Kernel) -> Refusal | None:
    """Why an edit from outside may not be tried: it changes more than the strings that hold the kernel, or too much there."""
    old, new = _holding(before, kernel), _holding(after, kernel)
    if old is None or new is None:
        return Refusal(f"`{kernel.name}` must stay defined in a string that can be read as CUDA C++.")
    if _around(old) != _around(new):
        return Refusal(f"Only the string that holds `{kernel.name}` may be changed, not what stands around it.")
    return CUDA.edit_problem(old.text, new.text, kernel)


def _around(unit: CudaUnit) -> tuple[str, ...]:
    ends = [0, *(place for one in unit.spans for place in (one.start, one.end)), len(unit.host)]
    return tuple(unit.host[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True))


def _near(text: str, lines: range | None) -> Iterator[CudaUnit]:
    every = cuda_units(text)
    return (one for one in every if lines is None or (one.lines.start < lines.stop and lines.start < one.lines.stop))


def _kernels(unit: CudaUnit) -> tuple[Kernel, ...]:
    """Kernels with the statement around their string as the place of their entry, above which workload lines go."""
    return _kernels_of(unit.text, unit.lines.start, unit.lines.stop)


@functools.lru_cache(maxsize=256)
def _kernels_of(code: str, first: int, last: int) -> tuple[Kernel, ...]:
    found = CUDA.kernels(code)
    return tuple(dataclasses.replace(one, entry_start_line=first, entry_end_line=last) for one in found)


@functools.lru_cache(maxsize=256)
def _functions_of(code: str) -> frozenset[str]:
    found = outline(code)
    return frozenset(found.placed[index].piece.name for index in found.functions)


@functools.lru_cache(maxsize=8)
def _first_of_each(text: str) -> dict[str, tuple[CudaUnit, Kernel]]:
    """The kernels by their names, each with the string that defines it, which is the first one of several."""
    found: dict[str, tuple[CudaUnit, Kernel]] = {}
    for unit in cuda_units(text):
        for kernel in _kernels(unit):
            found.setdefault(kernel.name, (unit, kernel))
    return found


def _in_the_way(text: str, kernel: Kernel, others: Others) -> int | None:
    """The line of what has the name of a kernel already: a kernel of the Python text, or of a string before."""
    if any(f"{word} {kernel.name}" in text for word in ("def", "class")):
        found = next((one for one in others() if kernel.name in (one.name, one.entry)), None)
        if found is not None:
            return found.name_line
    _, first = _first_of_each(text)[kernel.name]
    return None if first == kernel else first.name_line


def _holding(text: str, kernel: Kernel) -> CudaUnit | None:
    unit, _ = _first_of_each(text).get(kernel.name, (None, None))
    return unit


def _defining(text: str, entry: str) -> CudaUnit | None:
    """The string with a function of this name, unless workload lines call one of the Python text by it."""
    if entry in lines_by_entry(text) and entry in definitions(text):
        return None
    return _by_function(text).get(entry)


@functools.lru_cache(maxsize=8)
def _by_function(text: str) -> dict[str, CudaUnit]:
    """The strings by the names of their functions, the first of several."""
    return {name: unit for unit in reversed(cuda_units(text)) for name in _functions_of(unit.text)}


def _lines_inside(unit: CudaUnit) -> Iterator[Case]:
    """The workload lines in the code itself."""
    starts = line_starts(unit.text)
    for case in CUDA.workload_lines(unit.text):
        place = starts[case.line] + case.column + unit.shift
        if any(span.start <= place < span.end for span in unit.spans):
            yield case
