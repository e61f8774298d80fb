"""Finds copies made contiguous for a kernel that indexes by strides."""

import ast
from collections.abc import Iterable, Iterator

from kernelwright.source.findings.reaching import PASSED
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.tensor_names import TURNING
from kernelwright.source.findings.triton import LaunchSite, TritonUnit
from kernelwright.source.trees import walk
from kernelwright.values import Language

_ASKED = ("stride", "shape", "size", "dtype", "device", "ndim", "dim", "numel", "is_cuda", "element_size")


def check(unit: TritonUnit) -> Iterator[Problem]:
    for site in unit.launches:
        for parameter, value in site.bindings.items():
            copied = _copied(site, value)
            if copied is None or not isinstance(value, ast.Name):
                continue
            copy = site.scope.single(value)
            if not _goes_by_strides(unit, site, parameter, value.id) or _is_used_otherwise(site, value.id, copy):
                continue
            changes = () if source(copied) == value.id else (Change(copy, source(copied)),)
            yield Problem(
                copy,
                f"{unit.function.name} indexes {value.id} by strides that it is given, so it can read it in any layout: "
                "this .contiguous() may be a copy for nothing.",
                site.segment,
                "Drop .contiguous()" if changes else "",
                changes,
            )


def _copied(site: LaunchSite, value: ast.expr) -> ast.expr | None:
    """Find x where the value is a name for `x.contiguous()`, unless x is turned: that lays it out anew on purpose."""
    match site.scope.single(value):
        case ast.Call(func=ast.Attribute(value=copied, attr="contiguous"), args=[], keywords=[]):
            turned = any(getattr(part, "attr", "") in TURNING for part in walk(copied))
            return None if turned else copied
    return None


def _goes_by_strides(unit: TritonUnit, site: LaunchSite, parameter: str, tensor: str) -> bool:
    """Tell whether the kernel only reads the tensor, at sums of products with strides of it that the launch passes."""
    strides = frozenset(
        name
        for name, value in site.bindings.items()
        for part in walk(site.scope.single(value))
        if isinstance(part, ast.Attribute)
        and part.attr == "stride"
        and isinstance(part.value, ast.Name)
        and part.value.id == tensor
    )
    accesses = [one for one in unit.accesses if _names(unit.scope.walk(one.pointer), parameter)]
    handed_on = any(
        _names(walk(argument), parameter)
        for node in unit.nodes
        if isinstance(node, ast.Call)
        and (not unit.tl(node) or unit.tl(node) in ("make_block_ptr", "make_tensor_descriptor"))
        for argument in (*node.args, *(k.value for k in node.keywords))
    )
    strided = _Strided(unit, parameter, strides)
    return (
        bool(strides and accesses)
        and not handed_on
        and all(one.kind == "load" and strided.of(one.pointer) for one in accesses)
    )


def _names(nodes: Iterable[ast.AST], name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


class _Strided:
    """Tells which sums have a stride in every term, but for the pointer itself."""

    def __init__(self, unit: TritonUnit, parameter: str, strides: frozenset[str]) -> None:
        self._unit = unit
        self._parameter = parameter
        self._strides = strides
        self._known: dict[ast.expr, bool] = {}

    def of(self, node: ast.expr) -> bool:
        if node not in self._known:
            self._known[node] = True  # for a pointer that is advanced in a loop
            self._known[node] = self._of(node)
        return self._known[node]

    def _of(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                values = self._unit.scope.given(node) or (PASSED,)
                is_known = name == self._parameter or name in self._strides
                return all(is_known if value is PASSED else self.of(value) for value in values)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return self.of(left) and self.of(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return any(self._is_stride(side) or self._is_product(side) for side in (left, right))
            case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value, attr="to")):
                return self.of(value)
        return False

    def _is_stride(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="to")):
                return self._is_stride(value)
            case ast.Name(id=name):
                return name in self._strides
        return False

    def _is_product(self, node: ast.expr) -> bool:
        """Tell whether it is a product with a stride, or a sum of nothing else."""
        resolved = self._unit.scope.single(node)
        return isinstance(resolved, ast.BinOp) and self.of(resolved)


def _is_used_otherwise(site: LaunchSite, tensor: str, copy: ast.expr) -> bool:
    """Tell whether the launching function does more with the copy than launch this kernel and ask for its sizes."""
    function = site.scope.function
    if function is None:
        return True
    own = set(walk(copy)) | {part for part in site.call.args if isinstance(part, ast.Name)}
    own |= {k.value for k in site.call.keywords if isinstance(k.value, ast.Name)}
    nodes = walk(function)
    own |= {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in _ASKED}
    uses = (n for n in nodes if isinstance(n, ast.Name) and n.id == tensor and isinstance(n.ctx, ast.Load))
    return any(use not in own and (use.lineno, use.col_offset) > (copy.lineno, copy.col_offset) for use in uses)


RULE = Rule(
    code="triton.needless-contiguous",
    language=Language.TRITON,
    severity=Severity.HINT,
    title="Needless .contiguous() before a launch",
    doc="""A kernel that is given the strides of a tensor, and multiplies every index by one of them, can read any layout.
`.contiguous()` before it reads and writes the whole tensor once more wherever it is not contiguous. Keep it where the
layout would be read badly: where neighbouring lanes would be far apart, measure both.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, sx_m, sx_n, sy_m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx_m + cols * sx_n, mask=cols < n)
    tl.store(y_ptr + row * sy_m + cols, 2 * x, mask=cols < n)

def run(x, y):
    rows, n = x.shape
    dense = x.contiguous()
    double[(rows,)](dense, y, n, dense.stride(0), dense.stride(1), y.stride(0), BLOCK=triton.next_power_of_2(n))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, sx_m, sx_n, sy_m, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * sx_m + cols * sx_n, mask=cols < n)
    tl.store(y_ptr + row * sy_m + cols, 2 * x, mask=cols < n)

def run(x, y):
    rows, n = x.shape
    double[(rows,)](x, y, n, x.stride(0), x.stride(1), y.stride(0), BLOCK=triton.next_power_of_2(n))
""",
    check=check,
)
