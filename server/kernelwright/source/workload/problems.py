"""What is wrong with a file's workload lines, each at its column."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.find import code, definitions, workload_lines
from kernelwright.source.workload.signature import Signature, conditional_definitions, signature_of
from kernelwright.values import Case, Made

_IMPORTED = re.compile(r"^[ \t]*(?:from|import)\b[^(\n]*(?:\([^()]*\)|.*$)", re.M)


@dataclass(frozen=True)
class WorkloadProblem:
    """One wrong place: line and columns from 0, in code points, end-exclusive."""

    line: int
    column: int
    end_column: int
    message: str


def problems(text: str) -> tuple[WorkloadProblem, ...]:
    """The first thing that is wrong with each workload line of `text`."""
    found = (_problem(text, case) for case in workload_lines(text))
    return tuple(problem for problem in found if problem is not None)


def _problem(text: str, case: Case) -> WorkloadProblem | None:
    try:
        call = evaluate(case.text)
    except WorkloadError as error:
        return _at(case, error.column, error.end_column, error.message)
    name = (case.text.find(call.entry), case.text.find(call.entry) + len(call.entry))
    if not _is_there(text, call.entry):
        return _at(case, *name, f"The file has no function or class named {call.entry}.")
    for made in _made((call.init_args, call.init_kwargs)):
        if not _is_there(text, made.name):
            start = case.text.find(f"{made.name}(", name[1])
            return _at(case, start, start + len(made.name), f"The file has no class named {made.name}.")
    if call.entry not in definitions(text):
        return None
    signature = signature_of(text, call.entry)
    if signature is None:
        return None
    message = _mismatch(case.text, signature, has_maker="get_init_inputs" in definitions(text))
    return None if message is None else _at(case, *name, message)


@functools.lru_cache(maxsize=2048)
def _mismatch(line: str, signature: Signature, *, has_maker: bool) -> str | None:
    call = evaluate(line)
    name = call.entry
    if signature.is_triton and call.grid is None:
        return f"{name} is a Triton kernel: name the function that launches it, or write its grid, {name}[(128,)](…)."
    if call.grid is not None:
        return None if signature.is_triton else f"{name} is no Triton kernel, so it has no grid: write {name}(…)."
    if signature.applied is not call.applied:
        return f"{name} is {'an' if signature.applied else 'no'} autograd.Function: write {_called(name, signature)}."
    if not signature.is_class and call.init_args is not None:
        return f"{name} is a function: it is called once, {name}(…)."
    if call.init_args is not None and signature.init is not None:
        wrong = signature.init.mismatch(name, len(call.init_args), tuple(call.init_kwargs or ()))
        if wrong:
            return wrong
    if call.init_args is None and signature.init is not None and (needed := signature.init.required()):
        made = f"{name} is constructed with {', '.join(needed)}: write {name}(…)(…)"
        return f"{made}, since a line does not call get_init_inputs()." if has_maker else f"{made}."
    if signature.call is None:
        return None
    called = f"{name}.forward" if signature.is_class else name
    return signature.call.mismatch(called, len(call.args), tuple(call.kwargs))


def _called(name: str, signature: Signature) -> str:
    if signature.applied:
        return f"{name}.apply(…)"
    return f"{name}(…)(…)" if signature.is_class else f"{name}(…)"


def _at(case: Case, column: int, end_column: int, message: str) -> WorkloadProblem:
    start = case.column + column
    return WorkloadProblem(case.line, start, max(case.column + end_column, start + 1), message)


def _made(tree: object) -> Iterator[Made]:
    """The objects that constructors are given, those that are given to others too."""
    match tree:
        case Made():
            yield tree
            yield from _made((tree.args, tree.kwargs))
        case dict():
            yield from _made([*tree.values()])
        case list() | tuple():
            for one in tree:
                yield from _made(one)


def _is_there(text: str, name: str) -> bool:
    return name in definitions(text) or _is_imported(text, name) or name in conditional_definitions(text)


def _is_imported(text: str, name: str) -> bool:
    imports = " ".join(_IMPORTED.findall(code(text)))
    return bool(re.search(rf"\b{re.escape(name)}\b|\*", imports))
