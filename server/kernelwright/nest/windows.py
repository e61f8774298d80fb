"""Pools: the fold of a window that slides over the positions of an image, with padding, strides and dilation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelwright.nest.form import Element, Expr, Extent, Fold, Inside
from kernelwright.nest.index import Index, constant, variable
from kernelwright.nest.refused import NotExpressible
from kernelwright.ops import Row
from kernelwright.ops.expression import Apply, Const, Var
from kernelwright.values import Argument, Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

MOST_STEPS = 512
"""Elements of a window that a program walks through one after the other."""
_STEPS = ("i", "j", "k")
_PLACES = ("depth", "height", "width")


def pooled(builder: Builder, node: Node, known: Row, index: tuple[Index, ...]) -> Element:
    """The fold over the window of the result at `index`. Raises NotExpressible."""
    options = builder.arguments(node)
    if options.get("ceil_mode") or options.get("return_indices") or options.get("divisor_override") is not None:
        raise NotExpressible(f"{node.op} with ceil_mode, indices or a divisor has no form here.", node)
    source = node.args[0]
    assert isinstance(source, TensorRef)
    rank, lead = known.spatial, len(index) - known.spatial
    places, inside, axes = list(index[:lead]), [], []
    steps = 1
    for d in range(rank):
        window, stride, padding, dilation = (_option(builder, node, name, d, rank) for name in _OPTIONS)
        extent = Extent(_captured(node, options, "kernel_size", d), window.text())
        steps *= extent.captured
        step = builder.axis(_STEPS[d], extent)
        axes.append(next(iter(step.names())))
        place = index[lead + d] * stride - padding + step * dilation
        padded = _captured(node, options, "padding", d) or builder.given.numbers.get((node.id, "padding"))
        if padded:
            limit = builder.sizes.index(source.id, lead + d)
            inside.append(Inside(place, constant(0), limit))
        places.append(place)
    if steps > MOST_STEPS:
        raise NotExpressible(f"A window of {steps} elements is walked through by nobody.", node)
    body = builder.under(inside, source.id, tuple(places))
    if body.kind == "bool":
        raise NotExpressible(f"{node.op} of booleans has no form here.", node)
    builder.say(node.op)
    conditions = (*builder.inside, *inside)
    if known.fold != "sum":
        return Element(Var(builder.let("pooled", Fold(known.fold, body.expr, tuple(axes), conditions))))
    total = builder.let("window_sum", Fold("sum", body.expr, tuple(axes), conditions))
    count: Expr
    if inside and not options["count_include_pad"]:
        count = Var(builder.let("count", Fold("sum", Const(1.0), tuple(axes), conditions)))
    else:
        count = _size_of_window(builder, axes)
    return Element(Var(builder.let("pooled", Apply("div", (Var(total), count)))))  # type: ignore[arg-type]


_OPTIONS = ("kernel_size", "stride", "padding", "dilation")


def _size_of_window(builder: Builder, axes: list[str]) -> Index:
    """How many elements a window has."""
    product = constant(1)
    for name in axes:
        extent = builder.axes[name].extent
        product = product * (constant(extent.captured) if extent.text.isdecimal() else variable(extent.text))
    return product


def _option(builder: Builder, node: Node, name: str, d: int, rank: int) -> Index:
    """One of the window's numbers in the spatial dim `d`, as an Index."""
    options = builder.arguments(node)
    if name == "dilation" and name not in options:
        return constant(1)
    if name == "stride" and options.get("stride") in (None, ()):
        name = "kernel_size"
    value = options[name]
    part = ""
    if isinstance(value, tuple):
        part = f"[{d}]" if len(value) > 1 else "[0]"
    return builder.whole_number(node, name, _captured(node, options, name, d), part)


def _captured(node: Node, options: dict[str, Argument], name: str, d: int) -> int:
    value = options.get(name)
    if isinstance(value, tuple):
        value = value[d] if len(value) > 1 else value[0]
    if not isinstance(value, int):
        raise NotExpressible(f"{node.op} with a {name} that is not known.", node)
    return value


def size(builder: Builder, node: Node, dim: int, known: Row) -> Index:
    """The size of the result in a dim."""
    source = node.args[0]
    assert isinstance(source, TensorRef)
    d = dim - (len(builder.graph.value(node.outputs[0]).type.shape) - known.spatial)
    whole = builder.sizes.of(source.id, dim)
    if d < 0:
        return whole
    window, stride, padding, dilation = (_option(builder, node, name, d, known.spatial) for name in _OPTIONS)
    room = whole + padding * 2 - (window - 1) * dilation - 1
    if stride.constant == 1:
        return room + 1
    if stride == window and not padding.terms and dilation.constant == 1:
        text = f"({whole.text()})" if " " in whole.text() else whole.text()
        return variable(f"{text} // {stride.text()}")
    text = room.text()
    return variable(f"({text}) // {stride.text()}" if " " in text else f"{text} // {stride.text()}") + 1
