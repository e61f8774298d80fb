"""Prints a convolution as products of fp16 parts of image and weight, which kernels of their own turn to channels-last first.

With a border around the image a window never leaves it, and the elements of a position that are multiplied lie side by side:
the kernel adds to the place of each result's first element how far the window and its channels are from there. (Zhou et al.,
Characterizing and Demystifying the Implicit Convolution Algorithm on Commercial Matrix-Multiplication Accelerators, 2021.)
The parts, their scales and how products of them are added up are those of `corrected.py`. Items of which fp16 would lose
too much are left to a second kernel, which reads them as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.emit import launcher as launching
from kernelwright.emit.channels_last import CHANNELS_LAST, definitions
from kernelwright.emit.corrected import rounded_sum, sum_of_parts
from kernelwright.emit.dot import dot_body
from kernelwright.emit.splitting import Split
from kernelwright.emit.tiled import Tiled
from kernelwright.micro.rewrite.printed import Printed, kernel_source, launcher_source
from kernelwright.micro.rewrite.relies import limits
from kernelwright.nest.form import Axis, Contract, Inside, Load, Nest, Window
from kernelwright.nest.index import Index, constant, variable
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.schedule.forms import Product

_DIMS = ("depth", "height", "width")
_FEW = 16
"""Channels up to which their number is padded to a power of two; above, it is padded to a multiple of 16."""


@dataclass(frozen=True)
class _Dim:
    """A spatial dim: its window, the axis of the window's steps, and where they lead in image and weight.

    `first`: the place in the image of step 0; `moved`: how much further a step is; `place`: where it is in the weight.
    `turns`: which steps a residue takes; None where all of the window.
    """

    name: str
    window: Window
    step: Axis | None
    first: Index
    moved: Index
    place: Index
    turns: Inside | None


def print_windowed(nest: Nest, names: tuple[str, str], words: str, tile: Product, existing: str) -> Printed:
    """Kernel, launcher and call; `names` are those of kernel and launcher, `words` say what is computed."""
    one = _Convolution(Tiled(launching.with_local_sizes(nest)), CHANNELS_LAST[tile.precision])
    kernel, split = one.tiled.kernel, one.split
    body, prepared = one.body(), one.prepared()
    blocks = {"ROWS": tile.rows, "COLUMNS": tile.columns, "DEPTH": tile.depth, "GROUP": tile.group}
    sizes = ["n_rows", "n_columns", "line_size", "image_size", "most_lost"]
    arguments = [a for a in kernel.arguments(sizes, blocks, tile.warps) if a not in one.unread]
    arguments = ["*left_parts[:-1]", "*right_parts", *arguments, f"num_stages={tile.stages}"]
    launch = one.tiled.launch(names, (tile.rows, tile.columns), prepared, arguments)
    as_it_is, launch_of_it = _as_it_is(nest, names[0], words, one)
    launch = [*launch[:-1], *launch_of_it, launch[-1]]
    parameters = [f"{side}_{part}_ptr" for side in ("left", "right") for part in (*split.parts, "scale")]
    parameters.append("right_lost_ptr")
    parameters += [p for p in kernel.parameters(sizes, blocks) if p.removesuffix("_ptr") not in one.unread]
    made = "from fp16 parts, as accurate as fp32" if one.corrected else "of operands rounded to fp16"
    title = f"{words}; the product {made}{limits(nest.eager)}."
    function = launcher_source(names[1], launching.parameters(nest), title, launch)
    source = kernel_source(names[0], parameters, f"{words}, a tile of ROWS by COLUMNS a program.", body)
    helpers = [DEVICE_FUNCTIONS[name] for name in kernel.helpers if f"def {name}(" not in existing]
    turning = [] if f"def {split.function}(" in existing else [definitions(split)]
    return Printed("\n\n\n".join([*helpers, *turning, source, as_it_is, function]), names[1], tile.described)


def _as_it_is(nest: Nest, name: str, words: str, one: "_Convolution") -> tuple[str, list[str]]:
    """The kernel for items that fp16 does not hold, and the launcher's lines that launch it.

    Its tiles are small: with larger ones the registers of three products spill, and usual data leave it nothing to do.
    """
    tile = Product(64, 64, 32, 8, 4, 3, "tf32x3" if one.corrected else "tf32")
    tiled = Tiled(launching.with_local_sizes(nest))
    body = dot_body(tiled, tile, left_out=f"tl.load(lost_ptr{one.item_text(before=' + ')}) <= most_lost")
    blocks = {"ROWS": tile.rows, "COLUMNS": tile.columns, "DEPTH": tile.depth, "GROUP": tile.group}
    sizes = ["n_rows", "n_columns", "depth", "most_lost"]
    name = f"wide_range_{name}"
    parameters = ["lost_ptr", *tiled.kernel.parameters(sizes, blocks)]
    source = kernel_source(
        name, parameters, f"{words} of items whose elements are too different in size for fp16.", body
    )
    arguments = ["right_parts[-1]", *tiled.kernel.arguments(sizes, blocks, tile.warps), f"num_stages={tile.stages}"]
    return source, tiled.started(name, (tile.rows, tile.columns), arguments)


class _Convolution:
    """The lines of kernel and launcher for one convolution."""

    def __init__(self, tiled: Tiled, split: Split) -> None:
        self.tiled, self.split = tiled, split
        product = tiled.product.expr
        assert isinstance(product, Contract)
        weight, image = (tiled.lets[name].expr for name in (product.left, product.right))
        assert isinstance(weight, Load)
        assert isinstance(image, Load)
        self.product, self.weight, self.image = product, weight, image
        self.transposed = product.windows[0].transposed
        self.dims = self._dims()
        batch = {axis.name: axis for axis in tiled.roles.batch}
        self.item = image.index[0].name  # None where there is one
        self.group = next((batch[name] for name in image.index[1].names() if name in batch), None)

    def item_text(self, after: str = "", before: str = "") -> str:
        """The number of the item between two texts, "" where there is one item."""
        return f"{before}{self.item}{after}" if self.item else ""

    @property
    def corrected(self) -> bool:
        """Whether the product is as accurate as one of fp32."""
        return "low" in self.split.parts

    @property
    def unread(self) -> set[str]:
        """The operands' tensors, unless something else reads them too."""
        operands = {self.product.left, self.product.right}
        others = (let.expr for let in self.tiled.nest.lets if let.name not in operands)
        return {self.weight.tensor, self.image.tensor} - {expr.tensor for expr in others if isinstance(expr, Load)}

    def prepared(self) -> list[str]:
        """The launcher's lines that make the parts of both operands."""
        weight, image, groups = self.weight.tensor, self.image.tensor, self.group.extent.text if self.group else "1"
        number = f"{weight}.shape[{0 if self.transposed else 1}]"
        captured = next(t.shape[0 if self.transposed else 1] for t in self.tiled.nest.tensors if t.name == weight)
        if self.transposed and self.group:
            number, captured = f"{number} // {groups}", captured // self.group.extent.captured
            weight = f"{weight}.unflatten(0, ({groups}, -1)).transpose(1, 2).flatten(0, 1)"
        elif self.transposed:
            weight = f"{weight}.transpose(0, 1)"
        few = captured <= _FEW
        channels = f"max(triton.next_power_of_2({number}), 4)" if few else f"triton.cdiv({number}, 16) * 16"
        borders, lines = self._borders()
        function = self.split.function
        return [
            f"channels = {channels}",
            *lines,
            "# The GPU is busy with the image while the rest is launched.",
            f"right_parts = {function}({image}, {groups}, channels, {_tuple(borders)})",
            f"left_parts = {function}({weight}, 1, channels, {_tuple(['(0, 0)'] * len(self.dims))})",
            "line_size, image_size = left_parts[0].stride(0), right_parts[0].stride(0)",
            f"most_lost = {image}.shape[1:].numel() // 1024",
        ]

    def body(self) -> list[str]:
        """The kernel's lines."""
        tiled, operands = self.tiled, {self.product.left, self.product.right}
        early = [let for let in tiled.needed(self.product.right) if let.name not in operands]
        within = operands | {tiled.product.name}
        outside = [let for let in tiled.nest.lets if let.name not in within]
        return [
            *tiled.program(outside),
            f"if tl.load(right_lost_ptr{self.item_text(before=' + ')}) > most_lost:",
            "    return",
            *tiled.lines(early),
            *self._product(),
            *tiled.ending(tiled.lines([let for let in outside if let not in early])),
        ]

    def _dims(self) -> list[_Dim]:
        """The spatial dims in their order."""
        rank, axes = len(self.product.windows), self.tiled.roles.inner
        inner = {axis.name: axis for axis in (axes.parts or (axes,))}
        found = []
        for d, window in enumerate(self.product.windows):
            first, moved = _spatial(self.image)[d].parted(inner)
            step = next((inner[name] for name in moved.names() if name in inner), None)
            place, turns = variable(step.name) if step else constant(0), None
            if window.transposed:
                place = _spatial(self.weight)[d]
                turns = next(
                    (
                        one
                        for one in self.weight.inside
                        if step and step.name in one.index.names() and one.index == place
                    ),
                    None,
                )
            found.append(_Dim(_DIMS[d - rank], window, step, first, moved, place, turns))
        return found

    def _borders(self) -> tuple[list[str], list[str]]:
        """The borders of the image, before and behind it in each dim, and the launcher's lines that name some of them."""
        borders, lines = [], []
        for d, dim in enumerate(self.dims):
            window, size = dim.window, f"{self.image.tensor}.shape[{2 + d}]"
            if not window.transposed:
                text = window.padding.text()
                borders.append(f"({text}, {text})")
                continue
            padding, stride, dilation = window.padding.text(), window.stride.text(), window.dilation.text()
            before = f"({self.weight.tensor}.shape[{2 + d}] - 1) * {dilation} - {padding}"
            lines.append(f"{dim.name}_before = max({before}, 0) // {stride}")
            last = f"{self._places(d).extent.text} + ({padding} - 1) // {stride}"
            borders.append(f"({dim.name}_before, max({last} - {size} + 1, 0))")
        return borders, lines

    def _places(self, d: int) -> Axis:
        """The axis of the result's places, or of those of a residue, in a spatial dim."""
        column = self.tiled.roles.column
        own = {axis.name: axis for axis in (*self.tiled.roles.batch, *(column.parts or (column,)))}
        return next(own[name] for name in self.dims[d].first.names() if name in own)

    def _product(self) -> list[str]:
        """The kernel's lines for the product."""
        tiled, kernel, name = self.tiled, self.tiled.kernel, self.tiled.product.name
        column, parts = tiled.roles.column, tuple(self.split.parts)
        channels = kernel.constant("channels", "CHANNELS")
        pixel = kernel.constant("right_parts[0].shape[-1]", "PIXEL") if self.group else channels
        kernel.places = {**kernel.places, column.name: "positions"}
        kernel.places |= {part.name: f"image_{part.name}s" for part in column.parts}
        wanted = [let for let in tiled.nest.lets if let.expr == self.image]
        corner = _times(self._linear([kernel.index(self._corner(dim)) for dim in self.dims]), pixel, ".to(tl.int64)")
        group = self.group.name if self.group else ""
        add, loop, after = (sum_of_parts if self.corrected else rounded_sum)(name, self._inside(channels, pixel), None)
        return [
            "positions = columns % n_columns",
            *tiled.parts(column, "positions", wanted),
            f"corner = {corner}" + (f" + {group} * {channels}" if group else ""),
            "line = " + (f"{group} * n_rows + " if group else "") + "rows % n_rows",
            *(f"left_{part}_ptr += line.to(tl.int64) * line_size" for part in parts),
            *(f"right_{part}_ptr += {self.item_text('.to(tl.int64) * image_size + ')}corner" for part in parts),
            *self._stop(channels),
            f"{name} = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)",
            *add,
            "for start in range(0, stop, DEPTH):",
            *(f"    {line}" for line in loop),
            *after,
            f"{name} *= tl.load(left_scale_ptr + line) * tl.load(right_scale_ptr{self.item_text(before=' + ')})",
        ]

    def _corner(self, dim: _Dim) -> Index:
        """Where the window of a result begins in the image with its borders."""
        if not dim.window.transposed:
            return dim.first + dim.window.padding
        return dim.first + variable(self.tiled.kernel.constant(f"{dim.name}_before", f"{dim.name.upper()}_BEFORE"))

    def _linear(self, places: Sequence[str]) -> str:
        """The number of a position in the image with its borders."""
        constant = self.tiled.kernel.constant
        sizes = [
            constant(f"right_parts[0].shape[{d}]", f"IMAGE_{dim.name.upper()}")
            for d, dim in enumerate(self.dims[1:], 2)
        ]
        return _horner(places, sizes)

    def _counts(self) -> list[tuple[str, str]]:
        """The name of each axis of steps, and how many there are."""
        kernel, found = self.tiled.kernel, []
        for dim in self.dims:
            if dim.step and dim.turns:
                found.append((dim.step.name, f"{dim.step.name}_steps"))
            elif dim.step:
                found.append((dim.step.name, kernel.index_name(dim.step)))
        return found

    def _stop(self, channels: str) -> list[str]:
        """The lines that say how many elements of a line are multiplied: those of the steps that there are."""
        kernel, lines = self.tiled.kernel, list[str]()
        for dim in self.dims:
            if dim.step and dim.turns and dim.turns.limit:
                first, moved = dim.turns.index.parted({dim.step.name})
                by = Index(tuple((tuple(n for n in names if n != dim.step.name), c) for names, c in moved.terms))
                count = kernel.index(dim.turns.limit - first)
                lines.append(f"{dim.step.name}_steps = tl.cdiv({count}, {kernel.index(by)})")
        lines.append(f"stop = {' * '.join([*(count for _, count in self._counts()), channels])}")
        steps = {dim.step.name for dim in self.dims if dim.step}
        there = tuple(one for one in self.weight.inside if not steps & set(one.index.names()))
        if there:
            lines += kernel.condition(there, "")
            lines.append(f"stop = tl.where({kernel.conditions[there, '']}, stop, 0)")
        return lines

    def _inside(self, channels: str, pixel: str) -> list[str]:
        """The lines of the loop that read the parts of both operands."""
        kernel, counts = self.tiled.kernel, self._counts()
        lines = ["inner = start + tl.arange(0, DEPTH)"]
        feature, tap = "inner", f"inner // {channels}"
        if counts:
            lines.append(f"feature = inner % {channels}")
            feature = "feature"
        if len(counts) > 1:
            lines.append(f"tap = {tap}")
            tap = "tap"
        for at, (step, count) in enumerate(counts):
            later = [number for _, number in counts[at + 1 :]]
            text = f"{tap} // ({' * '.join(later)})" if len(later) > 1 else f"{tap} // {later[0]}" if later else tap
            lines.append(f"{step} = {text}" + (f" % {count}" if at else ""))
        moved = _times(self._linear([kernel.index(dim.moved) for dim in self.dims]), pixel)
        right = f"{moved} + {feature}" if moved != "0" else feature
        left = "inner"
        if self.transposed:
            text = f"{self.weight.tensor}.shape"
            sizes = [
                kernel.constant(f"{text}[{d}]", f"KERNEL_{dim.name.upper()}") for d, dim in enumerate(self.dims[1:], 3)
            ]
            place = _times(_horner([kernel.index(dim.place) for dim in self.dims], sizes), channels)
            left = f"{place} + {feature}" if place != "0" else feature
        lines += [f"left_at = {left}"] if " " in left else []
        lines += [f"right_at = {right}"] if " " in right else []
        left, right = (name if " " in text else text for name, text in (("left_at", left), ("right_at", right)))
        for part in self.split.parts:
            lines.append(
                f"left_{part} = tl.load(left_{part}_ptr + {left}[None, :], mask=inner[None, :] < stop, other=0.0)"
            )
            lines.append(
                f"right_{part} = tl.load(right_{part}_ptr + {right}[:, None], mask=inner[:, None] < stop, other=0.0)"
            )
        return lines


def _spatial(load: Load) -> list[Index]:
    """The index in each spatial dim of an operand."""
    return list(load.index[2:])


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _times(text: str, factor: str, conversion: str = "") -> str:
    if text == "0":
        return "0"
    text = f"({text})" if " " in text else text
    return f"{text}{conversion} * {factor}"


def _horner(places: Sequence[str], sizes: Sequence[str]) -> str:
    """The number of a place that has these indices, for the sizes of all dims but the first."""
    text = places[0]
    for place, size in zip(places[1:], sizes, strict=True):
        text = "" if text == "0" else f"({text}) * {size}" if " " in text else f"{text} * {size}"
        own = "" if place == "0" else place
        own = f"({own})" if own.startswith("-") and text else own
        text = " + ".join(part for part in (text, own) if part) or "0"
    return text
