"""A load or store of whole tiles whose last tile can run past the end of the tensor."""

import ast
from collections.abc import Iterator

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope, is_extent, source
from kernelwright.source.findings.triton import Tile, TritonUnit
from kernelwright.source.trees import operator, walk
from kernelwright.source.triton.reader import Access, is_absent
from kernelwright.values import Language

_LIMITS = ("where", "minimum", "clamp", "load", "make_block_ptr", "make_tensor_descriptor", "advance")
_PROMISES = ("static_assert", "device_assert", "assume")
_PADDERS = ("torch.nn.functional.pad", "math.gcd")


def check(unit: TritonUnit) -> Iterator[Problem]:
    if _promised(unit):
        return
    for access in unit.loads_and_stores:
        if not is_absent(access.mask) or _is_guarded(unit, access.call):
            continue
        if not is_absent(argument(access.call, 3, "boundary_check")):
            continue
        if any(_limits(unit, part) for part in unit.scope.walk(access.pointer)):
            continue
        tile = next((t for t in unit.tiles(access.pointer) if _overruns(unit, t)), None)
        if tile is not None:
            yield _problem(unit, access, tile)


def _problem(unit: TritonUnit, access: Access, tile: Tile) -> Problem:
    kind, call, block = access.kind, access.call, source(tile.block)
    message = (
        f"This {kind} runs past the end when the size is no multiple of {block}: "
        "give it a mask, or assert in the launcher that the size is divisible."
    )
    mask = _neighbours_mask(unit, access)
    if mask is None:
        return Problem(call, message)
    addition = f", mask={mask}" + (", other=0.0" if kind == "load" else "")
    last = call.keywords[-1].value if call.keywords else call.args[-1]
    return Problem(call, message, fix=f"Add mask={mask}", changes=(Change(last, addition, after=True),))


def _neighbours_mask(unit: TritonUnit, access: Access) -> str | None:
    """The mask that another access with the same offsets uses, if it is a name assigned before."""
    offsets, line = _offsets(access.pointer), access.call.lineno
    for other in unit.loads_and_stores:
        mask = other.mask if other is not access and _offsets(other.pointer) == offsets else None
        if isinstance(mask, ast.Name) and any(
            isinstance(n, ast.Name) and n.id == mask.id and isinstance(n.ctx, ast.Store) and n.lineno < line
            for n in unit.nodes
        ):
            return mask.id
    return None


def _offsets(pointer: ast.expr) -> str | None:
    match pointer:
        case ast.BinOp(op=ast.Add(), right=right):
            return source(right)
    return None


def _limits(unit: TritonUnit, part: ast.AST) -> bool:
    """Whether this part keeps the index within bounds (or takes it from data, which cannot be judged here)."""
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
        return unit.has_lanes(part.left)
    return unit.scope.tl(part) in _LIMITS


def _is_guarded(unit: TritonUnit, call: ast.Call) -> bool:
    return any(isinstance(above, ast.If | ast.IfExp) for above in unit.above(call))


def _overruns(unit: TritonUnit, tile: Tile) -> bool:
    if _is_whole_extent(unit, tile.block):
        return False
    if tile.how == "program":
        return not _grid_drops_the_tail(unit, tile)
    if tile.how == "loop":
        return not _loop_drops_the_tail(unit)
    return _is_rounded_up(unit, tile.block)


def _is_whole_extent(unit: TritonUnit, block: ast.expr) -> bool:
    """Whether every launch passes a tensor's own extent as this block: row * D + arange(0, D) fits exactly."""
    if not isinstance(block, ast.Name):
        return False
    passed = [(site.scope, site.bindings[block.id]) for site in unit.launches if block.id in site.bindings]
    return bool(passed) and all(is_extent(scope, value) for scope, value in passed)


def _is_rounded_up(unit: TritonUnit, block: ast.expr) -> bool:
    """Whether a launch passes the next power of two of a size as this block."""
    if not isinstance(block, ast.Name):
        return False
    for site in unit.launches:
        passed = site.bindings.get(block.id)
        if passed is not None and site.scope.number(passed) is None:
            resolved = site.scope.single(passed)
            if isinstance(resolved, ast.Call) and site.scope.canonical(resolved) == "triton.next_power_of_2":
                return True
    return False


def _grid_drops_the_tail(unit: TritonUnit, tile: Tile) -> bool:
    """A grid of n // BLOCK programs leaves the tail out instead; that is another finding."""
    for site in unit.launches:
        parts = tuple(site.scope.walk(site.grid))
        rounds_up = any(site.scope.canonical(p) == "triton.cdiv" for p in parts if isinstance(p, ast.Call))
        divides = any(
            isinstance(p, ast.BinOp)
            and isinstance(p.op, ast.FloorDiv)
            and not any(isinstance(operator(n), ast.Add | ast.USub) for n in walk(p))
            for p in parts
        )
        if divides and not rounds_up:
            return True
    return False


def _loop_drops_the_tail(unit: TritonUnit) -> bool:
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
        for loop in unit.scope.loops.values()
        if loop.range is not None
        for part in unit.scope.walk(loop.range)
    )


def _promised(unit: TritonUnit) -> bool:
    """Whether the kernel or a launcher states that sizes are divisible, pads them, or leaves configurations out."""
    if any(kind in _PROMISES for kind, _ in unit.calls):
        return True
    if unit.autotune is not None and not is_absent(argument(unit.autotune, 2, "prune_configs_by")):
        return True
    return any(
        _states(site.scope, node) for site in unit.launches if site.scope.function for node in walk(site.scope.function)
    )


def _states(scope: Scope, node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=test):
            return _has_modulo(test)
        case ast.If(test=test):
            return _has_modulo(test)
        case (
            ast.BinOp(left=ast.Call() as rounded, op=ast.Mult()) | ast.BinOp(op=ast.Mult(), right=ast.Call() as rounded)
        ):
            return scope.canonical(rounded) == "triton.cdiv"
        case ast.Call():
            return scope.canonical(node) in _PADDERS
    return False


def _has_modulo(test: ast.expr) -> bool:
    return any(isinstance(operator(n), ast.Mod) for n in walk(test))


RULE = Rule(
    code="triton.unmasked-access",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Access without a mask can run past the end",
    doc="""A program handles a whole tile. Unless the size is a multiple of the block size, the last tile reaches past the
end of the tensor: a load reads foreign memory, a store overwrites it. Compare the offsets with the size and
pass the result as `mask`. Where the size is always divisible, say so with an `assert` in the launching function
(or `tl.static_assert`, `tl.assume`).""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs))
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(y_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask), mask=mask)
""",
    check=check,
)
