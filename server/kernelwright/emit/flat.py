"""Prints a Nest whose program makes a block of neighbouring results: pointwise code, and windows walked in every lane."""

from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.kernel import Kernel
from kernelwright.micro.rewrite.relies import limits
from kernelwright.micro.rewrite.triton_printer import Printed, kernel_source, launcher_source
from kernelwright.nest.form import Axis, Fold, Held, Inside, Let, Load, Nest, Var
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.ops.folds import FOLDS
from kernelwright.place.layout import call_text
from kernelwright.schedule.forms import Blocks


@dataclass(frozen=True)
class Flat:
    """A kernel, the device functions that it calls, and the lines of the launcher that run it."""

    source: str
    helpers: tuple[str, ...]
    launch: tuple[str, ...]


def print_flat(nest: Nest, names: tuple[str, str], words: str, block: Blocks, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    kernel_name, launcher = names
    nest = launching.with_local_sizes(nest)
    made = flat_kernel(nest, kernel_name, words, block)
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
    return Printed("\n\n\n".join([*helpers, made.source, function]), launcher, block.described)


def flat_kernel(nest: Nest, name: str, words: str, block: Blocks) -> Flat:
    """The kernel alone, for a launcher that has made `out`."""
    kernel = Kernel(
        nest, {axis.name: axis.name for axis in nest.axes}, {}, "offsets", lambda axes: "mask" if axes else ""
    )
    wide = ".to(tl.int64)" if launching.is_wide(nest) else ""
    written = _Body(kernel).lines()
    body = [
        f"offsets = tl.program_id(0){wide} * BLOCK + tl.arange(0, BLOCK)",
        "mask = offsets < n_elements",
        *_decoded(kernel),
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
    return Flat(source, tuple(kernel.helpers), launch)


def _decoded(kernel: Kernel) -> list[str]:
    """The places along the axes that are asked for apart, from the offset."""
    nest = kernel.nest
    asked: set[str] = set()
    for let in nest.lets:
        if isinstance(let.expr, Load) and kernel.is_flat(let.expr) and not let.expr.inside:
            continue
        asked |= _asked(let)
    lines: list[str] = []
    spatial = nest.spatial
    for at, axis in enumerate(spatial):
        if axis.name not in asked:
            continue
        sizes = [kernel.index_name(later) for later in spatial[at + 1 :]]
        inner = " * ".join(size for size in sizes if size != "1")
        text = "offsets" if not inner else f"offsets // ({inner})" if " " in inner else f"offsets // {inner}"
        lines.append(f"{axis.name} = {text}" + (f" % {kernel.index_name(axis)}" if at else ""))
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


class _Body:
    """The lines of the lets, those that depend on a window inside of its loops."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.nest = kernel.nest
        self.windows = frozenset(axis.name for axis in kernel.nest.axes if axis.window)
        self.done: set[str] = set()

    def lines(self) -> list[str]:
        found: list[str] = []
        for let in self.nest.lets:
            if let.name in self.done:
                continue
            if isinstance(let.expr, Fold):
                found += self._walk(let.expr.over)
            elif not let.axes & self.windows:
                found += self.kernel.lines(let)
                self.done.add(let.name)
        return found

    def _walk(self, over: tuple[str, ...]) -> list[str]:
        """The loops over a window, with all that is folded over it."""
        kernel, nest = self.kernel, self.nest
        axes = {axis.name: axis for axis in nest.axes}
        folds = [let for let in nest.lets if isinstance(let.expr, Fold) and let.expr.over == over]
        pad = "    " * len(over)
        start = [f"{let.name} = {_start(let)}" for let in folds]
        loops = [
            f"{'    ' * d}for {name} in tl.static_range({self._extent(axes[name])}):" for d, name in enumerate(over)
        ]
        inner: list[str] = []
        for let in nest.lets:
            if let.axes & set(over) and not isinstance(let.expr, Fold) and let.name not in self.done:
                inner += kernel.lines(let, other=_other(let, folds))
                self.done.add(let.name)
        for let in folds:
            fold = let.expr
            assert isinstance(fold, Fold)
            if fold.inside and not kernel.filled(fold):
                inner += kernel.condition(fold.inside, "mask")
            value = kernel.folded(fold, "mask")
            monoid = FOLDS[fold.monoid]
            kernel.helpers |= dict.fromkeys([monoid.device] if monoid.device else [])
            joined = (
                f"{let.name} += {value}"
                if fold.monoid == "sum"
                else f"{let.name} = {monoid.joined.format(let.name, value)}"
            )
            inner.append(joined)
            self.done.add(let.name)
        kernel.named.clear()
        return [*start, *loops, *(f"{pad}{line}" for line in inner)]

    def _extent(self, axis: Axis) -> str:
        return self.kernel.constant(axis.extent.text, self.kernel.base(axis.extent.text))


def _start(let: Let) -> str:
    assert isinstance(let.expr, Fold)
    monoid = FOLDS[let.expr.monoid]
    if monoid.identity == 0:
        return "tl.zeros([BLOCK], dtype=tl.float32)"
    return f"tl.full([BLOCK], {monoid.fill}, dtype=tl.float32)"


def _other(let: Let, folds: list[Let]) -> str:
    """What a load brings where nothing is read: the unit of the fold that takes it as it is."""
    for fold in (one.expr for one in folds):
        assert isinstance(fold, Fold)
        if fold.body == Var(let.name) and fold.inside:
            return FOLDS[fold.monoid].fill
    return "0"
