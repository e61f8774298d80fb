"""What all kernels that are printed from a Nest share: how axes, loads, conditions and expressions are written."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from kernelwright.nest.form import (
    Apply,
    Axis,
    Checked,
    Const,
    Divided,
    Expr,
    Fold,
    Held,
    Inside,
    Let,
    Load,
    Nest,
    Tensor,
    Var,
)
from kernelwright.nest.index import Index
from kernelwright.nest.sizes import extent_of, product_text
from kernelwright.ops.folds import FOLDS
from kernelwright.ops.primitives import device_functions, triton_text

_DIMS = ("WIDTH", "HEIGHT", "DEPTH")
_PARTS = {"feature": "FEATURES", "i": "STEPS", "j": "STEPS", "k": "STEPS"}
_SIDES = {"row": "ROWS", "column": "COLUMNS", "channel": "CHANNELS", "plane": "PLANES", "position": "POSITIONS",
          "height": "HEIGHT", "width": "WIDTH", "depth": "DEPTH"}  # fmt: skip
_SHAPE = re.compile(r"(\w+)\.shape\[(\d+)(:\d+)?\](?:\.numel\(\))?")


@dataclass
class Kernel:
    """A kernel in the making.

    `places` are the texts of axes, `extents` those of their extents; `flat` is the offset of the result's element, which
    tensors of its shape share. `mask` writes the condition for a load that depends on some axes. `flats`: offsets that tensors
    of other shapes share, by the axes that these run through; with them `flat` is of no account.
    """

    nest: Nest
    places: Mapping[str, str]
    extents: Mapping[str, str]
    flat: str
    mask: Callable[[frozenset[str]], str]
    outputs: tuple[str, ...] = ("out",)
    flats: tuple[tuple[tuple[Axis, ...], str], ...] = ()
    reserved: frozenset[str] = frozenset()  # parameters that constants must not be called like
    lengths: Mapping[str, str] = field(default_factory=dict)  # sizes that it is told anyway -> their parameters
    constants: dict[str, str] = field(default_factory=dict)  # name -> expression of the launcher
    named: dict[Index, str] = field(default_factory=dict)
    conditions: dict[tuple[tuple[Inside, ...], str], str] = field(default_factory=dict)
    helpers: dict[str, None] = field(default_factory=dict)
    asserted: dict[tuple[Checked, str], None] = field(default_factory=dict)
    corners: dict[str, tuple[str, Load]] = field(default_factory=dict)  # let -> where its window begins, and the rest
    named_corners: dict[str, str] = field(default_factory=dict)  # name -> text

    def constant(self, expression: str, base: str) -> str:
        """The constexpr parameter that holds a size, so that divisions by it are cheap."""
        if expression.isdecimal():
            return expression
        known = next((name for name, text in self.constants.items() if text == expression), None)
        if known is None:
            others = {name.upper() for name in self.nest.whole if name != expression}
            taken = set(self.constants) | others | self.reserved
            known = next(n for n in (base, *(f"{base}_{i}" for i in range(2, 99))) if n not in taken)
            self.constants[known] = expression
        return known

    @property
    def _windows(self) -> set[str]:
        return {axis.name for axis in self.nest.axes if axis.window}

    def index(self, index: Index) -> str:
        """An Index as code."""
        if index in self.named:
            return self.named[index]
        return index.renamed({name: self._name(name) for name in index.names()}).text(self._windows)

    def _name(self, name: str) -> str:
        if name in self.places:
            return self.places[name]
        axis = next((a for a in (*self.nest.axes, *self.nest.parts) if extent_of(a.name) == name), None)
        if axis is not None:
            return self.extents.get(axis.name) or self.constant(axis.extent.text, self._base_of(axis))
        if name in self.nest.whole:
            return self.constant(name, name.upper())
        if name in self.nest.sizes:
            text = self.nest.sizes[name]
            if text in self.lengths:
                return self.lengths[text]
            return self.constant(text, self.base(text) if name.startswith("size") else name.upper())
        return name

    def _base_of(self, axis: Axis) -> str:
        """What the constant for an axis' extent is called."""
        base = self.base(axis.extent.text)
        if self.nest.along is not None and (base == "SIZE" or axis.name in ("row", "column")):
            base = _SIDES.get(axis.name, base)
        part = base == "SIZE" and axis in self.nest.parts
        return _PARTS.get(axis.name, f"{axis.name.upper()}S") if part else base

    def index_name(self, axis: Axis) -> str:
        """The extent of an axis of the result, as the kernel knows it."""
        return self._name(extent_of(axis.name))

    def place(self, load: Load) -> str:
        """The offset of a load in its tensor."""
        flat = self._flat_of(load)
        if flat is not None:
            return flat
        tensor, text = self.tensor(load), ""
        for index, (start, stop) in zip(load.index, load.dims, strict=True):
            own = "" if index.constant == 0 else self.index(index)
            if text:
                along = self._along(load, index, _product(tensor.sizes[start:stop]))
                size = self.index_name(along) if along else self.size(tensor, start, stop)
                if size != "1":
                    text = f"({text}) * {size}" if " " in text else f"{text} * {size}"
            own = f"({own})" if own.startswith("-") and text else own
            text = " + ".join(part for part in (text, own) if part)
        return text or "0"

    def _along(self, load: Load, index: Index, size: int) -> Axis | None:
        """The axis whose extent the launcher has checked a dim of `size` to have."""
        if any(index == one.index for one in load.inside):
            return None
        axes = (axis for axis in self.nest.axes if not axis.window)
        return next((a for a in axes if a.name == index.name and a.extent.captured == size), None)

    def is_flat(self, load: Load) -> bool:
        """Whether the load is at a place that other tensors share."""
        return self._flat_of(load) is not None

    def _flat_of(self, load: Load) -> str | None:
        """The offset of a load of a tensor whose dims are axes that are walked through in this order; None for another one."""
        shape = self.tensor(load).sizes
        sizes = [_product(shape[start:stop]) for start, stop in load.dims]
        given = zip(load.index, sizes, strict=True)
        along = [(index.name, size) for index, size in given if not (self.flats and size == 1 and index.constant == 0)]
        for axes, text in self.flats or ((self.nest.spatial, self.flat),):
            if along == [(axis.name, axis.extent.captured) for axis in axes]:
                return text
        return None

    def size(self, tensor: Tensor, start: int, stop: int) -> str:
        """The size of the range start:stop of a tensor's dims, as the kernel knows it."""
        text = dims_text(tensor, start, stop)
        if text in self.lengths:
            return self.lengths[text]
        axis = next((axis for axis in self.nest.spatial if axis.extent.text == text), None)
        return self.index_name(axis) if axis else self.constant(text, self.base(text))

    def base(self, text: str) -> str:
        """What a constant for a size is called: after the dim that it is of an image or of a window, where it is one."""
        if text.isidentifier():
            return text.upper()
        found = _SHAPE.fullmatch(text)
        if not found:
            return "SIZE"
        start, tensor = int(found[2]), next((t for t in self.nest.tensors if t.name == found[1]), None)
        if tensor is None:
            return "SIZE"
        if found[3]:
            return "POSITIONS" if start == 2 else "INNER"
        if start == 0:
            return "ROWS"
        if start == 1 and len(tensor.shape) > 2:
            return "CHANNELS"
        back = len(tensor.shape) - 1 - start
        window = any(
            text in axis.extent.text for axis in (*self.nest.axes, *self.nest.parts) if axis.window or axis.inner
        )
        return f"{'KERNEL_' if window else ''}{_DIMS[back]}" if back < len(_DIMS) else "SIZE"

    def tensor(self, load: Load) -> Tensor:
        return next(tensor for tensor in self.nest.tensors if tensor.name == load.tensor)

    def lines(self, let: Let, *, other: str = "0") -> list[str]:
        """The lines of a Let that is no Fold; what its conditions need comes first. `other` "": any number will do."""
        expr = let.expr
        if isinstance(expr, Divided):
            index, by = (f"({text})" if " " in text else text for text in map(self.index, (expr.index, expr.by)))
            return [f"{let.name} = {index} {'%' if expr.rest else '//'} {by}"]
        if not isinstance(expr, Load):
            before = [line for held in _held(expr) for line in self.condition(held.inside, "")]
            return [*before, f"{let.name} = {self.expression(expr)}"]
        mask = self.mask(let.axes)
        lines: list[str] = []
        if expr.inside:
            lines = self.condition(expr.inside, mask)
            lines += [line for one in expr.checked for line in self._assert(one, expr.inside, mask)]
            mask = self.conditions[expr.inside, mask]
        if let.name in self.corners:
            corner, within = self.corners[let.name]
            place = f"{corner} + {self.place(within)}"
        else:
            named = [index for index in expr.index if self._windows & set(index.names())]
            lines += [line for index in named for line in self._name_index(index)]
            place = self.place(expr)
        place = place if place.isidentifier() else f"({place})"
        at = f"{expr.tensor}_ptr" if place in ("(0)", "0") else f"{expr.tensor}_ptr + {place}"
        masked = (f", mask={mask}" + (f", other={other}" if other else "")) if mask else ""
        made = {"bool": " != 0", "int": ""}.get(let.kind, ".to(tl.float32)")
        return [*lines, f"{let.name} = tl.load({at}{masked}){made}"]

    def corner(self, let: Let) -> list[str]:
        """The line that names where the window of a load begins, where all of it is there: one address for all its turns."""
        load = let.expr
        if not isinstance(load, Load) or load.inside:
            return []
        first, within = zip(*(index.parted(self._windows) for index in load.index), strict=True)
        text, lets = self.place(replace(load, index=first)), {one.name for one in self.nest.lets}
        read = {name for index in first for name in index.names()} & lets  # which may be known within the loops only
        if read or " " not in text or not any(index.terms for index in within):
            return []
        known = next((name for name, said in self.named_corners.items() if said == text), None)
        taken = {*self.named_corners, *lets, *self.nest.numbers}
        name = known or next(n for n in ("corner", *(f"corner_{i}" for i in range(2, 99))) if n not in taken)
        self.named_corners[name] = text
        self.corners[let.name] = name, replace(load, index=within)
        return [] if known else [f"{name} = {text}"]

    def _assert(self, one: Checked, inside: tuple[Inside, ...], mask: str) -> list[str]:
        """The line that stops the program where an index is out of range, as torch's own kernels do."""
        if (one, mask) in self.asserted:
            return []
        self.asserted[one, mask] = None
        holds = self.conditions[inside, mask]
        besides = f" | ({one.name} == {self.index(one.besides)})" if one.besides is not None else ""
        where = f", mask={mask}" if mask else ""
        return [f'tl.device_assert({holds}{besides}, "{one.name} is out of range"{where})']

    def condition(self, inside: tuple[Inside, ...], mask: str) -> list[str]:
        """The lines that name what `inside` and `mask` ask for."""
        if (inside, mask) in self.conditions:
            return []
        lines: list[str] = []
        parts = [f"({mask})" if " " in mask and "&" not in mask else mask] if mask else []
        for one in inside:
            lines += self._name_index(one.index)
            text = self.index(one.index)
            if one.least is not None:
                parts.append(f"({text} >= {self.index(one.least)})")
            if one.limit is not None:
                parts.append(f"({text} < {self.index(one.limit)})")
        text = " & ".join(parts) if len(parts) > 1 else parts[0].removeprefix("(").removesuffix(")")
        taken = set(self.conditions.values())
        name = next(n for n in ("inside", *(f"inside_{i}" for i in range(2, 99))) if n not in taken)
        self.conditions[inside, mask] = name
        return [*lines, f"{name} = {text}"]

    def _name_index(self, index: Index) -> list[str]:
        """The line that gives a longer index a name, which it has from then on."""
        text = self.index(index)
        if " " not in text or index.constant:
            return []
        self.named[index] = self._short(index)
        return [f"{self.named[index]} = {text}"]

    def _short(self, index: Index) -> str:
        """A name for an index: the first letter of the axis that it follows."""
        names = set(index.names())
        axes = [axis.name for axis in (*self.nest.spatial, *self.nest.parts) if axis.name in names]
        base = axes[0][0] if axes and axes[0][0] not in "ijk" else "at"
        taken = {*self.named.values(), *(let.name for let in self.nest.lets), *self.places.values(), "i", "j", "k"}
        taken |= set(self.nest.numbers)
        return next(n for n in (base, *(f"{base}_{i}" for i in range(2, 99))) if n not in taken)

    def expression(self, expr: Expr) -> str:
        """An expression of lets and numbers as Triton text."""
        operands: dict[str, str] = {}

        def named(part: Expr) -> Expr:
            if isinstance(part, Apply):
                return Apply(part.function, tuple(named(a) for a in part.arguments))  # type: ignore[misc]
            if isinstance(part, Var):
                operands[part.name] = part.name
                return part
            if isinstance(part, Const):
                text = number(part.value)
            elif isinstance(part, Held):
                text = self.conditions[part.inside, ""]
            else:
                text = self.index(part)  # type: ignore[arg-type]
                text = f"({text})" if " " in text else text
            operands[text] = text
            return Var(text)

        whole = named(expr)
        if isinstance(whole, Apply):
            self.helpers |= dict.fromkeys(device_functions(whole))
        return triton_text(whole, operands)  # type: ignore[arg-type]

    def folded(self, fold: Fold, mask: str = "") -> str:
        """The body of a fold; elements that do not count are the fold's unit."""
        body = self.expression(fold.body)
        if not fold.inside or self.filled(fold):
            return body
        return f"tl.where({self.conditions[fold.inside, mask]}, {body}, {FOLDS[fold.monoid].fill})"

    def filled(self, fold: Fold) -> bool:
        """Whether the body is a load, which brings the fold's unit where nothing is read."""
        if not isinstance(fold.body, Var):
            return False
        body = next(let for let in self.nest.lets if let.name == fold.body.name)
        return isinstance(body.expr, Load) and body.expr.inside == fold.inside

    def tensors(self) -> list[str]:
        return [tensor.name for tensor in self.nest.tensors]

    def scalars(self) -> list[str]:
        """The numbers that the kernel is given at run time."""
        return [name for name in self.nest.numbers if name not in self.nest.whole]

    def parameters(self, sizes: Iterable[str], blocks: Iterable[str]) -> list[str]:
        return [
            *(f"{name}_ptr" for name in self.tensors()),
            *(f"{name}_ptr" for name in self.outputs),
            *sizes,
            *self.scalars(),
            *(f"{name}: tl.constexpr" for name in (*self.constants, *blocks)),
        ]

    def arguments(self, sizes: Iterable[str], blocks: Mapping[str, object], warps: int) -> list[str]:
        return [
            *self.tensors(),
            *self.outputs,
            *sizes,
            *self.scalars(),
            *(f"{name}={text}" for name, text in self.constants.items()),
            *(f"{name}={size}" for name, size in blocks.items()),
            f"num_warps={warps}",
            *(["debug=True", "sanitize_overflow=False"] if self.asserted else []),
        ]


def dims_text(tensor: Tensor, start: int, stop: int) -> str:
    """The launcher's text for the number of elements in the range start:stop of a tensor's dims, in the order of memory."""
    if all(size == 1 for size in tensor.sizes[start:stop]):
        return "1"
    if tensor.order:
        return product_text([f"{tensor.name}.shape[{d}]" for d in tensor.order[start:stop]])
    if stop - start == 1:
        return f"{tensor.name}.shape[{start}]"
    return f"{tensor.name}.shape[{start}:{stop}].numel()"


def number(value: int | float) -> str:
    """A number as Triton source: negative ones in brackets."""
    if value != value or abs(value) == float("inf"):
        return f'float("{value}")'
    return f"({float(value)!r})" if value < 0 else repr(float(value))


def _product(sizes: Iterable[int]) -> int:
    number_ = 1
    for size in sizes:
        number_ *= size
    return number_


def _held(expr: Expr) -> Iterable[Held]:
    if isinstance(expr, Held):
        yield expr
    elif isinstance(expr, Apply):
        for argument in expr.arguments:
            yield from _held(argument)
