"""The workload lines of a CUDA text: which call an entry, and what is wrong with them."""

import contextlib
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kernelwright.source.cpp import Field, structures_of
from kernelwright.source.cpp.structures import structure_name
from kernelwright.source.cuda import Function
from kernelwright.source.cuda.cut import cut
from kernelwright.source.cuda.extension import uses_pytorch
from kernelwright.source.cuda.kernels import MAIN, program_of
from kernelwright.source.cuda.outline import outline
from kernelwright.source.memory import PerPiece
from kernelwright.source.workload import WorkloadError, WorkloadProblem, evaluate
from kernelwright.source.workload.lines import by_entry, lines_of, workload_of_lines
from kernelwright.values import Call, Case, Kernel, Refusal, Workload, WorkloadSource, encoded

SIGN = "// workload: "
_NOT_CALLED = (
    "{} is written with PyTorch's C++ interface, which is not called by workload lines: write one for the kernel that it "
    "launches, with its launch, kernel<<<grid, block>>>(…)."
)
_TOKENS = re.compile(
    r'R"(?P<d>[^()\\\s]{0,16})\([\s\S]*?(?:\)(?P=d)"|\Z)|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?'
    r"|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
)


def lines_in(text: str) -> tuple[Case, ...]:
    """Every workload line of a text, in order."""
    return _lines_in(text)


@functools.lru_cache(maxsize=8)
def _lines_in(text: str) -> tuple[Case, ...]:
    if "workload" not in text:
        return ()
    pieces = cut(encoded(text))
    found = zip(pieces, _cases(pieces), strict=True)
    return tuple(Case(one.line + piece.line, one.column, one.text) for piece, cases in found for one in cases)


def _lines_of(piece: bytes) -> tuple[Case, ...]:
    """The workload lines of a piece of a text; lines count from its first one."""
    return lines_of(piece.decode("utf-8", "surrogatepass"), _TOKENS, "//") if b"workload" in piece else ()


_cases = PerPiece(_lines_of)


def performance_calls(text: str) -> dict[str, Call]:
    """The first call of each entry that can be evaluated, by its name."""
    found: dict[str, Call] = {}
    for entry, cases in by_entry(lines_in(text)).items():
        if entry == MAIN:
            continue  # its arguments are words of a command line
        with contextlib.suppress(WorkloadError):
            found[entry] = evaluate(cases[0].text)
    return found


def workload_of(text: str, entry: str | None, sign: str = SIGN) -> Workload | Refusal:
    """How `entry` is called; a Refusal says what to write above it. `sign` begins a line of the document."""
    lines = by_entry(lines_in(text))
    if entry in lines:
        made = workload_of_lines(entry, lines[entry])
        if isinstance(made, Refusal):
            return made
        if entry == MAIN:
            return replace(made, source=WorkloadSource.PROGRAM)
        return replace(made, programs=programs_beside(text, entry))
    if entry is None:
        return Refusal("Nothing in this file can be called by a workload line.")
    function = outline(text).function(entry)
    call = f"{entry}<<<grid, block>>>(" if function is not None and function.is_kernel else f"{entry}("
    return Refusal(f"No workload says how to call {entry}: add '{sign}{call}n=1024, x=randn(n), …)' above it.")


def programs_beside(text: str, entry: str) -> tuple[Case, ...]:
    """The command lines of the program that calls `entry`, or launches what that launches; nothing for `main` itself."""
    cases = by_entry(lines_in(text)).get(MAIN, ()) if entry != MAIN else ()
    if not cases:
        return ()
    found = outline(text)
    launched = (name for one in found.placed if one.piece.name == entry for name in one.piece.launched)
    reached = any(program_of(found, name) is not None for name in (entry, *launched))
    return cases if reached and not isinstance(workload_of_lines(MAIN, cases), Refusal) else ()


def program_line(text: str, kernel: Kernel) -> tuple[int, str] | None:
    """A line that has the program of the file run, for a kernel that it launches, and the line from 0 to write it above."""
    found = outline(text)
    program = program_of(found, kernel.name)
    if program is None or MAIN in by_entry(lines_in(text)):
        return None
    return found.placed[program].line, f"{SIGN}{MAIN}()"


def problems(text: str) -> tuple[WorkloadProblem, ...]:
    """The first thing that is wrong with each workload line."""
    found = (_problem(text, case) for case in lines_in(text))
    return tuple(problem for problem in found if problem is not None)


def _problem(text: str, case: Case) -> WorkloadProblem | None:
    try:
        call = evaluate(case.text)
    except WorkloadError as error:
        return _at(case, error.column, error.end_column, error.message)
    function = outline(text).function(call.entry)
    message = (
        _NOT_CALLED.format(call.entry) if function and uses_pytorch(text, function) else _mismatch(text, call, function)
    )
    return None if message is None else _at(case, 0, len(call.entry), message)


def _mismatch(text: str, call: Call, function: Function | None) -> str | None:
    name = call.entry
    if function is None:
        return f"The file has no function named {name} with a body."
    if name == MAIN:
        return _wrong_program(call, function)
    if function.is_kernel and (call.grid is None or call.block is None):
        return f"{name} is a kernel: write its launch too, {name}<<<grid, block>>>(…)."
    if function.is_kernel and function.templates and not call.template:
        return f"{name} is a template: write its arguments too, as in {name}<float, 4><<<grid, block>>>(…)."
    if call.template and not function.templates:
        return f"{name} is no template: write {name}<<<grid, block>>>(…)."
    if not function.is_kernel and call.grid is not None:
        return f"{name} is no kernel, so it has no grid: write {name}(…)."
    names = [one.name for one in function.parameters]
    if len(call.args) > len(names):
        return f"{name} takes {len(names)} arguments, this line gives {len(call.args)}."
    unknown = next((one for one in call.kwargs if one not in names), None)
    if unknown is not None:
        return f"{name} has no parameter {unknown}."
    missing = [one for one in names[len(call.args) :] if one not in call.kwargs]
    if missing:
        return f"{name} also needs {', '.join(missing)}."
    structures = structures_of(text) if "struct" in text else {}
    given = {**dict(zip(names, call.args, strict=False)), **call.kwargs}
    wrong = (_wrong_structure(structures, one.name, one.base, given[one.name]) for one in function.parameters)
    return next((message for message in wrong if message is not None), None)


def _wrong_structure(structures: Mapping[str, Sequence[Field]], name: str, kind: str, value: object) -> str | None:
    """What is wrong with the fields that a line gives a structure; nothing where the text does not say which there are."""
    fields = {one.name: one for one in structures.get(structure_name(kind), ())}
    if not fields or not isinstance(value, dict):
        return None
    unknown = next((one for one in value if one not in fields), None)
    if unknown is not None:
        return f"{name} has no field {unknown}; it has {', '.join(fields)}."
    missing = [one.name for one in fields.values() if one.name not in value and not one.has_default]
    if missing:
        return f"{name} also needs {', '.join(missing)}."
    inner = (_wrong_structure(structures, f"{name}.{one}", fields[one].type, value[one]) for one in value)
    return next((message for message in inner if message is not None), None)


def _wrong_program(call: Call, function: Function) -> str | None:
    if call.kwargs or not all(isinstance(one, int | float | str) and not isinstance(one, bool) for one in call.args):
        return 'main takes numbers and strings, as on a command line: write main(1024, "fast").'
    if call.args and not function.parameters:
        return f"main takes no arguments, this line gives {len(call.args)}."
    return None


def _at(case: Case, column: int, end_column: int, message: str) -> WorkloadProblem:
    start = case.column + column
    return WorkloadProblem(case.line, start, max(case.column + end_column, start + 1), message)
