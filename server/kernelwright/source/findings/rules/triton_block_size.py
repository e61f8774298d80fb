"""Block sizes that tl.arange does not take: no power of two, or not known at compile time."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.source.triton.reader import Lanes
from kernelwright.values import Language


def check(unit: TritonUnit) -> Iterator[Problem]:
    said: set[ast.AST] = set()
    for lanes in unit.lanes:
        for problem in _arange(unit, lanes):
            if problem.node not in said:
                said.add(problem.node)
                yield problem


def _arange(unit: TritonUnit, lanes: Lanes) -> Iterator[Problem]:
    call, start, end = lanes.call, lanes.start, lanes.end
    if start is None or end is None:
        return
    scope = unit.scope
    low, high = scope.number(start), scope.number(end)
    if low is not None and high is not None:
        if not _is_power_of_two(high - low):
            yield Problem(call, f"tl.arange gives {high - low} elements, but only a power of two is allowed.")
        return
    bound = scope.single(end)
    if not isinstance(bound, ast.Name) or bound.id not in scope.parameters or bound.id in scope.values or low != 0:
        return
    if bound.id not in unit.constexprs:
        if unit.launches:
            yield _not_constexpr(unit, call, bound.id)
        return
    yield from _passed(unit, bound.id)


def _not_constexpr(unit: TritonUnit, call: ast.Call, name: str) -> Problem:
    message = f"tl.arange needs a bound known at compile time, and {name} is none: declare it as {name}: tl.constexpr."
    every = (*unit.function.args.args, *unit.function.args.kwonlyargs)
    parameter = next((a for a in every if a.arg == name), None)
    prefix = unit.aliases.spelled("triton.language")
    if parameter is None or parameter.annotation is not None or prefix is None:
        return Problem(call, message)
    change = Change(parameter, f": {prefix}.constexpr", after=True)
    return Problem(call, message, fix=f"Declare {name} as constexpr", changes=(change,))


def _passed(unit: TritonUnit, name: str) -> Iterator[Problem]:
    for setting in unit.settings:
        value = setting.numbers.get(name)
        if value is not None and not _is_power_of_two(value):
            passed = setting.values[name]
            yield Problem(passed, _words(name, value), setting.segment, *_rounded(unit, passed, value))


def _words(name: str, value: int) -> str:
    return f"{name}={value} is the bound of a tl.arange, which takes only powers of two."


def _rounded(unit: TritonUnit, passed: ast.expr, value: int) -> tuple[str, tuple[Change, ...]]:
    """The next power of two in place of a literal, where every access is masked and may reach further."""
    if value < 1 or source(passed) != str(value) or not unit.is_masked:
        return "", ()
    rounded = 1 << (value - 1).bit_length()
    return f"Use {rounded}", (Change(passed, str(rounded)),)


def _is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


RULE = Rule(
    code="triton.block-size",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Block size that tl.arange does not take",
    doc="""The length of a `tl.arange` is part of a type: it must be a power of two and known when the kernel is compiled.
Pass it as a `tl.constexpr` parameter, rounded up with `triton.next_power_of_2` where it comes from a size, and
mask what is beyond the size.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(triton.cdiv(n, 100),)](y, n, BLOCK=100)
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(triton.cdiv(n, 128),)](y, n, BLOCK=128)
""",
    check=check,
)
