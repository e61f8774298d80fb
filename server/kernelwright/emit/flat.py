"""Prints a Nest whose program makes a block of neighbouring results: pointwise code, and windows walked in every lane."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.body import Body
from kernelwright.emit.kernel import Kernel
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Axis, Fold, Held, Inside, Let, Load, Nest
from kernelwright.nest.merge import leading
from kernelwright.nest.planes import outside
from kernelwright.nest.sizes import product_text
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import Blocks


@dataclass(frozen=True)
class Made:
    """A kernel, the device functions that it calls, and the lines of the launcher that run it."""

    source: str
    helpers: tuple[str, ...]
    launch: tuple[str, ...]


def print_flat(nest: Nest, names: tuple[str, str], words: str, block: Blocks, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    kernel_name, launcher = names
    nest = launching.with_local_sizes(nest)
    made = flat_kernel(nest, kernel_name, words, block)
    return launched(nest, made, launcher, words, block.described, existing)


def launched(nest: Nest, made: Made, launcher: str, words: str, summary: str, existing: str) -> Printed:
    """A kernel with the launcher that makes its one result."""
    launch = [
        *launching.opening(nest, launcher),
        *launching.allocation(nest, launcher),
        *made.launch,
        "return out",
    ]
    function = launcher_source(
        launcher, launching.parameters(nest), f"{words} in one kernel, in fp32{limits(nest.eager)}.", launch
    )
    helpers = [DEVICE_FUNCTIONS[name] for name in made.helpers if f"def {name}(" not in existing]
    return Printed("\n\n\n".join([*helpers, made.source, function]), launcher, summary)


def flat_kernel(nest: Nest, name: str, words: str, block: Blocks) -> Made:
    """The kernel alone, for a launcher that has made `out`."""
    nest = leading(nest)
    if block.planes:
        return _kernel_of_planes(nest, name, words, block)
    kernel = Kernel(
        nest, {axis.name: axis.name for axis in nest.axes}, {}, "offsets", lambda axes: "mask" if axes else ""
    )
    wide = ".to(tl.int64)" if launching.is_wide(nest) else ""
    written = Body(kernel, "[BLOCK]").lines()
    body = [
        f"offsets = tl.program_id(0){wide} * BLOCK + tl.arange(0, BLOCK)",
        "mask = offsets < n_elements",
        *decoded(kernel, nest.spatial, "offsets"),
        *written,
        f"tl.store(out_ptr + offsets, {nest.stored.name}, mask=mask)",
    ]
    blocks = {"BLOCK": block.size}
    launch = (
        "n_elements = out.numel()",
        f"grid = (triton.cdiv(n_elements, {block.size}),)",
        call_text(f"{name}[grid]", kernel.arguments(["n_elements"], blocks, block.warps), "", 4),
    )
    source = kernel_source(
        name, kernel.parameters(["n_elements"], blocks), f"{words}, a block of results a program.", body
    )
    return Made(source, tuple(kernel.helpers), launch)


def _kernel_of_planes(nest: Nest, name: str, words: str, block: Blocks) -> Made:
    """The kernel whose programs stay within a plane."""
    at = outside(nest)
    outer, inner = nest.spatial[:at], nest.spatial[at:]
    walked = {name for axis in inner for name in (axis.name, *(part.name for part in axis.parts))}
    axes = {axis.name: axis.name for axis in nest.axes}
    kernel = Kernel(nest, axes, {}, "offsets", lambda axes: "mask" if axes & walked else "")
    wide = ".to(tl.int64)" if launching.is_wide(nest) else ""
    written = Body(kernel, "[BLOCK]").lines()
    plane, within = (one[0].name if len(one) == 1 else name for one, name in ((outer, "plane"), (inner, "within")))
    positions = " * ".join(kernel.index_name(axis) for axis in inner)
    body = [
        f"blocks = tl.cdiv({positions}, BLOCK)",
        f"{plane} = tl.program_id(0){wide} // blocks",
        f"{within} = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)",
        f"mask = {within} < {positions}",
        f"offsets = {plane} * {f'({positions})' if ' ' in positions else positions} + {within}",
        *places(kernel, outer[0].parts if len(outer) == 1 else outer, plane, asked(kernel)),
        *places(kernel, inner[0].parts if len(inner) == 1 else inner, within, asked(kernel)),
        *written,
        f"tl.store(out_ptr + offsets, {nest.stored.name}, mask=mask)",
    ]
    blocks = {"BLOCK": block.size}
    planes, size = (product_text([axis.extent.text for axis in axes]) for axes in (outer, inner))
    launch = (
        f"grid = ({planes} * triton.cdiv({size}, {block.size}),)",
        call_text(f"{name}[grid]", kernel.arguments([], blocks, block.warps), "", 4),
    )
    source = kernel_source(
        name, kernel.parameters([], blocks), f"{words}, a block of results of a plane a program.", body
    )
    return Made(source, tuple(kernel.helpers), launch)


def decoded(kernel: Kernel, axes: Sequence[Axis], flat: str) -> list[str]:
    """The places along those of some axes that are asked for apart, from the place `flat` along all of them."""
    return places(kernel, axes, flat, asked(kernel))


def asked(kernel: Kernel) -> set[str]:
    """The axes whose places the lets of a kernel name."""
    found: set[str] = set()
    for let in kernel.nest.lets:
        if isinstance(let.expr, Load) and kernel.is_flat(let.expr) and not let.expr.inside:
            continue
        found |= _asked(let)
    return found


def places(kernel: Kernel, axes: Sequence[Axis], flat: str, asked: Collection[str]) -> list[str]:
    """The places along those of some axes that are `asked` for, from the place `flat` along all of them."""
    lines: list[str] = []
    for at, axis in enumerate(axes):
        if not set(asked) & {axis.name, *(part.name for part in axis.parts)}:
            continue
        sizes = [kernel.index_name(later) for later in axes[at + 1 :]]
        inner = " * ".join(size for size in sizes if size != "1")
        text = flat if not inner else f"{flat} // ({inner})" if " " in inner else f"{flat} // {inner}"
        lines.append(f"{axis.name} = {text}" + (f" % {kernel.index_name(axis)}" if at else ""))
        lines += places(kernel, axis.parts, axis.name, asked)
    return lines


def _asked(let: Let) -> set[str]:
    """The axes that a Let itself names."""
    expr = let.expr
    if isinstance(expr, Load):
        return {name for index in expr.index for name in index.names()} | _conditions(expr.inside)
    if isinstance(expr, Fold):
        return _conditions(expr.inside)
    found: set[str] = set()
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Held):
            found |= _conditions(part.inside)
        stack += getattr(part, "arguments", ())
    return found


def _conditions(inside: tuple[Inside, ...]) -> set[str]:
    return {name for one in inside for bound in (one.index, one.least, one.limit) if bound for name in bound.names()}
