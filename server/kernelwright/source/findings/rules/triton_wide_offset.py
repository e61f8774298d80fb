"""Finds 64-bit offsets into tensors that 32 bits are enough for."""

import ast
import math
from collections.abc import Iterator

from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.sizes import named, tensor_of
from kernelwright.source.findings.triton import LaunchSite, TritonUnit
from kernelwright.values import Language

_LIMIT = 2**31
_WIDE = ("triton.language.int64", "triton.language.uint64")


def check(unit: TritonUnit) -> Iterator[Problem]:
    if not unit.sizes or not unit.launches:
        return
    widened = [node for node in unit.nodes if _widens_lanes(unit, node)]
    if not widened:
        return
    sizes = [_largest(unit, site) for site in unit.launches]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or max(known) >= _LIMIT:
        return
    for node in widened:
        yield Problem(
            node,
            f"{source(node)} makes 64-bit offsets, and no tensor of this workload has more than {max(known):,} elements: "
            "32-bit offsets are enough, with half the registers and fewer instructions.",
        )


def _widens_lanes(unit: TritonUnit, node: ast.AST) -> bool:
    """Tell whether it converts a range of lanes that is part of a pointer; converting one number costs nothing."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[dtype]):
            return unit.canonical(dtype) in _WIDE and node in unit.in_pointers and unit.has_lanes(value)
    return False


def _largest(unit: TritonUnit, site: LaunchSite) -> int | None:
    """Count the elements of the largest tensor that a launch passes to be read or written; None when not known."""
    arguments = unit.sizes.get(site.scope.function.name) if site.scope.function else None
    if arguments is None:
        return None
    sizes = named(site.scope, arguments)
    found: list[int] = []
    pointers = {part.id for part in unit.in_pointers if isinstance(part, ast.Name)} - unit.constexprs
    for name, value in site.bindings.items():
        if name not in pointers or isinstance(site.scope.single(value), ast.Constant):
            continue
        shape = tensor_of(site.scope, value, sizes)
        if shape is not None:
            found.append(math.prod(shape))
        elif any(one.kind in ("load", "store") and _begins(unit, one.pointer, name) for one in unit.accesses):
            return None
    return max(found, default=None)


def _begins(unit: TritonUnit, pointer: ast.expr, name: str) -> bool:
    """Tell whether the pointer is a sum that begins with this parameter."""
    while True:
        resolved = unit.scope.single(pointer)
        if isinstance(resolved, ast.BinOp) and isinstance(resolved.op, ast.Add):
            pointer = resolved.left
        elif resolved is not pointer:
            pointer = resolved
        else:
            return isinstance(pointer, ast.Name) and pointer.id == name


RULE = Rule(
    code="triton.wide-offset",
    language=Language.TRITON,
    severity=Severity.HINT,
    title="64-bit offsets where 32 bits are enough",
    doc="""A GPU multiplies and adds 32-bit integers in one instruction; 64-bit ones take several, and two registers a lane.
Converting a whole `tl.arange` to `tl.int64` pays that for every element, while converting the program id costs one
scalar. Told for the sizes of the performance case of the workload, where no tensor has 2**31 elements; what larger
tensors need is `triton.int32-offset`.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    zero[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)

# workload: clear(zeros(4096, 4096))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    zero[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)

# workload: clear(zeros(4096, 4096))
""",
    check=check,
)
