"""Few but very long rows: each is split over many programs, whose parts a second kernel joins, and applies."""

from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.row_body import RowBody
from kernelwright.emit.row_passes import pass_lines
from kernelwright.micro.rewrite.printed import kernel_source
from kernelwright.nest.form import Fold, Let, Nest
from kernelwright.nest.levels import needed
from kernelwright.nest.passes import Pass, passes
from kernelwright.nest.rows import elements
from kernelwright.ops.folds import FOLDS
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import WalkedRows


@dataclass(frozen=True)
class Made:
    """Kernels, the device functions that they call, and the launcher's lines: sizes, and the calls."""

    sources: tuple[str, ...]
    helpers: tuple[str, ...]
    geometry: tuple[str, ...]
    calls: tuple[str, ...]


def split_kernels(nest: Nest, name: str, words: str, tile: WalkedRows) -> Made:
    """The kernel that folds parts of rows, and the one that joins them."""
    (one,) = passes(nest)
    applies = nest.stored.name in elements(nest)
    planes = len(_kept(one))
    several = ["n_rows"] if planes > 1 else []
    partial = name.removesuffix("_kernel") + "_partial_kernel"
    place = [
        f"row = tl.program_id(0){'.to(tl.int64)' if launching.is_wide(nest) else ''} // SPLITS",
        "part = tl.program_id(0) % SPLITS",
        "begin = part * chunk",
        "end = tl.minimum(begin + chunk, length)",
    ]
    first = RowBody(nest, tile, needed(nest, [one.body]) + _folds(one), ("partial",), "begin, end", "count")
    first_sizes = [*several, "length", "chunk"]
    blocks = {"SPLITS": tile.parts, "BLOCK": tile.block}
    body = [
        *place,
        *first.row_places(),
        *first.single_loads(),
        *pass_lines(first, one, first.single_names()),
        *_store_parts(one),
    ]
    doc = f"{words}: each program reduces one part of a row."
    first_source = kernel_source(partial, first.kernel.parameters(first_sizes, blocks), doc, body)
    second = RowBody(nest, tile, _rest(nest, one), ("partial", "out"), "begin, end")
    ready = {*second.single_names(), *one.made, *(let.name for let in second.of_rows())}
    body = [
        *(place if applies else ["row = tl.program_id(0)"]),
        *second.row_places(),
        "parts = row * SPLITS + tl.arange(0, SPLITS)",
        *_joined(second, one),
        *second.single_loads(),
        *(line for let in second.of_rows() for line in second.kernel.lines(let)),
        *(second.loop([nest.stored.name], ready, [second.store()]) if applies else [second.store()]),
    ]
    second_sizes = [*several, *(["length", "chunk"] if applies else ["length"]), *second.counts]
    second_blocks = blocks if applies else {"SPLITS": tile.parts}
    second_source = kernel_source(
        name,
        second.kernel.parameters(second_sizes, second_blocks),
        f"{words}: joins a row's parts{', then applies them' if applies else ''}.",
        body,
    )
    main, warps = nest.main.name, tile.warps
    shape = f"({planes}, n_rows, {tile.parts})" if planes > 1 else f"(n_rows, {tile.parts})"
    programs = f"n_rows * {tile.parts}"
    return Made(
        (first_source, second_source),
        tuple(dict.fromkeys((*first.kernel.helpers, *second.kernel.helpers))),
        (
            f"n_rows = {main}.numel() // length",
            f"chunk = triton.cdiv(length, {tile.parts * tile.block}) * {tile.block}",
            f"partial = {main}.new_empty({shape}, dtype=torch.float32)",
            *(f"{size} = {text}" for size, text in second.counts.items()),
        ),
        (
            call_text(f"{partial}[({programs},)]", first.kernel.arguments(first_sizes, blocks, warps), "", 4),
            call_text(
                f"{name}[({programs if applies else 'n_rows'},)]",
                second.kernel.arguments(second_sizes, second_blocks, warps if applies else 4),
                "",
                4,
            ),
        ),
    )


def _folds(one: Pass) -> list[Let]:
    return [fold for fold in one.folds if isinstance(fold.expr, Fold)][:1]


def _rest(nest: Nest, one: Pass) -> list[Let]:
    """What the second kernel computes: all that the result needs besides what the parts hold."""
    return needed(nest, nest.stored_names, one.made)


def _kept(one: Pass) -> tuple[str, ...]:
    """The numbers that a program keeps of its part."""
    names = tuple(fold.name for fold in one.folds)
    return (one.mean, names[1], "count") if one.kind == "moments" else names


def _store_parts(one: Pass) -> list[str]:
    at, stride = "row * SPLITS + part", "n_rows * SPLITS"
    names = _kept(one)
    if len(names) == 1:
        return [f"tl.store(partial_ptr + {at}, {names[0]})"]
    offsets = ["", f" + {stride}", *(f" + {i} * {stride}" for i in range(2, len(names)))]
    stores = (f"tl.store(place{offset}, {name})" for offset, name in zip(offsets, names, strict=True))
    return [f"place = partial_ptr + {at}", *stores]


def _joined(rows: RowBody, one: Pass) -> list[str]:
    """The lines that join the parts of a row."""
    first, plane = one.folds[0], "n_rows * SPLITS"
    if one.kind == "online":
        highest, total = (fold.name for fold in one.folds)
        return [
            "maxima = tl.load(partial_ptr + parts)",
            f"sums = tl.load(partial_ptr + {plane} + parts)",
            f"{highest} = tl.max(maxima, axis=0)",
            f"{total} = tl.sum(sums * tl.exp(maxima - {highest}), axis=0)",
        ]
    if one.kind == "moments":
        return [
            "means = tl.load(partial_ptr + parts)",
            f"squares = tl.load(partial_ptr + {plane} + parts)",
            f"counts = tl.load(partial_ptr + 2 * {plane} + parts)",
            f"{one.mean} = tl.sum(means * counts, axis=0) / length",
            f"deviations = means - {one.mean}",
            f"{one.folds[1].name} = tl.sum(squares + counts * deviations * deviations, axis=0)",
        ]
    assert isinstance(first.expr, Fold)
    table = FOLDS[first.expr.monoid]
    rows.helper(table.device)
    return [f"{first.name} = {table.reduced('tl.load(partial_ptr + parts)', 0)}"]
