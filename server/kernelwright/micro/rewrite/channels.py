"""Operands with one number for each channel: weights of normalisations, the bias of a convolution."""

import math

from kernelwright.micro.rewrite.program import ELEMENT, Operand, Term
from kernelwright.micro.rewrite.scope import Known, NotLowerable, Scope
from kernelwright.nest.layouts import CHANNELS_LAST, is_contiguous
from kernelwright.values import Node


def channel_operand(low: Scope, id_: int, shape: tuple[int, ...], node: Node) -> Known:
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
        places = (1,) if shape == low.domain.shape else None
        type_ = value.type
        low.operands[key] = Operand(name, id_, ELEMENT, type_.dtype, terms, ((0, 1),), type_.shape, 1, places)
    return Known(low.operands[key].name, ELEMENT, shape)


def add_bias(low: Scope, node: Node, bias: int) -> None:
    """The result of the convolution `node`, which the region reads, with its bias added."""
    shape = low.graph.value(node.outputs[0]).type.shape
    x, channels = low.operand(node.outputs[0], ELEMENT, shape, node), channel_operand(low, bias, shape, node)
    low.finish(node, low.line("total", f"{x.text} + {channels.text}", ELEMENT, [x.text, channels.text]), ELEMENT)
    low.ops.append("add")
