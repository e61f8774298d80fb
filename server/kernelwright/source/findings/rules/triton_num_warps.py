"""More threads than the block has elements."""

import ast
import math
from collections.abc import Iterator, Mapping

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.triton import Setting, TritonUnit
from kernelwright.values import Language

_WARP = 32
_OTHERWISE = ("make_block_ptr", "make_tensor_descriptor", "dot", "zeros", "full", "reshape", "ones")  # makes tiles

_Tiles = frozenset[tuple[ast.expr | None, ...]]  # the extents of each pointer's ranges


def check(unit: TritonUnit) -> Iterator[Problem]:
    tiles = _tiles(unit)
    for setting in unit.settings:
        if "num_warps" in setting.numbers and (setting.tuned or not unit.autotune):
            yield from _judge(unit, tiles, setting)


def _judge(unit: TritonUnit, tiles: _Tiles | None, setting: Setting) -> Iterator[Problem]:
    warps, elements = setting.numbers["num_warps"], _elements(unit, tiles, setting.numbers)
    if elements is None or warps * _WARP <= elements:
        return
    enough = max(1, elements // _WARP)
    message = (
        f"{warps} warps are {warps * _WARP} threads for a block of {elements} elements: the rest repeat the same work. "
        f"{enough} {'warp is' if enough == 1 else 'warps are'} enough."
    )
    node = setting.values["num_warps"]
    yield Problem(node, message, setting.segment, f"Use num_warps={enough}", (Change(node, str(enough)),))


def _tiles(unit: TritonUnit) -> _Tiles | None:
    """The tiles that the kernel loads and stores; None when some are not made of ranges alone."""
    if any(kind in _OTHERWISE for kind, _ in unit.calls):
        return None
    ends = {lanes.call: lanes.end for lanes in unit.lanes}
    return frozenset(
        tuple(ends[part] for part in unit.scope.walk(access.pointer) if isinstance(part, ast.Call) and part in ends)
        for access in unit.loads_and_stores
    )


def _elements(unit: TritonUnit, tiles: _Tiles | None, known: Mapping[str, int]) -> int | None:
    """The most elements that a tile of the kernel can have: the product of the ranges in one pointer; None if unknown."""
    if tiles is None:
        return None
    sizes: list[int] = []
    for tile in tiles:
        extents = [n for extent in tile if (n := unit.scope.number(extent, known)) is not None]
        if len(extents) < len(tile):
            return None
        sizes.append(math.prod(extents))
    largest = max(sizes, default=1)
    return largest if largest > 1 else None


RULE = Rule(
    code="triton.num-warps",
    language=Language.TRITON,
    severity=Severity.HINT,
    title="More threads than the block has elements",
    doc="""A program has `32 * num_warps` threads. When its tile has fewer elements, the surplus threads compute the same
elements again; they take registers and scheduling slots from other programs.""",
    example_wrong="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(triton.cdiv(n, 64),)](y, n, BLOCK=64, num_warps=8)
""",
    example_right="""
import triton, triton.language as tl

@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)

def clear(y):
    n = y.numel()
    zero[(triton.cdiv(n, 64),)](y, n, BLOCK=64, num_warps=2)
""",
    check=check,
)
