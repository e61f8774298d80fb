"""A load or store of whole tiles whose last tile can run past the end of the tensor."""

import ast
from collections.abc import Iterator

from kernelwright.source.bindings import Loop
from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import Scope, is_extent, source
from kernelwright.source.findings.triton import Tile, TritonUnit, grid_axis
from kernelwright.source.trees import operator, walk
from kernelwright.source.triton.reader import Access, is_absent
from kernelwright.values import Language

_LIMITS = ("where", "minimum", "clamp", "load", "make_block_ptr", "make_tensor_descriptor", "advance")
_PROMISES = ("static_assert", "device_assert", "assume")
_PADDERS = ("torch.nn.functional.pad", "math.gcd")


def check(unit: TritonUnit) -> Iterator[Problem]:
    if _promised(unit) or (unit.is_nested and not unit.launches):
        return  # who launches a kernel that a function returns may promise it elsewhere
    for access in unit.loads_and_stores:
        if not is_absent(access.mask) or _is_guarded(unit, access.call):
            continue
        if not is_absent(argument(access.call, 3, "boundary_check")):
            continue
        if any(_limits(unit, part) for part in unit.walk(access.pointer)):
            continue
        tile = next((t for t in unit.tiles(access.pointer) if _overruns(unit, access, t)), None)
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
    for other in unit.loads_and_stores if offsets is not None else ():
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
        return unit.has_lanes(part.left) or part not in unit.parents  # a helper's is of what it is given
    return unit.scope.tl(part) in _LIMITS


def _is_guarded(unit: TritonUnit, call: ast.Call) -> bool:
    return any(isinstance(above, ast.If | ast.IfExp) for above in unit.above(call))


def _overruns(unit: TritonUnit, access: Access, tile: Tile) -> bool:
    if _is_whole_extent(unit, tile.block) or set(unit.numbers(tile.block)) == {1}:
        return False
    if tile.how == "whole":
        return _is_rounded_up(unit, tile.block)
    if tile.how == "program" and (_grid_drops_the_tail(unit, tile) or _has_a_program_a_block(unit, tile)):
        return False
    loops = [loop for loop in unit.loops if loop == tile.loop or _advances(unit, loop.node, access)]
    return not any(_leaves_the_tail(unit, loop, tile.block) or _counts_blocks(unit, loop) for loop in loops)


def _advances(unit: TritonUnit, loop: ast.For, access: Access) -> bool:
    """Tell whether the access stands in a loop whose steps move its pointer on, as in `offs += BLOCK`."""
    if loop not in unit.above(access.call):
        return False
    moved = {n.target.id for n in walk(loop) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return any(isinstance(part, ast.Name) and part.id in moved for part in unit.scope.walk(access.pointer))


def _is_whole_extent(unit: TritonUnit, block: ast.expr) -> bool:
    """Whether every launch passes a tensor's own extent as this block: row * D + arange(0, D) fits exactly."""
    passed = _passed(unit, block)
    return bool(passed) and all(
        is_extent(scope, value) or ((size := _rounded(scope, value)) is not None and _is_power_of_two(scope, size))
        for scope, value in passed
    )


def _is_rounded_up(unit: TritonUnit, block: ast.expr) -> bool:
    """Whether a launch passes the next power of two of a size as this block."""
    return any(
        scope.number(value) is None and _rounded(scope, value) is not None for scope, value in _passed(unit, block)
    )


def _passed(unit: TritonUnit, block: ast.expr) -> list[tuple[Scope, ast.expr]]:
    name = block.id if isinstance(block, ast.Name) else ""
    return [(site.scope, site.bindings[name]) for site in unit.launches if name in site.bindings]


def _rounded(scope: Scope, value: ast.expr) -> ast.expr | None:
    """Find the size in triton.next_power_of_2(size)."""
    match scope.single(value):
        case ast.Call(args=[size]) as call if scope.canonical(call) == "triton.next_power_of_2":
            return size
    return None


def _is_power_of_two(scope: Scope, size: ast.expr) -> bool:
    """Tell whether the launcher asserts that a size is a power of two: `d in {32, 64}`, `d & (d - 1) == 0`, rounding it."""
    same = (source(size), source(scope.single(size)))
    for node in walk(scope.function) if scope.function else ():
        if not isinstance(node, ast.Assert):
            continue
        for test in (part for part in walk(node.test) if isinstance(part, ast.Compare)):
            match test:
                case ast.Compare(
                    left=left, ops=[ast.In()], comparators=[ast.Set() | ast.List() | ast.Tuple() as among]
                ):
                    numbers = [scope.number(one) for one in among.elts]
                    if source(left) in same and all(n is not None and n > 0 and n & (n - 1) == 0 for n in numbers):
                        return True
                case ast.Compare(ops=[ast.Eq()]):
                    parts = [source(part) for part in walk(test) if isinstance(part, ast.expr)]
                    folds = any(isinstance(operator(part), ast.BitAnd) for part in walk(test))
                    rounds = any("next_power_of_2" in part for part in parts)
                    if (folds or rounds) and any(part in same for part in parts):
                        return True
    return False


def _grid_drops_the_tail(unit: TritonUnit, tile: Tile) -> bool:
    """A grid of n // BLOCK programs leaves the tail out instead; that is another finding."""
    for site in unit.launches:
        parts = tuple(site.scope.walk(site.grid))
        rounds_up = any(site.scope.canonical(p) == "triton.cdiv" for p in parts if isinstance(p, ast.Call))
        divides = any(isinstance(p, ast.BinOp) and isinstance(p.op, ast.FloorDiv) and not _rounds_up(p) for p in parts)
        if divides and not rounds_up:
            return True
    return False


def _has_a_program_a_block(unit: TritonUnit, tile: Tile) -> bool:
    """Tell whether the grid counts blocks without dividing by anything, as in kernel[(rows,)]: then none is cut."""
    grids = [(site.scope, grid_axis(site, tile.axis or 0)) for site in unit.launches]
    return bool(grids) and all(
        grid is not None and all(_counts(scope, part) for part in scope.walk(grid)) for scope, grid in grids
    )


def _counts(scope: Scope, part: ast.AST) -> bool:
    """Tell whether a part of a grid divides nothing, as far as the launcher's text tells."""
    match part:
        case ast.BinOp(op=ast.FloorDiv() | ast.Div()):
            return False
        case ast.Call():
            plain = isinstance(part.func, ast.Name) and part.func.id in ("list", "tuple", "len", "int")
            return plain or scope.canonical(part) == "math.prod" or getattr(part.func, "attr", "") in ("size", "numel")
        case ast.Attribute(attr=attr):
            return attr in ("shape", "size", "numel", "ndim") or scope.canonical(part) == "math.prod"
    return True


def _leaves_the_tail(unit: TritonUnit, loop: Loop, block: ast.expr) -> bool:
    """Tell whether a loop runs over whole blocks alone: what remains, or the first one, is read by other code."""
    if loop.range is None:
        return False
    args = loop.range.args
    start, stop = (args[0], args[1]) if len(args) > 1 else (None, args[0] if args else loop.range)
    if start is not None and unit.same(start, block):
        return True
    return any(_is_of_whole_blocks(unit, part) for part in unit.walk(stop))


def _counts_blocks(unit: TritonUnit, loop: Loop) -> bool:
    """Tell whether a loop turns as often as a compile-time parameter says that nobody has rounded up: so many whole blocks."""
    args = loop.range.args if loop.range is not None else []
    if len(args) != 1 or not isinstance(args[0], ast.Name) or args[0].id not in unit.constexprs:
        return False
    passed = [(site.scope, site.bindings[args[0].id]) for site in unit.launches if args[0].id in site.bindings]
    return all(_counts(scope, part) for scope, value in passed for part in scope.walk(value))


def _is_of_whole_blocks(unit: TritonUnit, part: ast.AST) -> bool:
    match part:
        case ast.BinOp(op=ast.FloorDiv(), left=left):
            return not _rounds_up(left)
        case ast.BinOp(op=ast.Mod() | ast.RShift() | ast.BitAnd()):
            return True
        case ast.BinOp(op=ast.Sub(), right=ast.Constant(value=int())):  # range(0, tl.cdiv(n, BLOCK) - 1)
            return True
        case ast.BinOp(op=ast.Mult(), left=left, right=right):  # (pid + 1) * BLOCK
            return any(
                isinstance(side, ast.Name) and side.id in unit.block_sizes | unit.steps for side in (left, right)
            )
    return False


def _rounds_up(numerator: ast.expr) -> bool:
    """Recognise the (n + BLOCK - 1) of (n + BLOCK - 1) // BLOCK, or the -n of -(-n // BLOCK)."""
    return any(isinstance(operator(n), ast.Add | ast.USub) for n in walk(numerator))


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
        case ast.Assert(test=test) | ast.If(test=test):
            return _has_modulo(test)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _rounded_to(scope, left, right) or _rounded_to(scope, right, left)
        case ast.Call():
            return scope.canonical(node) in _PADDERS
    return False


def _rounded_to(scope: Scope, count: ast.expr, block: ast.expr) -> bool:
    """Tell whether `count * block` is a size that is rounded up to a multiple: a tensor of it has room for whole blocks."""
    match count:
        case ast.Call(args=[_, by]) if scope.canonical(count) == "triton.cdiv":
            return source(by) == source(block)
        case ast.Call(args=[ast.BinOp(op=ast.Div(), right=by)]) if scope.canonical(count) == "math.ceil":
            return source(by) == source(block)
        case ast.BinOp(left=numerator, op=ast.FloorDiv(), right=by):
            return source(by) == source(block) and _rounds_up(numerator)
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
