"""Prints a Nest with a matrix product: a program makes a tile of the result, with all that follows done on the tile."""

from kernelwright.emit import launcher as launching
from kernelwright.emit.tiled import Tiled
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Contract, Load, Nest
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.schedule.forms import Product


def print_dot(nest: Nest, names: tuple[str, str], words: str, tile: Product, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    tiled = Tiled(launching.with_local_sizes(nest))
    body, kernel = dot_body(tiled, tile), tiled.kernel
    blocks = {"ROWS": tile.rows, "COLUMNS": tile.columns, "DEPTH": tile.depth, "GROUP": tile.group}
    sizes = ["n_rows", "n_columns", "depth"]
    arguments = [*kernel.arguments(sizes, blocks, tile.warps), f"num_stages={tile.stages}"]
    launch = tiled.launch(names, (tile.rows, tile.columns), (), arguments)
    function = launcher_source(
        names[1], launching.parameters(nest), f"{words} in one kernel{limits(nest.eager)}.", launch
    )
    source = kernel_source(
        names[0], kernel.parameters(sizes, blocks), f"{words}, a tile of ROWS by COLUMNS a program.", body
    )
    helpers = [DEVICE_FUNCTIONS[name] for name in kernel.helpers if f"def {name}(" not in existing]
    return Printed("\n\n\n".join([*helpers, source, function]), names[1], tile.described)


def dot_body(tiled: Tiled, tile: Product, *, left_out: str = "") -> list[str]:
    """The body of the kernel for one tile; a program makes nothing where the condition `left_out` holds."""
    assert isinstance(tiled.product.expr, Contract)
    left, right = (tiled.needed(name) for name in (tiled.product.expr.left, tiled.product.expr.right))
    inner = tiled.roles.inner.name
    moving = [[let for let in side if inner in let.axes] for side in (left, right)]
    if {let.name for let in moving[0]} & {let.name for let in moving[1]}:
        raise NotExpressible("Both operands of the product read the same elements.")
    within = {let.name for side in moving for let in side} | {tiled.product.name}
    outside = [let for let in tiled.nest.lets if let.name not in within]
    early = {let.name for side in (left, right) for let in side}
    kernel, program = tiled.kernel, tiled.program()
    before = tiled.lines([let for let in outside if let.name in early])
    whole = tiled.roles.inner
    loop = ["left_inner = start + tl.arange(0, DEPTH)[None, :]", *tiled.parts(whole, "left_inner", moving[0])]
    loop += tiled.lines(moving[0])
    kernel.places = {**kernel.places, inner: "right_inner"}
    along = {inner, *(part.name for part in whole.parts)}
    kernel.named = {index: name for index, name in kernel.named.items() if not along & set(index.names())}
    loop += ["right_inner = start + tl.arange(0, DEPTH)[:, None]", *tiled.parts(whole, "right_inner", moving[1])]
    loop += tiled.lines(moving[1])
    operands = [_operand(tiled, name) for name in (tiled.product.expr.left, tiled.product.expr.right)]
    name = tiled.product.name
    loop.append(f'{name} = tl.dot({operands[0]}, {operands[1]}, {name}, input_precision="{tile.precision}")')
    bounds, stop = tiled.depth("depth")
    after = tiled.lines([let for let in outside if let.name not in early])
    return [
        *program,
        *([f"if {left_out}:", "    return"] if left_out else []),
        *before,
        *bounds,
        f"{name} = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)",
        f"for start in range(0, {stop}, DEPTH):",
        *(f"    {line}" for line in loop),
        *tiled.ending(after),
    ]


def _operand(tiled: Tiled, name: str) -> str:
    """An operand of the product, zero past the end of the inner axis."""
    let = tiled.lets[name]
    if isinstance(let.expr, Load):
        return name
    return f"tl.where({tiled.mask(let.axes)}, {name}, 0.0)"
