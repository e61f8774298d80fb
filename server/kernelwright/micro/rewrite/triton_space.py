"""Which block sizes, warps and stages are worth trying for a Triton kernel: pruned lists, best guess first.

Matmul tiles come from what is known to run well per GPU generation, checked against shared memory and the registers of
the accumulator; streaming kernels are chosen by bytes a thread handles (16 to 64 keep loads wide and occupancy high).
"""

import ast
import functools
import itertools
import operator
import re
from collections.abc import Callable, Iterator, Mapping

from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.micro.rewrite.triton_source import integer
from kernelwright.schedule.limits import WARP, shared_limit
from kernelwright.source.calls import argument
from kernelwright.source.triton.masks import unmasked
from kernelwright.values import Workload

Choice = Mapping[str, int]
"""Values of the block sizes by the kernel's names, with "num_warps" and "num_stages"."""

_MOST_VARIANTS = 24

COMPARED: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_COMPUTED: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip

# (BLOCK_M, BLOCK_N, BLOCK_K in bytes of the operands, num_warps, num_stages), best first.
_HOPPER_MATMUL = (
    (128, 256, 128, 8, 3),
    (128, 128, 128, 8, 3),
    (128, 128, 128, 4, 3),
    (256, 128, 128, 8, 3),
    (128, 128, 128, 8, 4),
    (64, 128, 128, 4, 4),
    (128, 64, 128, 4, 4),
    (64, 256, 128, 4, 3),
    (64, 256, 64, 4, 4),
    (128, 256, 64, 8, 4),
    (64, 64, 128, 4, 4),
    (64, 64, 128, 4, 5),
    (64, 64, 64, 4, 5),
    (128, 128, 64, 4, 4),
    (64, 32, 128, 4, 5),
    (32, 64, 128, 4, 5),
    (32, 32, 128, 2, 5),
    (16, 64, 128, 4, 5),
    (16, 128, 128, 4, 4),
    (128, 16, 128, 4, 4),
    (128, 32, 128, 4, 4),
    (32, 128, 128, 4, 4),
)
_AMPERE_MATMUL = (
    (128, 128, 64, 8, 3),
    (128, 256, 64, 8, 3),
    (128, 128, 64, 4, 4),
    (256, 128, 64, 8, 3),
    (128, 64, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (64, 256, 64, 4, 4),
    (128, 128, 128, 8, 2),
    (128, 128, 128, 8, 3),
    (64, 64, 64, 4, 4),
    (64, 64, 128, 4, 3),
    (64, 64, 64, 2, 5),
    (128, 32, 64, 4, 4),
    (32, 128, 64, 4, 4),
    (64, 32, 64, 2, 5),
    (32, 64, 64, 2, 5),
    (32, 32, 128, 2, 4),
    (16, 64, 128, 2, 4),
    (16, 128, 64, 4, 4),
    (128, 16, 64, 4, 4),
)


def choices(site: Site, workload: Workload | None, compute_capability: int | None) -> tuple[Choice, ...]:
    """Up to 24 sets of values that differ from the present one; empty when nothing is free."""
    found: list[Choice] = []
    for one in _proposed(site, workload, compute_capability):
        if one not in found and _fits(site, one):
            found.append(one)
            if len(found) == _MOST_VARIANTS:
                break
    return tuple(found)


def has_choice(site: Site, workload: Workload | None, compute_capability: int | None) -> bool:
    """Whether `choices` finds any; what lets no block grow is looked at first, since it costs the least."""
    proposed = functools.partial(_proposed, site, workload, compute_capability)
    smaller = (one for one in proposed() if not _growing(site, one))
    return any(_fits(site, one) for one in itertools.chain(smaller, proposed()))


def _proposed(site: Site, workload: Workload | None, compute_capability: int | None) -> Iterator[Choice]:
    """The values worth trying in place of the present ones, best first, whether the kernel can have them or not."""
    item = item_bytes(workload)
    shared = shared_limit(compute_capability)
    warps_free = any(option.name == "num_warps" for option in site.options)
    stages_free = any(option.name == "num_stages" for option in site.options)
    present = current(site)
    if has_dot(site):
        proposed = _dot_choices(site, item, shared, (compute_capability or 90) >= 90)
    elif len(site.tiles) == 1 and _is_broadcast(site):
        proposed = _row_choices(site)
    elif len(site.tiles) == 1:
        proposed = _stream_choices(site, item)
    elif len(site.tiles) > 1:
        proposed = _tile_choices(site, item)
    else:
        proposed = _whole_row_choices(site)
    for one in proposed:
        kept = {n: v for n, v in one.items() if (warps_free or n != "num_warps") and (stages_free or n != "num_stages")}
        if (full := {**present, **kept}) != present:
            yield full


def diverse(site: Site, found: tuple[Choice, ...], most: int) -> tuple[Choice, ...]:
    """The first `most` of `found`, those with block sizes not seen before going first, so that small sizes are served too."""
    present = current(site)
    seen = {tuple(present.get(tile.name) for tile in site.tiles)}
    fresh: list[Choice] = []
    for one in found:
        blocks = tuple(one.get(tile.name) for tile in site.tiles)
        if blocks not in seen:
            seen.add(blocks)
            fresh.append(one)
    rest = [one for one in found if one not in fresh]
    if len(fresh) > most:  # keep the best guesses and spread the rest over what is left
        head, tail = fresh[: most // 2], fresh[most // 2 :]
        wanted = most - len(head)
        return (*head, *(tail[i * len(tail) // wanted] for i in range(wanted)))
    return tuple([*fresh, *rest][:most])


def current(site: Site) -> Choice:
    """The present values, without those that are computed."""
    constants = (*site.tiles, *site.options)
    return {constant.name: constant.value for constant in constants if constant.value is not None}


def _fits(site: Site, choice: Choice) -> bool:
    """Whether names that one number serves agree, no block size grows whose lanes are reached without a mask, and the kernel's
    static assertions hold.
    """
    if not _asserted(site, choice):
        return False
    growing = _growing(site, choice)
    if growing and not growing.isdisjoint(unmasked(site.kernel.reading)):
        return False
    written: dict[tuple[tuple[int, int], str], int | None] = {}
    for constant in (*site.tiles, *site.options):
        value = choice.get(constant.name, constant.value)
        if any(written.setdefault((span, constant.key), value) != value for span in constant.spans):
            return False
    return True


def _growing(site: Site, choice: Choice) -> set[str]:
    """The block sizes that a choice makes larger."""
    return {tile.name for tile in site.tiles if tile.value is not None and choice.get(tile.name, 0) > tile.value}


def _asserted(site: Site, choice: Choice) -> bool:
    """Whether no `tl.static_assert` of the kernel refuses these values, as far as it compares numbers."""
    passed = {name: number for name, value in site.bound.items() if (number := integer(value)) is not None}
    known = {**passed, **choice}
    tests = (argument(call, 0, "cond") for name, call in site.kernel.reading.calls if name == "static_assert")
    return all(_holds(test, known) is not False for test in tests)


def _holds(test: ast.expr | None, known: Mapping[str, int]) -> bool | None:
    """Whether a comparison of numbers holds, or each part of an `and`; None where that is not known."""
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            answers = [_holds(part, known) for part in parts]
            return False if False in answers else None if None in answers else True
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            first, second = _number(left, known), _number(right, known)
            return None if first is None or second is None else COMPARED[type(op)](first, second)
    return None


def _number(node: ast.expr, known: Mapping[str, int]) -> int | None:
    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
            first, second = _number(left, known), _number(right, known)
            if first is None or second is None or (second == 0 and isinstance(op, ast.FloorDiv | ast.Mod)):
                return None
            return _COMPUTED[type(op)](first, second)
    return integer(node)


def described(choice: Choice) -> str:
    return ", ".join(f"{name}={value}" for name, value in choice.items())


def item_bytes(workload: Workload | None) -> int:
    """Bytes of an element as the performance case makes it: generators make float32 unless told otherwise."""
    text = workload.cases[0].text if workload and workload.cases else ""
    if re.search(r"float8|int8", text):
        return 1
    if re.search(r"\b(?:b?float16|half)\b", text):
        return 2
    return 8 if "float64" in text else 4


def has_dot(site: Site) -> bool:
    return any(name == "dot" for name, _ in site.kernel.reading.calls)


def has_loop(site: Site) -> bool:
    return any(isinstance(node, ast.For | ast.While) for node in site.kernel.reading.nodes)


def matmul_tiles(site: Site) -> tuple[str, str, str] | None:
    """The names of BLOCK_M, BLOCK_N and BLOCK_K by data flow: the accumulator's shape, and the tile the loop steps by."""
    free = {tile.name for tile in site.tiles}
    if len(free) != 3:
        return None
    steps = site.kernel.reading.steps
    for made, call in site.kernel.reading.calls:
        shape = argument(call, 0, "shape") if made in ("zeros", "full") else None
        if not isinstance(shape, ast.Tuple | ast.List):
            continue
        names = [e.id for e in shape.elts if isinstance(e, ast.Name)]
        rest = free - set(names)
        if len(set(names)) == 2 and set(names) <= free and rest <= steps:
            return names[0], names[1], rest.pop()
    return None


def _dot_choices(site: Site, item: int, shared: int, hopper: bool) -> Iterator[Choice]:
    tiles = matmul_tiles(site)
    if tiles is None:
        yield from _attention_choices(site)
        return
    m, n, k = tiles
    for block_m, block_n, k_bytes, warps, stages in _HOPPER_MATMUL if hopper else _AMPERE_MATMUL:
        block_k = max(k_bytes // item, 16)
        if (block_m + block_n) * block_k * item * stages > shared:
            continue
        if block_m * block_n // (warps * WARP) > 128:  # fp32 accumulators a thread: half of its registers
            continue
        yield {m: block_m, n: block_n, k: block_k, "num_warps": warps, "num_stages": stages}


def _attention_choices(site: Site) -> Iterator[Choice]:
    """A matmul with some sides fixed: the free ones over what tensor cores accept."""
    sizes = (128, 64, 32) if len(site.tiles) < 3 else (64, 32)
    for blocks in itertools.product(sizes, repeat=len(site.tiles)):
        for warps, stages in ((4, 3), (8, 3), (4, 2), (8, 2)):
            if len(blocks) > 1 and blocks[0] * blocks[1] >= 128 * 128 and warps < 8:
                continue
            yield {**_named(site, blocks), "num_warps": warps, "num_stages": stages}


def _stream_choices(site: Site, item: int) -> Iterator[Choice]:
    """One block size: 16 to 64 bytes a thread, and stages where a loop can be pipelined."""
    name = site.tiles[0].name
    looped = name in site.kernel.reading.steps
    stages = (3, 2, 4) if looped else (3,)
    blocks = (2048, 4096, 1024, 8192, 512) if looped else (1024, 2048, 512, 4096, 256, 8192)
    found = [
        (stage != stages[0], abs(block * item // (warps * WARP) - 32), order, block, warps, stage)
        for order, block in enumerate(blocks)
        for warps in ((4, 8, 16) if looped else (4, 8, 2, 16))
        for stage in stages
        if 16 <= block * item // (warps * WARP) <= (128 if looped else 64)
    ]
    for _, _, _, block, warps, stage in sorted(found):
        yield {name: block, "num_warps": warps, "num_stages": stage} if looped else {name: block, "num_warps": warps}


def _is_broadcast(site: Site) -> bool:
    """Whether lanes of the kernel span two dimensions: `i[:, None] * stride + j[None, :]`."""
    indices = (node.slice for node in site.kernel.reading.nodes if isinstance(node, ast.Subscript))
    parts = (part for index in indices if isinstance(index, ast.Tuple) for part in index.elts)
    return any(isinstance(part, ast.Constant) and part.value is None for part in parts)


def _row_choices(site: Site) -> Iterator[Choice]:
    """One side of a tile whose other one is given: a few rows of it."""
    for block in (16, 32, 64, 8, 4, 128):
        for warps in (4, 8):
            yield {site.tiles[0].name: block, "num_warps": warps}


def _tile_choices(site: Site, item: int) -> Iterator[Choice]:
    """Several block sizes without a matmul: tiles of 1 to 8 Ki elements, wide in the last dimension."""
    sizes = (64, 32, 128, 16, 256, 1, 8, 1024)
    for blocks in itertools.product(sizes, repeat=len(site.tiles)):
        elements = 1
        for block in blocks:
            elements *= block
        if not 1024 <= elements <= 8192:
            continue
        for warps in (4, 8):
            if 16 <= elements * item // (warps * WARP) <= 128:
                yield {**_named(site, blocks), "num_warps": warps}


def _whole_row_choices(site: Site) -> Iterator[Choice]:
    for stages in (3, 1, 2) if has_loop(site) else (3,):
        for warps in (8, 4, 16, 2, 32, 1):
            yield {"num_warps": warps, "num_stages": stages} if has_loop(site) else {"num_warps": warps}


def _named(site: Site, blocks: tuple[int, ...]) -> dict[str, int]:
    return {tile.name: block for tile, block in zip(site.tiles, blocks, strict=True)}
