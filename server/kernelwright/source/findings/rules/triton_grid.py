"""A grid that does not fit the block size that the kernel is launched with."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope, Steps, source
from kernelwright.source.findings.triton import LaunchSite, TritonUnit, grid_axis
from kernelwright.source.trees import operator, walk
from kernelwright.values import Language


@dataclass(frozen=True)
class _Division:
    """One division in an axis of the grid: `node` is the whole of it, `rounds_up` for cdiv and (n + B - 1) // B."""

    node: ast.expr
    numerator: ast.expr
    divisor: ast.expr
    rounds_up: bool


def check(unit: TritonUnit) -> Iterator[Problem]:
    if any(kind == "num_programs" for kind, _ in unit.calls):
        return  # the programs share the tiles out among themselves
    for site in unit.launches:
        for axis, blocks in unit.program_blocks.items():
            expression = grid_axis(site, axis)
            if expression is None or len(blocks) != 1:
                continue
            divisions = list(_divisions(site.scope, expression, Steps()))
            if len(divisions) == 1:
                yield from _judge(unit, site, divisions[0], next(iter(blocks)))


def _divisions(scope: Scope, node: ast.expr, steps: Steps) -> Iterator[_Division]:
    steps.take()
    match node:
        case ast.Call(args=[numerator, divisor]) if scope.canonical(node) in ("triton.cdiv", "triton.language.cdiv"):
            yield _Division(node, numerator, divisor, True)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            exact = isinstance(left, ast.BinOp | ast.UnaryOp) and not isinstance(getattr(left, "op", None), ast.Mult)
            yield _Division(node, left, right, exact)
        case ast.BinOp(left=left, op=op, right=right):
            inner = [part for side in (left, right) for part in _divisions(scope, scope.single(side), steps)]
            # n // B + 1 covers the tail too
            yield from (
                _Division(d.node, d.numerator, d.divisor, d.rounds_up or isinstance(op, ast.Add)) for d in inner
            )
        case ast.Call(args=args):
            for part in args:
                yield from _divisions(scope, scope.single(part), steps)
        case ast.IfExp(body=a, orelse=b):
            yield from _divisions(scope, a, steps)
            yield from _divisions(scope, b, steps)


def _judge(unit: TritonUnit, site: LaunchSite, division: _Division, block: str) -> Iterator[Problem]:
    fits = _fits(unit, site, division.divisor, block)
    if fits is False:
        yield _misfit(unit, site, division, block)
    elif fits and not division.rounds_up and not _is_divisible(unit, site, division, block):
        yield _dropped(unit, site, division)


def _fits(unit: TritonUnit, site: LaunchSite, divisor: ast.expr, block: str) -> bool | None:
    """Whether the grid divides by the block size that the launch passes; None when that cannot be told."""
    looked_up = _meta(divisor)
    if looked_up is not None:
        _, name = looked_up
        return name == block or (None if name not in unit.constexprs or _is_shared_out(unit, name) else False)
    passed = site.bindings.get(block)
    if passed is None:
        value = site.scope.number(divisor)
        tuned = {setting.numbers.get(block) for setting in unit.settings if setting.tuned}
        return value in tuned and len(tuned) == 1 if value is not None and tuned and None not in tuned else None
    a, b = site.scope.single(divisor), site.scope.single(passed)
    if source(a) == source(b):
        return True
    left, right = site.scope.number(a), site.scope.number(b)
    return left == right if left is not None and right is not None else None


def _is_shared_out(unit: TritonUnit, name: str) -> bool:
    """Tell whether the kernel itself divides by this size, as one does whose programs take several blocks each."""
    divisors = [n.right for n in unit.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv | ast.Mod)]
    divisors += [call.args[-1] for kind, call in unit.calls if kind == "cdiv" and call.args]
    return any(isinstance(part, ast.Name) and part.id == name for divisor in divisors for part in walk(divisor))


def _meta(node: ast.expr) -> tuple[str, str] | None:
    """Both names in meta["BLOCK"]."""
    match node:
        case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str() as name)):
            return owner, name
    return None


def _misfit(unit: TritonUnit, site: LaunchSite, division: _Division, block: str) -> Problem:
    passed = site.bindings.get(block)
    launched = f"{block}={source(passed)}" if passed is not None else block
    message = (
        f"The grid divides by {source(division.divisor)}, but each program handles {launched}: "
        "part of the output is computed twice or not at all."
    )
    looked_up = _meta(division.divisor)
    if looked_up is not None:
        replacement = f'{looked_up[0]}["{block}"]'
    elif passed is not None:
        replacement = source(passed)
    else:
        return Problem(division.divisor, message, site.segment)
    return Problem(
        division.divisor, message, site.segment, f"Divide by {replacement}", (Change(division.divisor, replacement),)
    )


def _dropped(unit: TritonUnit, site: LaunchSite, division: _Division) -> Problem:
    message = (
        f"{source(division.node)} rounds down: when the size is no multiple of the block size, the tail is never computed. "
        "Use triton.cdiv, or assert that it is divisible."
    )
    prefix = unit.aliases.spelled("triton")
    if prefix is None or not unit.is_masked:  # without masks, rounding up would run past the end
        return Problem(division.node, message, site.segment)
    text = f"{prefix}.cdiv({source(division.numerator)}, {source(division.divisor)})"
    return Problem(division.node, message, site.segment, "Round up with triton.cdiv", (Change(division.node, text),))


def _is_divisible(unit: TritonUnit, site: LaunchSite, division: _Division, name: str) -> bool:
    scope = site.scope
    size = scope.number(division.numerator)
    block = scope.number(division.divisor)
    if size is not None and (block is None or size % block == 0):
        return True
    if {scope.number(site.bindings.get(name)), block} == {1, block} or set(unit.numbers(ast.Name(name))) == {1}:
        return True  # a program for each element
    if source(scope.single(division.numerator)) == source(scope.single(division.divisor)):
        return True  # one for each row
    if any(scope.canonical(p) == "math.gcd" for p in scope.walk(division.divisor) if isinstance(p, ast.Call)):
        return True
    return scope.function is not None and any(
        isinstance(node, ast.Assert | ast.If) and any(isinstance(operator(n), ast.Mod) for n in walk(node.test))
        for node in walk(scope.function)
    )


RULE = Rule(
    code="triton.grid",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Grid that does not fit the block size",
    doc="""The grid says how many programs run, the block size how much each one does; their product must cover the size. A
grid that divides by another number than the launched block size, or that rounds down, leaves elements out or
computes them twice. Write `grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)`, which stays right when the
block size is tuned.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(triton.cdiv(n, 1024),)](y, n, BLOCK=512)
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](y, n, BLOCK=512)
""",
    check=check,
)
