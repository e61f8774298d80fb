"""Sums and means over the positions of a convolution: they only need sums of its input, one for each tap of the kernel."""

import math
from dataclasses import dataclass

from kernelwright.micro.rewrite.algebra import Match, Step, View, applied, dims_of, line_of, written
from kernelwright.micro.rewrite.algebra_convolution import Convolution, convolution
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, Unwritable, atom
from kernelwright.values import Node, Refusal

_TRANSPOSED_HELPER = '''\
def {name}(x, dim, kernel, stride, padding, dilation, output_padding):
    """For a transposed convolution along `dim` of x: the extent of its output, and a mask of shape (input, tap).

    The mask is 1 where the tap puts the input inside the output and 0 where it is cropped.
    """
    size = x.shape[dim]
    extent = (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1
    inputs = {torch}.arange(size, device=x.device)[:, None]
    taps = {torch}.arange(kernel, device=x.device)
    outputs = inputs * stride - padding + taps * dilation
    return extent, ((outputs >= 0) & (outputs < extent)).to(x.dtype)
'''
_HELPER = '''\
def {name}(x, dim, kernel, stride, padding, dilation):
    """For a convolution along `dim` of x: the extent of its output, and a mask of shape (input, tap).

    The mask is 1 where some output reads the input with the tap and 0 elsewhere.
    """
    size = x.shape[dim]
    extent = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    inputs = {torch}.arange(size, device=x.device)[:, None]
    taps = {torch}.arange(kernel, device=x.device)
    reached = inputs + padding - taps * dilation  # stride times the number of the output
    inside = (reached >= 0) & (reached < stride * extent) & (reached % stride == 0)
    return extent, inside.to(x.dtype)
'''
_EXTENTS = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
_MASKS = {1: ("steps",), 2: ("rows", "columns"), 3: ("planes", "rows", "columns")}


def pooled_convolution(view: View, node: Node) -> Match | Refusal | None:
    """The mean of a convolution over some or all of its spatial dimensions.

    Tap k of the kernel adds weight[k] * x[i] at output i * stride - padding + k * dilation (transposed), or reads
    x[o * stride - padding + k * dilation] for output o. Summed over outputs, x[i] counts for tap k exactly when that
    output, or that input, exists: a sum of x under a mask of zeros and ones, which is separable over the dimensions.
    """
    if node.op not in ("sum", "mean") or node.kwargs.get("dtype") is not None or not view.floating(node.tensor()):
        return None
    steps, start = view.chain(node.tensor())
    found = convolution(view, view.private(start))
    if found is None:
        return None
    axes = tuple(d - 2 for d in dims_of(node))
    if not axes or min(axes) < 0 or math.prod(found.out_size[a] for a in axes) < 4:
        return None
    whole = len(axes) == found.rank
    if found.groups != 1 and whole:
        return Refusal("The convolution has groups; its mean is not taken apart.", line_of(node))
    keeps_rank = whole or bool(node.kwargs["keepdim"])
    shapes = [view.shape(step.tensor) for step in steps if step.tensor is not None]
    if not all(_fits(shape, found, keeps_rank) for shape in shapes):
        return Refusal("What is added or multiplied before the mean has more than one entry a channel.", line_of(node))
    if any(_skips(found, axis) for axis in axes):
        return Refusal(
            "The convolution never reads some of its input; a NaN there would count in the sums.", line_of(node)
        )
    pooled = _Pooled(view, node, found, steps, axes)
    count = math.prod(found.out_size[a] for a in axes)
    return Match(
        frozenset({found.node.id, node.id, *(s.node.id for s in steps)}),
        node.outputs[0],
        f"{node.op} over the positions of {found.node.op}",
        pooled.write,
        found.node.estimated_flops * (count - 1) // count,
        2 * view.bytes(start) * (1 + len(steps)),
    )


def _skips(found: Convolution, axis: int) -> bool:
    """Whether some input along `axis` is in no output: passed over by a stride, or cropped. The mask is 0 in all its taps."""
    stride, padding, dilation = found.stride[axis], found.padding[axis], found.dilation[axis]
    size, extent = found.size[axis], found.out_size[axis]
    shifts = [tap * dilation - padding for tap in range(found.kernel[axis])]
    if found.transposed:
        return any(all(not 0 <= i * stride + shift < extent for shift in shifts) for i in range(size))
    read = {o * stride + shift for o in range(extent) for shift in shifts}
    return not read.issuperset(range(size))


def _fits(shape: tuple[int, ...], found: Convolution, keeps_rank: bool) -> bool:
    rank = found.rank + 2
    if not keeps_rank or len(shape) > rank:
        return math.prod(shape) == 1 and len(shape) <= 1
    padded = (1,) * (rank - len(shape)) + shape
    return all(n == 1 for i, n in enumerate(padded) if i != 1)


@dataclass(frozen=True)
class _Pooled:
    view: View
    node: Node
    found: Convolution
    steps: tuple[Step, ...]
    axes: tuple[int, ...]

    @property
    def whole(self) -> bool:
        return len(self.axes) == self.found.rank

    @property
    def pointwise(self) -> bool:
        """Whether the kernel does nothing along the reduced dimensions."""
        options = (self.found.kernel, self.found.stride, self.found.padding)
        extra = self.found.output_padding
        return all(
            (k, s, p) == (1, 1, 0) and extra[a] == 0 for a in self.axes for k, s, p in [tuple(o[a] for o in options)]
        )

    def uncropped(self, spelling: Spelling) -> bool:
        """Whether every tap puts every input inside the output, however the layer is constructed."""
        if not self.found.transposed or any(self.found.padding[a] for a in self.axes):
            return False
        return spelling.pinned(self.found.node, "padding", 4)

    def write(self, spelling: Spelling) -> Code:
        self._check_pinned(spelling)
        if self.pointwise:
            text, lines = self._pointwise(spelling)
        else:
            text, lines = self._whole(spelling) if self.whole else self._partial(spelling)
        keepdim = self.node.kwargs["keepdim"]
        flat = self.whole and not self.pointwise
        for step in self.steps:
            operand = "" if step.op == "neg" else written(step, spelling)
            shape = self.view.shape(step.tensor) if step.tensor is not None else ()
            if flat and math.prod(shape) > 1 and len(shape) > 1:
                operand = f"{operand}.flatten()"
            text = applied(step, atom(text), operand)
        if self.node.op == "sum":
            text = f"{atom(text)} * {self._count(spelling, lines)}"
        if flat and keepdim:
            text = f"{atom(text)}[:, :{', None' * self.found.rank}]"
        elif self.pointwise and not keepdim:
            dims = tuple(a + 2 for a in self.axes)
            text = f"{atom(text)}.squeeze({dims if len(dims) > 1 else dims[0]})"
        definition = (
            ""
            if self.pointwise or self.uncropped(spelling)
            else _TRANSPOSED_HELPER
            if self.found.transposed
            else _HELPER
        )
        if definition:
            definition = definition.format(name=spelling.defined("seen_by_taps"), torch=spelling.torch)
        return Code(text, tuple(lines), definition)

    def _check_pinned(self, spelling: Spelling) -> None:
        """What the new code takes for granted must hold however the class is constructed."""
        node, module = self.found.node, spelling.module(self.found.node) is not None
        positions = {"kernel_size": 2, "stride": 3, "padding": 4} if module and self.pointwise else {}
        positions |= {"groups": 6} if self.whole and not self.pointwise else {}
        for name, position in positions.items():
            if not spelling.pinned(node, name, position):
                raise Unwritable(f"The {name} of the convolution is an argument, and can be another one.")

    def _pointwise(self, spelling: Spelling) -> tuple[str, list[str]]:
        x, name = spelling.value(self.found.x), spelling.fresh("mean")
        dims = tuple(a + 2 for a in self.axes)
        lines = [
            "# A convolution that sees one position at a time commutes with the mean over positions.",
            f"{name} = {x}.mean(dim={dims if len(dims) > 1 else dims[0]}, keepdim=True)",
        ]
        module = spelling.module(self.found.node)
        if module is not None:
            return f"{module}({name})", lines
        options = spelling.call_options(self.found.node, 1)
        return f"{spelling.functional}.{self.found.node.op}({', '.join([name, *options])})", lines

    def _whole(self, spelling: Spelling) -> tuple[str, list[str]]:
        x, weight = spelling.value(self.found.x), spelling.value(self.found.weight)
        each = "" if self.uncropped(spelling) else ", one for each tap of the kernel"
        lines = [f"# The mean over all positions needs only sums of the input{each}."]
        self._named_module(spelling, lines)
        count = self._count(spelling, lines)
        if self.uncropped(spelling):
            dims = tuple(a + 2 for a in self.axes)
            at = dims if len(dims) > 1 else dims[0]
            text = f"{x}.sum({at}) @ {weight}.sum({at}) / {count}"
        else:
            sums = spelling.fresh("sums")
            spatial, taps = "dhw"[-self.found.rank :], "klm"[: self.found.rank]
            names = [spelling.named(mask) for mask in reversed(self._mask_names)]
            terms = [f"{s}{t}" for s, t in zip(reversed(spatial), reversed(taps), strict=True)]
            lines.append(
                f'{sums} = {spelling.torch}.einsum("bc{spatial},{",".join(terms)}->bc{taps}", {", ".join([x, *names])})'
            )
            order = "co" if self.found.transposed else "oc"
            text = f'{spelling.torch}.einsum("bc{taps},{order}{taps}->bo", {sums}, {weight}) / {count}'
        if self.found.bias is not None:
            text = f"{text} + {spelling.value(self.found.bias)}"
        if not self.steps and not self.node.kwargs["keepdim"]:
            return text, lines
        lines.append(f"{spelling.named('pooled')} = {text}")
        return spelling.named("pooled"), lines

    def _partial(self, spelling: Spelling) -> tuple[str, list[str]]:
        found = self.found
        x, weight = spelling.value(found.x), spelling.value(found.weight)
        sums, kernel = spelling.fresh("sums"), spelling.fresh("weight")
        lines = [
            "# Summed over a dimension, the convolution runs over the others; the taps of that dimension are channels."
        ]
        self._named_module(spelling, lines)
        count = self._count(spelling, lines)
        dims = tuple(a + 2 for a in self.axes)
        at = dims if len(dims) > 1 else dims[0]
        rest = [a for a in range(found.rank) if a not in self.axes]
        if self.uncropped(spelling):
            lines += [f"{sums} = {x}.sum({at})", f"{kernel} = {weight}.sum({at}) / {count}"]
        else:
            spatial, taps = "dhw"[-found.rank :], "klm"[: found.rank]
            left = "".join(taps[a] for a in self.axes) + "".join(spatial[a] for a in rest)
            terms = [f"{spatial[a]}{taps[a]}" for a in reversed(self.axes)]
            names = ", ".join(spelling.named(mask) for mask in reversed(self._mask_names))
            lines.append(f'{sums} = {spelling.torch}.einsum("bc{spatial},{",".join(terms)}->bc{left}", {x}, {names})')
            lines.append(f"{sums} = {sums}.flatten(1, {1 + len(dims)})")
            first = (0, *dims, 1) if found.transposed else (0, 1, *dims)
            order = (*first, *(a + 2 for a in rest))
            ends = (0, len(dims)) if found.transposed else (1, 1 + len(dims))
            lines.append(f"{kernel} = {weight}.permute{order}.flatten{ends} / {count}")
        options = self._options(spelling, rest)
        name = f"conv_transpose{len(rest)}d" if found.transposed else f"conv{len(rest)}d"
        bias = spelling.value(found.bias) if found.bias is not None else "None"
        text = f"{spelling.functional}.{name}({', '.join([sums, kernel, bias, *options])})"
        if not self.node.kwargs["keepdim"]:
            return text, lines
        lines.append(f"{spelling.named('pooled')} = {text}")
        return spelling.named("pooled") + "".join(f".unsqueeze({d})" for d in dims), lines

    def _options(self, spelling: Spelling, rest: list[int]) -> list[str]:
        def several(name: str) -> str:
            parts = [self._option(spelling, name, a) for a in rest]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

        groups = f"{self._module(spelling)}.groups" if self._module(spelling) else repr(self.found.groups)
        if self.found.transposed:
            return [several("stride"), several("padding"), several("output_padding"), groups, several("dilation")]
        return [several("stride"), several("padding"), several("dilation"), groups]

    def _module(self, spelling: Spelling) -> str | None:
        return spelling.module(self.found.node)

    def _named_module(self, spelling: Spelling, lines: list[str]) -> None:
        module = spelling.module(self.found.node)
        if module is not None:
            lines.append(f"{spelling.named('conv')} = {module}")

    def _option(self, spelling: Spelling, name: str, axis: int) -> str:
        if spelling.module(self.found.node) is not None:
            return f"{spelling.named('conv')}.{'kernel_size' if name == 'kernel' else name}[{axis}]"
        return repr(getattr(self.found, name)[axis])

    def _count(self, spelling: Spelling, lines: list[str]) -> str:
        """How many positions are averaged; adds the lines that compute it, and the masks, once."""
        found = self.found
        x = spelling.value(found.x)
        if self.pointwise:
            return " * ".join(f"{x}.shape[{a + 2}]" for a in self.axes)
        names = [spelling.named(_EXTENTS[found.rank][a]) for a in self.axes]
        for axis, name, mask in zip(self.axes, names, self._mask_names, strict=True):
            kernel, stride, padding, dilation = (
                self._option(spelling, n, axis) for n in ("kernel", "stride", "padding", "dilation")
            )
            extra = [self._option(spelling, "output_padding", axis)] if found.transposed else []
            if self.uncropped(spelling):
                reach = f"{dilation} * ({kernel} - 1) + {extra[0]} + 1"
                line = f"{name} = ({x}.shape[{axis + 2}] - 1) * {stride} + {reach}"
            else:
                given = ", ".join([x, str(axis + 2), kernel, stride, padding, dilation, *extra])
                line = f"{name}, {spelling.named(mask)} = {spelling.defined('seen_by_taps')}({given})"
            if line not in lines:
                lines.append(line)
        return names[0] if len(names) == 1 else f"({' * '.join(names)})"

    @property
    def _mask_names(self) -> list[str]:
        return [_MASKS[self.found.rank][a] for a in self.axes]
