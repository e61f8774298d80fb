"""An offset that leaves 32 bits for the sizes of the workload."""

import ast
from collections.abc import Iterator, Mapping

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.sizes import Size, evaluate, meta, named
from kernelwright.source.findings.triton import LaunchSite, TritonUnit, grid_axis
from kernelwright.values import Language

_LIMIT = 2**31 - 1
_WIDE = ("triton.language.int64", "triton.language.uint64")


def check(unit: TritonUnit) -> Iterator[Problem]:
    for site in unit.launches:
        function = site.scope.function
        arguments = unit.sizes.get(function.name) if function is not None else None
        if arguments is None:
            continue
        known = _known(unit, site, named(site.scope, arguments))
        yield from _products(unit, known)


def _known(unit: TritonUnit, site: LaunchSite, sizes: Mapping[str, Size]) -> dict[str, int]:
    """The kernel's parameters as numbers for this workload."""
    known = {name: n for name, value in site.bindings.items() if (n := evaluate(site.scope, value, sizes)) is not None}
    configured = [n for c in unit.configs or () for name, v in c.values.items() if (n := unit.scope.number(v)) and name]
    return known if not configured else {**{k: v for g in unit.geometries for k, v in g.items()}, **known}


def _products(unit: TritonUnit, known: Mapping[str, int]) -> Iterator[Problem]:
    """Products of a program id or loop variable with a size, where the largest index needs more than 32 bits."""
    for node in unit.nodes:
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)) or node not in unit.in_pointers:
            continue
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            stride = unit.scope.number(other, known)
            rows = _rows(unit, factor, known)
            if stride is None or rows is None or stride > _LIMIT or _is_wide(unit, factor) or _is_wide(unit, other):
                continue
            largest = (rows - 1) * stride
            if largest > _LIMIT:
                yield _problem(unit, node, factor, largest)
                break


def _problem(unit: TritonUnit, node: ast.BinOp, factor: ast.expr, largest: int) -> Problem:
    message = (
        f"{source(node)} reaches {largest:,} for this workload and overflows 32 bits: "
        "convert one factor to tl.int64 before multiplying."
    )
    prefix = unit.aliases.spelled("triton.language")
    if prefix is None or not isinstance(factor, ast.Name | ast.Call):
        return Problem(node, message)
    change = Change(factor, f".to({prefix}.int64)", after=True)
    return Problem(node, message, fix="Multiply in 64 bits", changes=(change,))


def _rows(unit: TritonUnit, factor: ast.expr, known: Mapping[str, int]) -> int | None:
    """How many values a program id or a range of lanes takes: as many as the size that its mask or grid names."""
    resolved = unit.scope.single(factor)
    if isinstance(resolved, ast.Call) and unit.scope.tl(resolved) == "program_id":
        return _programs(unit, unit.scope.number(argument(resolved, 0, "axis")) or 0, known)
    return _bounded_by(unit, factor, known)


def _programs(unit: TritonUnit, axis: int, known: Mapping[str, int]) -> int | None:
    for site in unit.launches:
        arguments = unit.sizes.get(site.scope.function.name) if site.scope.function else None
        expression = grid_axis(site, axis)
        if arguments is not None and expression is not None:
            blocks = {meta(name): value for name, value in known.items()}
            return evaluate(site.scope, expression, {**named(site.scope, arguments), **blocks})
    return None


def _bounded_by(unit: TritonUnit, factor: ast.expr, known: Mapping[str, int]) -> int | None:
    """The size in `offs_m < M`, for offs_m or offs_m[:, None]."""
    name = factor.value if isinstance(factor, ast.Subscript) else factor
    if not isinstance(name, ast.Name):
        return None
    for node in unit.nodes:
        match node:
            case ast.Compare(left=left, ops=[ast.Lt()], comparators=[bound]):
                left = left.value if isinstance(left, ast.Subscript) else left
                if isinstance(left, ast.Name) and left.id == name.id:
                    return unit.scope.number(bound, known)
    return None


def _is_wide(unit: TritonUnit, node: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Name | ast.Attribute) and unit.scope.canonical(part) in _WIDE
        for part in unit.scope.walk(node)
    )


RULE = Rule(
    code="triton.int32-offset",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Offset that overflows 32 bits for the workload's sizes",
    doc="""`tl.program_id` and `tl.arange` are 32 bits wide, and so is their product with a stride. On a tensor of more
than 2**31 elements it wraps around and the kernel reads or writes somewhere else. Convert one factor first:
`row.to(tl.int64) * stride`. Told for the sizes of the performance case of the workload; without a workload
there is nothing to say.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def zero_rows(y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + row * n_cols + cols, 0.0, mask=cols < n_cols)

def clear(y):
    n_rows, n_cols = y.shape
    zero_rows[(n_rows,)](y, n_cols, BLOCK=triton.next_power_of_2(n_cols))

# workload: clear(zeros(262144, 16384))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def zero_rows(y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    tl.store(y_ptr + row * n_cols + cols, 0.0, mask=cols < n_cols)

def clear(y):
    n_rows, n_cols = y.shape
    zero_rows[(n_rows,)](y, n_cols, BLOCK=triton.next_power_of_2(n_cols))

# workload: clear(zeros(262144, 16384))
""",
    check=check,
)
