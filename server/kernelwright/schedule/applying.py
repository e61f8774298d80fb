"""Opts put together to a Schedule, or the reason why they do not fit a Nest or a device."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernelwright.nest.form import Nest
from kernelwright.schedule.forms import Blocks, Form, Illegal, Product, Reduction, Scan, Schedule, Tiles, WalkedRows
from kernelwright.schedule.limits import (
    LEAST_OF_A_DOT,
    MOST_IN_A_BLOCK,
    MOST_REGISTERS,
    MOST_WARPS,
    WARP,
    shared_limit,
)
from kernelwright.schedule.operands import are_whole
from kernelwright.schedule.precisions import PRECISIONS
from kernelwright.schedule.sizes import Sizes, sizes
from kernelwright.values import Device
from kernelwright.values.opts import (
    Backwards,
    Block,
    Group,
    Loop,
    Opt,
    Planes,
    Precision,
    Rows,
    Split,
    Stages,
    Tile,
    Warps,
)

_USUAL_SIDE = 128
"""Rows or columns up to which a tile may be larger than the result."""

K = TypeVar("K", Tile, Block, Rows, Loop, Split, Group, Stages, Warps, Precision, Backwards, Planes)


@dataclass(frozen=True)
class _Case:
    """Opts that are to be put together."""

    nest: Nest
    sizes: Sizes
    opts: Sequence[Opt]
    device: Device

    def find(self, kind: type[K]) -> K | None:
        return next((opt for opt in self.opts if isinstance(opt, kind)), None)

    def get(self, kind: type[K]) -> K:
        found = self.find(kind)
        assert found is not None, "the kinds have been checked"
        return found


Kinds = tuple[type[Opt], ...]

# The kinds that each form needs, and those that it may have besides.
KINDS: Mapping[Form, tuple[Kinds, Kinds]] = {
    Form.PRODUCT: ((Tile, Loop, Group, Warps, Stages, Precision), ()),
    Form.REDUCTION: ((Loop, Warps), (Rows, Split)),
    Form.SCAN: ((Warps,), (Rows, Loop)),
    Form.ROWS: ((Warps,), (Rows, Loop, Split, Stages, Backwards)),
    Form.BLOCKS: ((Block, Warps), (Planes,)),
    Form.TILES: ((Tile, Warps), ()),
}


def apply(nest: Nest, opts: Sequence[Opt], device: Device) -> Schedule | Illegal:
    """The Schedule that the Opts are, or why they do not fit. What is not known of a device is no reason."""
    case = _Case(nest, sizes(nest), opts, device)
    reason = next((reason for check in _CHECKS if (reason := check(case))), None)
    return Illegal(reason) if reason else _MAKERS[case.sizes.form](case)


# The checks: each answers with the reason, in one sentence, or with None. Those further down rely on those above.


def _kinds(case: _Case) -> str | None:
    needed, more = KINDS[case.sizes.form]
    given = [type(opt) for opt in case.opts]
    for kind in given:
        if kind not in (*needed, *more):
            return _FOREIGN.get(kind, "A {form} has no {kind}.").format(form=case.sizes.form, kind=kind.__name__)
        if given.count(kind) > 1:
            return f"{kind.__name__} is given {given.count(kind)} times."
    missing = [kind.__name__ for kind in needed if kind not in given]
    return f"A {case.sizes.form} needs {' and '.join(missing)}." if missing else None


_FOREIGN: Mapping[type[Opt], str] = {
    Precision: "A {form} has no matrix product whose precision could be chosen.",
    Split: "What a {form} makes in parts cannot be joined.",
}


def _powers(case: _Case) -> str | None:
    for opt in case.opts:
        for name, number in vars(opt).items():
            if not isinstance(number, int):
                continue
            if number < 1:
                return f"{type(opt).__name__} {name} is {number}, and has to be 1 at least."
            if not isinstance(opt, Group | Stages) and number & (number - 1):
                return f"{type(opt).__name__} {name} is {number}, and has to be a power of two."
    return None


def _warps(case: _Case) -> str | None:
    warps = case.get(Warps).count
    return f"A program has {MOST_WARPS} warps at most, not {warps}." if warps > MOST_WARPS else None


def _block(case: _Case) -> str | None:
    rows, block, tile = case.find(Rows), case.find(Block), case.find(Tile)
    step = case.find(Loop)
    across = rows.count if rows else 1
    along = step.step if step else case.sizes.power if case.sizes.form in (Form.SCAN, Form.ROWS) else 1
    sides = sorted((tile.rows, tile.columns, along) if tile else (block.elements if block else across, along))
    elements = sides[-1] * sides[-2]
    if elements > MOST_IN_A_BLOCK:
        return f"A block has {MOST_IN_A_BLOCK} elements at most, not {elements}."
    return None


def _extents(case: _Case) -> str | None:
    tile, loop, found = case.find(Tile), case.find(Loop), case.sizes
    for name, side, extent in (
        (("rows", tile.rows, found.rows), ("columns", tile.columns, found.columns)) if tile else ()
    ):
        if side > _USUAL_SIDE and side >= 2 * extent:
            return f"A tile of {side} {name} is larger than the {extent} that the result has."
    if found.form is Form.REDUCTION and case.find(Rows) and found.rows == 1 and not found.apart and not found.nested:
        return "There is one row, and none that could lie beside it."
    if found.form is Form.REDUCTION and loop and loop.step > found.power:
        return f"A step of {loop.step} elements is longer than a row of {found.length}."
    return None


def _parts(case: _Case) -> str | None:
    split, loop, rows, found = case.find(Split), case.find(Loop), case.find(Rows), case.sizes
    if split is None or loop is None:
        return None
    if split.parts < 2:
        return "One part is no split."
    steps = -(-found.rows // (rows.count if rows else 1)) if found.nested else -(-found.length // loop.step)
    if split.parts > (1 << (steps - 1).bit_length() if found.form is Form.ROWS else steps):
        return f"{split.parts} programs cannot share what one folds in {steps} step{'s' if steps > 1 else ''}."
    return None


def _steps(case: _Case) -> str | None:
    """What only a row that is walked in steps has."""
    found, split = case.sizes, case.find(Split)
    if found.form is not Form.ROWS:
        return None
    more = next((type(opt) for opt in case.opts if isinstance(opt, Split | Stages | Backwards)), None)
    if more is not None and case.find(Loop) is None:
        return f"{more.__name__} is for rows that are walked in steps: it needs Loop."
    if case.find(Backwards) is not None and not found.applied:
        return "A row is not passed over again once it has been folded."
    if split is not None and (found.apart or case.find(Rows) is not None):
        return "Rows that are walked together are not split."
    if split is not None and not found.joined:
        return "A row that is split over programs is folded once only, and not for a place."
    return None


def _planes(case: _Case) -> str | None:
    if case.find(Planes) is None or case.sizes.plane:
        return None
    return "Nothing is read that is the same for all results of a plane."


def _dot(case: _Case) -> str | None:
    tile, loop = case.find(Tile), case.find(Loop)
    if tile is None or loop is None:
        return None
    least = min(tile.rows, tile.columns, loop.step)
    if least < LEAST_OF_A_DOT:
        return f"A matrix product takes {LEAST_OF_A_DOT} rows, columns and elements of depth at least, not {least}."
    registers = tile.rows * tile.columns // (case.get(Warps).count * WARP)
    if registers > MOST_REGISTERS:
        return f"The tile takes {registers} registers of each thread, which has {MOST_REGISTERS}."
    return None


def _precision(case: _Case) -> str | None:
    precision = case.find(Precision)
    if precision is None:
        return None
    if precision.name not in PRECISIONS:
        return f"There is no precision {precision.name!r}, only {', '.join(PRECISIONS)}."
    way = PRECISIONS[precision.name]
    if way.parts and not are_whole(case.nest) and (way.in_loop or not case.sizes.windowed):
        return "An operand of the product is not read as it is from an fp32 tensor."
    if way.rounded and not _eager_rounds(case):
        return f"Eager mode does not round this product here, so {precision.name} would be less accurate."
    return None


def _eager_rounds(case: _Case) -> bool:
    """Whether eager mode itself may use TF32: for convolutions, on a GPU that has it."""
    product, capability = case.nest.product, case.device.compute_capability
    return product is not None and product.rounded and capability is not None and capability >= 80


def _shared(case: _Case) -> str | None:
    """Refuses fp16 parts whose loads under way do not fit in shared memory, on GPUs that copy into it asynchronously."""
    precision, capability = case.find(Precision), case.device.compute_capability
    if precision is None or not PRECISIONS[precision.name].parts or capability is None or capability < 80:
        return None
    size = 2 * PRECISIONS[precision.name].parts  # bytes of an element
    tile, stages = case.get(Tile), case.get(Stages).count
    needed = (tile.rows + tile.columns) * case.get(Loop).step * size * (stages - 1)
    limit = shared_limit(capability)
    if needed <= limit:
        return None
    return f"The loads of {stages} stages take {needed // 1024} KiB of shared memory; a block has {limit // 1024} KiB."


_CHECKS: tuple[Callable[[_Case], str | None], ...] = (
    _kinds, _powers, _warps, _block, _extents, _parts, _steps, _planes, _dot, _precision, _shared,
)  # fmt: skip


def _product(case: _Case) -> Product:
    tile = case.get(Tile)
    return Product(
        tile.rows,
        tile.columns,
        case.get(Loop).step,
        case.get(Group).rows,
        case.get(Warps).count,
        case.get(Stages).count,
        case.get(Precision).name,
    )


def _reduction(case: _Case) -> Reduction:
    rows, split = case.find(Rows), case.find(Split)
    parts = split.parts if split else 0
    return Reduction(
        rows.count if rows else 1, case.get(Loop).step, case.get(Warps).count, parts, strip=case.sizes.strip
    )


def _scan(case: _Case) -> Scan:
    rows, loop = case.find(Rows), case.find(Loop)
    return Scan(loop.step if loop else 0, case.get(Warps).count, rows.count if rows else 1, case.sizes.strip)


def _rows(case: _Case) -> WalkedRows:
    rows, loop, split, stages = case.find(Rows), case.find(Loop), case.find(Split), case.find(Stages)
    return WalkedRows(
        loop.step if loop else 0,
        case.get(Warps).count,
        rows.count if rows else 1,
        case.sizes.strip,
        stages.count if stages else 0,
        case.find(Backwards) is not None,
        split.parts if split else 0,
    )


_MAKERS: Mapping[Form, Callable[[_Case], Schedule]] = {
    Form.PRODUCT: _product,
    Form.REDUCTION: _reduction,
    Form.SCAN: _scan,
    Form.ROWS: _rows,
    Form.BLOCKS: lambda case: Blocks(case.get(Block).elements, case.get(Warps).count, case.find(Planes) is not None),
    Form.TILES: lambda case: Tiles(case.get(Tile).rows, case.get(Tile).columns, case.get(Warps).count),
}


def legal(nest: Nest, space: Iterable[Sequence[Opt]], device: Device) -> tuple[tuple[Opt, ...], ...]:
    """Those of a space that fit, each once."""
    found = dict.fromkeys(tuple(opts) for opts in space)
    return tuple(opts for opts in found if not isinstance(apply(nest, opts, device), Illegal))
