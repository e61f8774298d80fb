"""Normalisations as lines of a Program: moments of a row, scaling by them, weights per element or per channel."""

import math

from kernelwright.micro.rewrite.program import ELEMENT, ROW, Operand, Term
from kernelwright.micro.rewrite.scope import Known, NotLowerable, Scope
from kernelwright.micro.rewrite.tensor_layout import CHANNELS_LAST, is_contiguous
from kernelwright.values import Node, TensorRef


def moments(low: Scope, x: str, uses: list[str], divisor: str = "length") -> tuple[str, str]:
    """The names of the centred elements and of the row's variance, by two passes over the row in registers."""
    total = low.line("row_sum", x, ROW, uses, reduce="sum", tag="moments")
    mean = low.line("mean", f"{total} / length", ROW, [total], tag="moments")
    centred = low.line("centered", f"{x} - {mean}", ELEMENT, [*uses, mean], tag="moments")
    squares = low.line("square_sum", f"{centred} * {centred}", ROW, [centred], reduce="sum", tag="moments")
    return centred, low.line("variance", f"{squares} / {divisor}", ROW, [squares])


def normalisation(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    """Layer, group and instance norm."""
    centred, variance = moments(low, x, uses)
    eps = low.option(node, "eps")
    scale = low.line("rstd", f"tl.rsqrt({variance} + {eps})", ROW, [variance])
    out = low.line("normalized", f"{centred} * {scale}", ELEMENT, [centred, scale])
    weight, bias = (node.args[2], node.args[3]) if node.op != "instance_norm" else (node.args[3], node.args[4])
    low.finish(node, _affine(low, node, out, weight, bias), ELEMENT)


def _affine(low: Scope, node: Node, out: str, weight: object, bias: object) -> str:
    shape = low.graph.value(node.outputs[0]).type.shape
    channels = node.op != "layer_norm" and node.op != "rms_norm"
    for argument, sign, name in ((weight, "*", "scaled"), (bias, "+", "biased")):
        if not isinstance(argument, TensorRef):
            continue
        operand = (
            _channel_operand(low, argument.id, shape, node)
            if channels
            else low.operand(argument.id, ELEMENT, shape, node)
        )
        out = low.line(name, f"{out} {sign} {operand.text}", ELEMENT, [out, operand.text])
    return out


def _channel_operand(low: Scope, id_: int, shape: tuple[int, ...], node: Node) -> Known:
    """A vector of one number per channel (dim 1) beside a tensor of `shape`."""
    value = low.graph.value(id_)
    if not is_contiguous(value.type):
        raise NotLowerable("An input is not contiguous.", node)
    inner = 1 if low.domain.layout == CHANNELS_LAST else math.prod(shape[2:])
    last = -1 if low.domain.layout == CHANNELS_LAST else len(shape) - 2
    terms = (Term(inner, shape[1], 1, last),)
    key = (id_, (terms, ELEMENT))
    if key not in low.operands:
        name = low.fresh(low.names.get(id_, f"input{id_}"))
        low.operands[key] = Operand(name, id_, ELEMENT, value.type.dtype, terms, ((0, 1),), value.type.shape, 1)
    return Known(low.operands[key].name, ELEMENT, shape)


def add_bias(low: Scope, node: Node, bias: int) -> None:
    """The result of the convolution `node`, which the region reads, with its bias added."""
    shape = low.graph.value(node.outputs[0]).type.shape
    x, channels = low.operand(node.outputs[0], ELEMENT, shape, node), _channel_operand(low, bias, shape, node)
    low.finish(node, low.line("total", f"{x.text} + {channels.text}", ELEMENT, [x.text, channels.text]), ELEMENT)
    low.ops.append("add")


def rms_norm(low: Scope, node: Node, x: str, uses: list[str]) -> None:
    """RMS norm; without an eps of its own it takes the dtype's, as torch does."""
    squares = low.line("square_sum", f"{x} * {x}", ROW, uses, reduce="sum")
    eps = node.kwargs.get("eps")
    if eps is None:
        dtype = low.graph.value(node.outputs[0]).type.dtype
        text = repr({"float32": 1.1920928955078125e-07, "float16": 0.0009765625, "bfloat16": 0.0078125}[dtype])
    else:
        text = low.option(node, "eps")
    scale = low.line("rrms", f"tl.rsqrt({squares} / length + {text})", ROW, [squares])
    out = low.line("normalized", f"{x} * {scale}", ELEMENT, [*uses, scale])
    low.finish(node, _affine(low, node, out, node.args[2], None), ELEMENT)


def lower_batch_norm(low: Scope, node: Node) -> None:
    """Batch norm on running statistics: pointwise, with four numbers per channel."""
    first, running_mean, running_var, weight, bias = node.args[:5]
    if not all(isinstance(a, TensorRef) for a in (first, running_mean, running_var)):
        raise NotLowerable("batch_norm without running statistics.", node)
    shape = low.graph.value(node.outputs[0]).type.shape
    if math.prod(shape) != low.domain.numel:
        raise NotLowerable("batch_norm works on another shape than the rest.", node)
    x = low.operand(first.id, ELEMENT, shape, node)  # type: ignore[union-attr]
    mean = _channel_operand(low, running_mean.id, shape, node)  # type: ignore[union-attr]
    variance = _channel_operand(low, running_var.id, shape, node)  # type: ignore[union-attr]
    eps = low.option(node, "eps")
    rstd = low.line("rstd", f"tl.rsqrt({variance.text} + {eps})", ELEMENT, [variance.text])
    out = low.line("normalized", f"({x.text} - {mean.text}) * {rstd}", ELEMENT, [x.text, mean.text, rstd])
    low.known[node.outputs[0]] = Known(_affine(low, node, out, weight, bias), ELEMENT, shape)
