"""What the kernels of a reduction share: the numbers that folds carry, how lanes update them, and where parts are kept."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kernelwright.emit.kernel import Kernel
from kernelwright.nest.form import Axis, Index, Let, Load, Nest, reads
from kernelwright.nest.index import variable
from kernelwright.nest.levels import Carried, Levels
from kernelwright.ops.folds import FOLDS
from kernelwright.ops.monoids import MONOIDS
from kernelwright.place.layout import WIDTH
from kernelwright.schedule.sizes import read_again

_DEEPEST = 16
"""Columns that the indentation of a line may take."""


def product(nest: Nest, axes: Sequence[Axis]) -> str:
    """The launcher's expression for how many elements there are along some axes."""
    texts = [axis.extent.text for axis in axes if axis.extent.text != "1"]
    whole = {f"{tensor.name}.shape[0:{len(tensor.shape)}].numel()": f"{tensor.name}.numel()" for tensor in nest.tensors}
    return " * ".join(f"({text})" if " " in text else whole.get(text, text) for text in texts) or "1"


def counts(nest: Nest, found: Levels) -> dict[str, str]:
    """The launcher's variables for how much is folded, and what they are."""
    rows = {"n_rows": product(nest, found.rows)} if found.inner else {}
    return rows | {"length": product(nest, found.columns)}


class Buffers:
    """The tensors that hold what each program carries, for the kernel that joins them."""

    def __init__(self, found: Levels, wide: bool) -> None:
        self.wide = wide
        self.of = {name: f"{name}_parts" for one in found.outer for name in one.names}
        self.whole = {n for one in found.outer for n, w in zip(one.names, whole_carriers(one), strict=True) if w}

    @property
    def names(self) -> list[str]:
        return list(self.of.values())

    def lines(self, main: str, parts: int, *, rows: bool) -> list[str]:
        """The launcher's lines that allocate them, for each of several `rows` or for one number."""
        shape = f"(n_rows, {parts})" if rows else f"({parts},)"
        whole = "torch.int64" if self.wide else "torch.int32"
        return [
            f"{buffer} = {main}.new_empty({shape}, dtype={whole if name in self.whole else 'torch.float32'})"
            for name, buffer in self.of.items()
        ]


def whole_carriers(one: Carried) -> list[bool]:
    monoid = MONOIDS[one.fold.monoid]
    return [carrier in monoid.whole for carrier in monoid.carriers]


def part_of(nest: Nest, lets: Sequence[Let], changed: Iterable[str] = ()) -> Nest:
    """The Nest with these lets alone, and with what they read and change."""
    tensors = {let.expr.tensor for let in lets if isinstance(let.expr, Load)} | set(changed)
    read = {name for let in lets for name in (*reads(let.expr), *index_names(let))}
    return replace(
        nest,
        lets=tuple(lets),
        tensors=tuple(tensor for tensor in nest.tensors if tensor.name in tensors),
        numbers={name: text for name, text in nest.numbers.items() if name in read},
    )


def index_names(let: Let) -> Iterable[str]:
    stack: list[object] = [let.expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Index):
            yield from part.names()
        elif isinstance(part, Load):
            stack += [
                *part.index,
                *(bound for one in part.inside for bound in (one.index, one.least, one.limit) if bound),
            ]
            stack += [one.besides for one in part.checked if one.besides]
        else:
            stack += getattr(part, "arguments", ())


class Lanes:
    """How the numbers that folds carry are begun, updated and reduced, over one kind of lanes."""

    def __init__(
        self, kernel: Kernel, shape: str, axis: int | None, keep: str, wide: bool, mask: str, place: str
    ) -> None:
        self.kernel, self.shape, self.axis, self.keep = kernel, shape, axis, keep
        self.wide, self.mask, self.place = wide, mask, place

    def begin(self, one: Carried) -> list[str]:
        monoid = MONOIDS[one.fold.monoid]
        return [
            f"{name} = {self._full(unit, whole)}"
            for name, unit, whole in zip(one.names, monoid.units, whole_carriers(one), strict=True)
        ]

    def _full(self, unit: str, whole: bool) -> str:
        if not self.shape:
            return unit
        if unit == "0.0":
            return f"tl.zeros({self.shape}, dtype=tl.float32)"
        dtype = ("tl.int64" if self.wide else "tl.int32") if whole else "tl.float32"
        return f"tl.full({self.shape}, {unit}, dtype={dtype})"

    def update(self, one: Carried, *, filled: bool) -> list[str]:
        monoid = MONOIDS[one.fold.monoid]
        body = self.kernel.expression(one.fold.body)
        if self.mask and monoid.blank and not filled:
            body = f"tl.where({self.mask}, {body}, {monoid.blank})"
        lifted = [text.format(body, self.place) for text in monoid.lift]
        if self.mask and not monoid.blank:
            lifted = [
                t if t == u else f"tl.where({self.mask}, {t}, {u})" for t, u in zip(lifted, monoid.units, strict=True)
            ]
        if monoid.device:
            self.kernel.helpers[monoid.device] = None
        if len(one.names) > 1:
            return _call(f"{', '.join(one.names)} = {monoid.device}", [*one.names, *lifted])
        (name,) = one.names
        if monoid.name == "sum":
            return [f"{name} += {lifted[0]}"]
        return [f"{name} = {FOLDS[monoid.name].joined.format(name, lifted[0])}"]

    def reduce(self, one: Carried, texts: Sequence[str] | None = None) -> list[str]:
        """The lines that make one number of the lanes; none where there is one lane."""
        texts = texts or one.names
        if not self.shape:
            return []
        return reduced(self.kernel, one, texts, self.axis, self.keep)


def _call(head: str, arguments: Sequence[str]) -> list[str]:
    """A call, an argument a line where it is long; `_DEEPEST` is kept free for its indentation."""
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= WIDTH - _DEEPEST:
        return [line]
    return [f"{head}(", *(f"    {argument}," for argument in arguments), ")"]


def reduced(kernel: Kernel, one: Carried, texts: Sequence[str], axis: int | None, keep: str) -> list[str]:
    """The lines that make one number, or several, of all lanes."""
    monoid = MONOIDS[one.fold.monoid]
    more = [keep] if keep else []
    names = ", ".join(one.names)
    if monoid.device:
        kernel.helpers[monoid.device] = None
        lanes = f"({', '.join(texts)})" if len(texts) > 1 else texts[0]
        return _call(f"{names} = tl.reduce", [lanes, str(axis), monoid.device, *more])
    return _call(f"{names} = tl.{monoid.name}", [texts[0], *([] if axis is None else [f"axis={axis}"]), *more])


def stores(nest: Nest, at: str, mask: str) -> list[str]:
    """The lines that store results and effects at an offset, and count."""
    lines = [f"tl.store({o}_ptr{at}, {n}{mask})" for o, n in zip(nest.outputs, nest.stored_names, strict=True)]
    lines += [f"tl.store({effect.tensor}_ptr{at}, {effect.name}{mask})" for effect in nest.effects]
    for counter in nest.counters:
        lines += ["if tl.program_id(0) == 0:", f"    tl.store({counter}_ptr, tl.load({counter}_ptr) + 1)"]
    return lines


def told_apart(nest: Nest, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes without those of one place that nothing reads."""
    read = {name for let in nest.lets for name in index_names(let)}
    return tuple(axis for axis in axes if axis.extent.text != "1" or axis.name in read)


def walked(nest: Nest, axes: Sequence[Axis], *, strip: bool) -> tuple[Axis, ...]:
    """The axes of rows in the order of programs: last those along which the largest tensor is read again, from a cache then.

    Rows of a strip stay in the order in which they lie in memory.
    """
    again = () if strip else read_again(nest, axes)
    return (*(axis for axis in axes if axis not in again), *again)


def offset(kernel: Kernel, axes: Sequence[Axis], text: str = "") -> str:
    """The offset of the result's element, whose dims the axes are in order; `text` is that along the dims in front of them."""
    for axis in axes:
        place = kernel.index(variable(axis.name))
        inner = f"({text})" if " " in text else text
        text = f"{inner} * {kernel.index_name(axis)} + {place}" if text else place
    return text


def decoded(kernel: Kernel, axes: tuple[Axis, ...], flat: str) -> list[str]:
    """The places along several axes that `flat` stands for."""
    if len(axes) < 2:
        return []
    lines = []
    for at, axis in enumerate(axes):
        inner = " * ".join(kernel.index_name(later) for later in axes[at + 1 :])
        text = flat if not inner else f"{flat} // ({inner})" if " " in inner else f"{flat} // {inner}"
        lines.append(f"{axis.name} = {text}" + (f" % {kernel.index_name(axis)}" if at else ""))
    return lines
