"""Convolutions: products of a weight with the windows of an image, summed over channels and the places of the window.

A transposed one with a stride is one convolution for each residue of the place by the stride, with the part of the window
that meets an element of the input there, which is none for some residues where the stride and the dilation have a common
factor. Groups and residues are axes of their own, into which a dim of the result is split.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.nest.form import Contract, Divided, Element, Extent, Fold, Inside, Window
from kernelwright.nest.index import Index, constant, variable
from kernelwright.nest.refused import NotExpressible
from kernelwright.nest.windows import MOST_STEPS
from kernelwright.ops import Kind, row
from kernelwright.ops.expression import Apply, Var
from kernelwright.values import Node, TensorRef

if TYPE_CHECKING:
    from kernelwright.nest.build import Builder

_STEPS = ("i", "j", "k")
_DIMS = ("depth", "height", "width")


@dataclass(frozen=True)
class Split:
    """A dim of the result as `outer * by + inner`: groups and the channels of each, or places and their `residues`."""

    outer: Extent
    inner: Extent
    by: Index
    residues: bool


@dataclass(frozen=True)
class _Call:
    """The arguments of a convolution. Numbers are Indices: literals where the code relies on them."""

    image: TensorRef
    weight: TensorRef
    bias: TensorRef | None
    rank: int
    transposed: bool
    groups: int  # as captured
    many: Index  # groups
    stride: tuple[Index, ...]
    padding: tuple[Index, ...]
    dilation: tuple[Index, ...]
    output_padding: tuple[Index, ...]
    captured: dict[str, tuple[int, ...]]


def convolves(node: Node) -> bool:
    """Whether the node is a convolution."""
    return row(node.op).kind is Kind.CONVOLUTION


def element(builder: Builder, node: Node, index: tuple[Index, ...]) -> Element:
    """The element of the convolution at `index`. Raises NotExpressible."""
    call = _call(builder, node)
    builder.say(node.op)
    made = _depthwise if _alone(builder, call) else _product
    name = made(builder, node, call, index)
    if call.bias is None:
        return Element(Var(name))
    bias = builder.element(call.bias.id, builder.aligned(call.bias.id, (index[-call.rank - 1],)))
    return Element(Var(builder.let("biased", Apply("add", (Var(name), bias.expr)))))


def size(builder: Builder, node: Node, dim: int) -> Index:
    """The size of the result in a dim."""
    call = _call(builder, node)
    shape = builder.graph.value(node.outputs[0]).type.shape
    d = dim - (len(shape) - call.rank)
    if d == -1:
        weight = builder.sizes.of(call.weight.id, 1 if call.transposed else 0)
        return weight * call.many if call.transposed else weight
    if d < 0:
        return builder.sizes.of(call.image.id, dim)
    whole, window = builder.sizes.of(call.image.id, dim), builder.sizes.of(call.weight.id, 2 + d)
    stride, padding, reach = call.stride[d], call.padding[d], (window - 1) * call.dilation[d]
    if call.transposed:
        return (whole - 1) * stride - padding * 2 + reach + call.output_padding[d] + 1
    room = whole + padding * 2 - reach - 1
    if stride.constant == 1:
        return room + 1
    text = room.text()
    return variable(f"({text}) // {stride.text()}" if " " in text else f"{text} // {stride.text()}") + 1


def splits(builder: Builder, node: Node) -> dict[int, Split]:
    """The dims of the result that are split, counted from the last one."""
    call = _call(builder, node)
    if _alone(builder, call):
        return {}
    shape = builder.graph.value(node.outputs[0]).type.shape
    found: dict[int, Split] = {}
    if call.groups > 1:
        of_group = builder.sizes.of(call.weight.id, 1) if call.transposed else None
        channels = builder.sizes.of(call.weight.id, 0).text()
        text = of_group.text() if of_group is not None else f"{channels} // {call.many.text()}"
        number = shape[-call.rank - 1] // call.groups
        by = builder.sizes.name(text, "per_group") if not text.isdecimal() else text
        found[-call.rank - 1] = Split(
            Extent(call.groups, call.many.text()), Extent(number, text), _whole(by), residues=False
        )
    if call.transposed:
        for d in range(call.rank):
            stride = call.captured["stride"][d]
            if stride > 1:
                at, step = d - call.rank, call.stride[d]
                whole = builder.sizes.of(node.outputs[0], len(shape) + at).text()
                outer = Extent(-(-shape[at] // stride), f"triton.cdiv({whole}, {step.text()})")
                found[at] = Split(outer, Extent(stride, step.text()), step, residues=True)
    return found


def _whole(text: str) -> Index:
    return constant(int(text)) if text.isdecimal() else variable(text)


def _call(builder: Builder, node: Node) -> _Call:
    known, options = row(node.op), builder.arguments(node)
    image, weight, bias = options.get("input"), options.get("weight"), options.get("bias")
    if not isinstance(image, TensorRef) or not isinstance(weight, TensorRef):
        raise NotExpressible(f"{node.op} of these operands has no form here.", node)
    rank, transposed = known.spatial, "output_padding" in options
    groups = options.get("groups", 1)
    if not isinstance(groups, int):
        raise NotExpressible(f"{node.op} with groups that are not known.", node)
    captured = {
        name: tuple(_captured(node, options.get(name, least), name, d, rank) for d in range(rank))
        for name, least in _USUAL.items()
    }
    many = builder.whole_number(node, "groups", groups)
    read = {name: tuple(_number(builder, node, name, captured[name], d) for d in range(rank)) for name in _USUAL}
    for d, pair in enumerate(zip(captured["stride"], captured["dilation"], strict=True)):
        if transposed and math.gcd(*pair) > 1:  # the window is divided by the factor, which the kernel relies on
            for name, value in zip(("stride", "dilation"), pair, strict=True):
                numbers = read[name]
                read[name] = (*numbers[:d], _relied_on(builder, numbers[d], value), *numbers[d + 1 :])
    return _Call(
        image,
        weight,
        bias if isinstance(bias, TensorRef) else None,
        rank,
        transposed,
        groups,
        _relied_on(builder, many, 1) if groups == 1 else many,
        read["stride"],
        read["padding"],
        read["dilation"],
        read["output_padding"],
        captured,
    )


_USUAL = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0}


def _captured(node: Node, value: object, name: str, d: int, rank: int) -> int:
    if isinstance(value, tuple):
        value = value[d] if len(value) == rank else value[0]
    if not isinstance(value, int):
        raise NotExpressible(f"{node.op} with a {name} that is not known.", node)
    return value


def _number(builder: Builder, node: Node, name: str, captured: tuple[int, ...], d: int) -> Index:
    """One of the numbers of the window, as the source has it; the usual one as a literal that the launcher insists on."""
    value = builder.arguments(node).get(name)
    part, alone = "", len(captured) == 1
    if isinstance(value, tuple):
        part = f"[{d if len(value) > 1 else 0}]"
    own = name if alone else f"{name}_{_DIMS[d - len(captured)]}"
    found = builder.whole_number(node, name, captured[d], part, own)
    return _relied_on(builder, found, captured[d]) if captured[d] == _USUAL[name] else found


def _relied_on(builder: Builder, number: Index, value: int) -> Index:
    """`value` in the place of a number that the launcher takes and then insists on."""
    if number.name is not None:
        builder.needs[f"{number.name} != {value}", f"{number.name} of {value}"] = None
    return constant(value)


def _alone(builder: Builder, call: _Call) -> bool:
    """Whether each channel of the result is made of the same channel of the image, and of no other."""
    channels = builder.graph.value(call.image.id).type.shape[-call.rank - 1]
    weight = builder.graph.value(call.weight.id).type.shape
    return not call.transposed and call.groups == channels == weight[0] and channels > 1


def _depthwise(builder: Builder, node: Node, call: _Call, index: tuple[Index, ...]) -> str:
    """The name of the sum over the window of a channel."""
    weight = builder.graph.value(call.weight.id).type.shape
    if math.prod(weight[2:]) > MOST_STEPS:
        raise NotExpressible(f"A window of {math.prod(weight[2:])} elements is walked through by nobody.", node)
    channel = index[-call.rank - 1]
    steps = _steps(builder, call)
    places, inside = _window(builder, call, index, steps)
    image = builder.under(inside, call.image.id, (*index[: -call.rank], *places))
    factor = builder.element(call.weight.id, builder.aligned(call.weight.id, (channel, constant(0), *steps)))
    term = builder.let("term", Apply("mul", (image.expr, factor.expr)))
    over = tuple(name for step in steps for name in step.names())
    return builder.let("convolved", Fold("sum", Var(term), over, (*builder.inside, *inside)))


def _steps(builder: Builder, call: _Call, *, inner: bool = False) -> tuple[Index, ...]:
    """The axes of the window; 0 where it has one place."""
    shape = builder.graph.value(call.weight.id).type.shape[2:]
    return tuple(
        constant(0)
        if shape[d] == 1
        else builder.axis(_STEPS[d], Extent(shape[d], builder.sizes.of(call.weight.id, 2 + d).text()), inner=inner)
        for d in range(call.rank)
    )


def _window(
    builder: Builder, call: _Call, index: tuple[Index, ...], steps: tuple[Index, ...]
) -> tuple[tuple[Index, ...], list[Inside]]:
    """The places in the image for steps of the window, and which of them there are."""
    places, inside = [], []
    for d, step in enumerate(steps):
        at = len(index) - call.rank + d
        place = index[at] * call.stride[d] - call.padding[d] + step * call.dilation[d]
        if call.padding[d].constant != 0:
            inside.append(Inside(place, constant(0), builder.sizes.index(call.image.id, at)))
        places.append(place)
    return tuple(places), inside


def _product(builder: Builder, node: Node, call: _Call, index: tuple[Index, ...]) -> str:
    """The name of the sum over channels and window."""
    at = len(index) - call.rank - 1
    group, channel = constant(0), index[at]
    if call.groups > 1:
        group, channel = _parts(builder, node, index[at])
    shape = builder.graph.value(call.weight.id).type.shape
    place = 0 if call.transposed else 1
    number = shape[place] // call.groups if call.transposed else shape[1]
    text = builder.sizes.of(call.weight.id, place).text()
    text = f"{text} // {call.many.text()}" if call.transposed and call.groups > 1 else text
    feature = constant(0) if number == 1 else builder.axis("feature", Extent(number, text), inner=True)
    if call.groups > 1:
        builder.needs |= dict.fromkeys(_fits(builder, call, at))
    many = constant(number) if text.isdecimal() else variable(f"|{feature.name}|")
    read = group * many + feature if call.groups > 1 else feature
    if call.transposed:
        left, right = _transposed(builder, node, call, index, (channel, read))
    else:
        steps = _steps(builder, call, inner=True)
        places, inside = _window(builder, call, index, steps)
        left = _loaded(builder, node, call.weight, (index[at], feature, *steps), [])
        right = _loaded(builder, node, call.image, (*index[:at], read, *places), inside)
    over = tuple(axis.name for axis in builder.axes.values() if axis.inner)
    if not over:
        raise NotExpressible("The product is too small, or too narrow, for tiles.", node)
    numbers = zip(call.stride, call.padding, call.dilation, strict=True)
    windows = tuple(Window(*of_dim, call.transposed) for of_dim in numbers)
    return builder.let("product", Contract(left, right, over, rounded=True, windows=windows))


def _fits(builder: Builder, call: _Call, at: int) -> list[tuple[str, str]]:
    """When the channels of image, weight and groups do not belong together, with what is taken instead."""
    image, weight = (builder.tensor(operand.id).name for operand in (call.image, call.weight))
    own, many = f"{image}.shape[{at}]", call.many.text()
    other = f"{weight}.shape[0]" if call.transposed else f"{weight}.shape[1] * {many}"
    whole = f"{weight}.shape[0]"
    return [(f"{own} != {other}", f"{own} of {other}"), (f"{whole} % {many} != 0", f"{whole} a multiple of {many}")]


def _transposed(
    builder: Builder, node: Node, call: _Call, index: tuple[Index, ...], channels: tuple[Index, Index]
) -> tuple[str, str]:
    """Both operands of a transposed convolution.

    At place q * stride + residue the steps first + t * (stride / factor) of the window meet the input, at
    q + shift - t * (dilation / factor), for the greatest common factor of the two; none does where the factor does not
    divide residue + padding.
    """
    shape, at = builder.graph.value(call.weight.id).type.shape[2:], len(index) - call.rank
    steps, places, of_weight, of_image = list[Index](), list[Index](), list[Inside](), list[Inside]()
    for d in range(call.rank):
        stride = call.captured["stride"][d]
        window = builder.sizes.of(call.weight.id, 2 + d)
        limit = builder.sizes.index(call.image.id, at + d)
        if stride == 1:
            step = constant(0)
            if shape[d] > 1:
                step = builder.axis(_STEPS[d], Extent(shape[d], window.text()), inner=True)
            place = index[at + d] + call.padding[d] - step * call.dilation[d]
        else:
            place, residue = _parts(builder, node, index[at + d])
            met = _residue(builder, call, d, residue)
            step, turn = met.first, constant(0)
            if shape[d] > met.apart:
                by = met.by.text()
                extent = window.text() if by == "1" else f"triton.cdiv({window.text()}, {by})"
                turn = builder.axis(_STEPS[d], Extent(-(-shape[d] // met.apart), extent), inner=True)
                step = step + turn * met.by
            of_weight += [*met.inside, Inside(step, None, builder.sizes.index(call.weight.id, 2 + d))]
            place = place + met.shift - turn * met.back
        of_image.append(Inside(place, constant(0), limit))
        steps.append(step)
        places.append(place)
    channel, read = channels
    left = _loaded(builder, node, call.weight, (read, channel, *steps), of_weight)
    right = _loaded(builder, node, call.image, (*index[: at - 1], read, *places), [*of_weight, *of_image])
    return left, right


@dataclass(frozen=True)
class _Met:
    """Which steps of a window meet the input for a residue: from `first` every `by`-th, each `back` before the one before.

    `apart`: `by` as captured; `shift`: how far from the place the first one is; `inside`: where there are any.
    """

    first: Index
    by: Index
    apart: int
    shift: Index
    back: Index
    inside: tuple[Inside, ...]


def _residue(builder: Builder, call: _Call, d: int, residue: Index) -> _Met:
    stride, dilation = call.captured["stride"][d], call.captured["dilation"][d]
    factor, place = math.gcd(stride, dilation), residue + call.padding[d]
    turned, by, back, inside = place, call.stride[d], call.dilation[d], list[Inside]()
    if factor > 1:
        rest = builder.let("rest", Divided(place, constant(factor), rest=True), kind="int")
        inside.append(Inside(variable(rest), None, constant(1)))
        turned = variable(builder.let("part", Divided(place, constant(factor)), kind="int"))
        by, back = constant(stride // factor), constant(dilation // factor)
    apart = stride // factor
    first = constant(0)
    if apart > 1:
        turned = turned * _inverse(builder, back, by)
        first = variable(builder.let("first_step", Divided(turned, by, rest=True), kind="int"))
    shift = builder.let("shift", Divided(place - first * call.dilation[d], call.stride[d]), kind="int")
    return _Met(first, by, apart, variable(shift), back, tuple(inside))


def _inverse(builder: Builder, number: Index, modulus: Index) -> Index:
    if number.constant == 1:
        return number
    if number.constant is not None and modulus.constant is not None:
        return constant(pow(number.constant, -1, modulus.constant))
    return variable(builder.sizes.name(f"pow({number.text()}, -1, {modulus.text()})", "inverse"))


def _parts(builder: Builder, node: Node, place: Index) -> tuple[Index, Index]:
    """The two axes into which a dim of the result is split. Raises NotExpressible where `place` is no such dim."""
    if place not in builder.split:
        raise NotExpressible(f"What follows {node.op} takes its result in another order.", node)
    outer, inner = builder.split[place]
    return variable(outer), variable(inner)


def _loaded(builder: Builder, node: Node, operand: TensorRef, index: tuple[Index, ...], inside: list[Inside]) -> str:
    """The name of an operand's element, zero where a condition does not hold."""
    if operand.id in builder.producers:
        raise NotExpressible(f"An operand of {node.op} is computed in front.", node)
    found = builder.under(inside, operand.id, index)
    if found.kind == "bool" or not isinstance(found.expr, Var):
        raise NotExpressible(f"{node.op} of booleans has no form here.", node)
    return found.expr.name
