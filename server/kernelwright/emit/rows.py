"""Prints a Nest whose rows are folded and needed again: a row, a few, or a strip of columns a program, whole or in steps."""

from kernelwright.emit import launcher as launching
from kernelwright.emit.row_body import RowBody, product_along, row_length
from kernelwright.emit.split_rows import Made, split_kernels
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Nest
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import WalkedRows


def print_rows(nest: Nest, names: tuple[str, str], words: str, tile: WalkedRows, existing: str) -> Printed:
    """Kernels, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    name, launcher = names
    length = row_length(nest)
    made = split_kernels(nest, name, words, tile) if tile.parts else _kernel(nest, name, words, tile)
    launch = [
        *launching.opening(nest, launcher, length=length, longest=tile.longest),
        f"length = {length}",
        *made.geometry,
        *launching.allocation(nest, launcher),
        *made.calls,
        "return out",
    ]
    count = "two kernels" if tile.parts else "one kernel"
    function = launcher_source(
        launcher, launching.parameters(nest), f"{words} in {count}, in fp32{limits(nest.eager)}.", launch
    )
    helpers = [DEVICE_FUNCTIONS[one] for one in made.helpers if f"def {one}(" not in existing]
    return Printed("\n\n\n".join([*helpers, *made.sources, function]), launcher, tile.described)


def _kernel(nest: Nest, name: str, words: str, tile: WalkedRows) -> Made:
    """The kernel whose programs have whole rows."""
    assert nest.walk is not None
    rows = RowBody(nest, tile)
    body = rows.looped() if tile.block else rows.whole()
    sizes = ["length", "inner"] if tile.strip else ["n_rows", "length"] if tile.across > 1 else ["length"]
    sizes += rows.counts
    how = "STRIP columns a program" if tile.strip else "ROWS rows a program" if tile.across > 1 else "one row a program"
    source = kernel_source(
        name,
        rows.kernel.parameters(sizes, rows.blocks),
        f"{words}, {how}{', in steps of BLOCK' if tile.block else ''}.",
        body,
    )
    if tile.strip:
        inner, outer = (product_along(nest, names) for names in (nest.walk.inner, nest.walk.outer))
        geometry = [f"inner = {inner}", f"outer = {outer}"]
        grid = f"outer * triton.cdiv(inner, {tile.across})"
    else:
        geometry = [f"n_rows = {nest.main.name}.numel() // length"]
        grid = "n_rows" if tile.across == 1 else f"triton.cdiv(n_rows, {tile.across})"
    geometry += [f"{size} = {text}" for size, text in rows.counts.items()]
    call = call_text(f"{name}[grid]", rows.kernel.arguments(sizes, rows.blocks, tile.warps), "", 4)
    return Made((source,), tuple(rows.kernel.helpers), tuple(geometry), (f"grid = ({grid},)", call))
