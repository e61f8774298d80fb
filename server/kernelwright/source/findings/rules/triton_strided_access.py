"""An access whose neighbouring lanes are far apart in memory."""

import ast
from collections.abc import Iterator

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope, is_extent, source
from kernelwright.source.findings.tensor_names import TURNING
from kernelwright.source.findings.triton import Range, TritonUnit
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import Access
from kernelwright.values import Language

_NEAR = 8  # elements of four bytes in a sector: lanes closer than that share one
_FEW = 4  # lanes that touch no more sectors than are worth saving
_DESCRIBED = 2  # dimensions of what a descriptor moves, at least
_FOLDS = (ast.Mod, ast.FloorDiv, ast.BitAnd, ast.BitXor, ast.RShift)


def check(unit: TritonUnit) -> Iterator[Problem]:
    for access in unit.loads_and_stores:
        ranges = unit.ranges(access.pointer)
        strides = [_far(unit, one.factors) for one in ranges]
        if not strides or not all(strides) or _has_few_lanes(unit, ranges[-1]) or _from_data(unit, access.pointer):
            continue
        if _is_beside_a_larger(unit, access):
            continue  # a scale for each row of a tile is little beside the tile
        yield Problem(
            access.call,
            f"Neighbouring lanes are {strides[-1]} elements apart, so most of each 32-byte sector that is moved goes unused: "
            "let the contiguous dimension vary fastest.",
        )


def _is_beside_a_larger(unit: TritonUnit, access: Access) -> bool:
    """Tell whether the kernel moves tiles of more dimensions than this access, at least as often."""
    own, loops = _dimensions(unit, access), _loops_around(unit, access)
    return any(_dimensions(unit, other) > own and _loops_around(unit, other) >= loops for other in unit.accesses)


def _dimensions(unit: TritonUnit, access: Access) -> int:
    return _DESCRIBED if access.of_object else len({one.call for one in unit.ranges(access.pointer)})


def _loops_around(unit: TritonUnit, access: Access) -> int:
    return sum(isinstance(above, ast.For | ast.While) for above in unit.above(access.call))


def _has_few_lanes(unit: TritonUnit, lanes: Range) -> bool:
    return any(count <= _FEW for count in unit.numbers(argument(lanes.call, 1, "end") or lanes.call))


def _from_data(unit: TritonUnit, pointer: ast.expr) -> bool:
    """An index that is read from memory, or folded by arithmetic on the lanes, has no stride to speak of."""
    return any(
        unit.scope.tl(part) in ("load", "where", "make_block_ptr", "make_tensor_descriptor")
        or (isinstance(part, ast.BinOp) and isinstance(part.op, _FOLDS) and unit.has_lanes(part))
        for part in unit.scope.walk(pointer)
    )


def _far(unit: TritonUnit, factors: tuple[ast.expr, ...]) -> str:
    """The stride in words when it is certainly far, "" otherwise."""
    for factor in factors:
        number = unit.scope.number(factor)
        if number is not None:
            if number >= _NEAR:
                return str(number)
            continue
        resolved = unit.scope.single(factor)
        if isinstance(resolved, ast.Name) and _is_far_parameter(unit, resolved.id):
            return source(factor)
    return ""


def _is_far_parameter(unit: TritonUnit, name: str) -> bool:
    """Every launch passes a size, or the stride of a dimension that is not the innermost one."""
    passed = [(site.scope, site.bindings[name]) for site in unit.launches if name in site.bindings]
    return bool(passed) and all(_is_far(unit, scope, value) for scope, value in passed)


def _is_far(unit: TritonUnit, scope: Scope, value: ast.expr) -> bool:
    number = scope.number(value)
    if number is not None:
        return number >= _NEAR
    if is_extent(scope, value):
        return True
    match scope.single(value):
        case ast.Call(func=ast.Attribute(value=tensor, attr="stride"), args=[dimension]):
            at = scope.number(dimension)
            far = at is not None and (at < -1 or (at >= 0 and _has_later_stride(scope, tensor, at)))
            return far and not _may_be_turned(scope, tensor)
    return False


def _may_be_turned(scope: Scope, tensor: ast.expr) -> bool:
    """Tell whether the launcher lays the tensor out in another order, or asserts something of its layout."""
    name = source(tensor)
    if any(getattr(part, "attr", "") in TURNING for part in scope.walk(tensor)):
        return True
    return any(
        isinstance(call, ast.Call)
        and (any(source(given) == name for given in call.args) or source(call.func) == f"{name}.stride")
        for test in scope.asserted
        for call in walk(test)
    )


def _has_later_stride(scope: Scope, tensor: ast.expr, dimension: int) -> bool:
    """Whether the launcher also asks for the stride of a later dimension of the same tensor."""
    return any(
        of == source(tensor) and (at := scope.number(later)) is not None and at > dimension
        for of, later in scope.strides_asked
    )


RULE = Rule(
    code="triton.strided-access",
    language=Language.TRITON,
    severity=Severity.HINT,
    title="Uncoalesced access: neighbouring lanes are far apart",
    doc="""Memory is moved in sectors of 32 bytes. When neighbouring lanes read neighbouring elements, every byte of a
sector is used; when they are a row apart, each lane moves a sector of its own and most of it is thrown away.
Let the `tl.arange` of the contiguous dimension be the one that is not multiplied by a stride, or load a
two-dimensional tile. Not said of one element for each row of a tile that is moved beside it.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def column_sum(x_ptr, y_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    col = tl.program_id(0)
    rows = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows * n_cols + col, mask=rows < n_rows, other=0.0)
    tl.store(y_ptr + col, tl.sum(x, axis=0))

def total(x, y):
    n_rows, n_cols = x.shape
    column_sum[(n_cols,)](x, y, n_rows, n_cols, BLOCK=triton.next_power_of_2(n_rows))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def row_sum(x_ptr, y_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))

def total(x, y):
    n_rows, n_cols = x.shape
    row_sum[(n_rows,)](x, y, n_rows, n_cols, BLOCK=triton.next_power_of_2(n_cols))
""",
    check=check,
)
