"""What fp32 products gain as products of fp16 parts: the figures that decide whether one is worth a measurement.

They were measured on an H100 with products of 4096 by 4096 matrices, and are of no account for what is kept.
"""

import math

from kernelwright.micro.rewrite.eager_speed import LAUNCH_SECONDS, node_seconds
from kernelwright.nest.form import Load, Nest
from kernelwright.nest.roles import roles
from kernelwright.values import Device, Graph

_EAGER_FLOPS, _PARTS_FLOPS = 5.0e13, 1.6e14  # of fp32 arithmetic a second
_SPLIT_SECONDS = 7e-12  # an element of an operand
_LEAST = 0.1
"""The gain to expect from what follows the product in the same kernel."""
_ROUNDED = 0.03
"""... where the library rounds to TF32 itself: it was faster on seven of eight convolutions."""


def gain(graph: Graph, nest: Nest, device: Device) -> float:
    """The gain for the whole graph as a fraction."""
    product = nest.product
    assert product is not None
    axes = roles(nest)
    operands = {name: let.expr for let in nest.lets for name in (product.left, product.right) if let.name == name}
    names = [load.tensor for load in operands.values() if isinstance(load, Load)]
    tensors = [tensor for tensor in nest.tensors if tensor.name in names]
    if product.rounded:
        return _ROUNDED
    if len(names) < 2 or any(tensor.dtype != "float32" for tensor in tensors):
        return _LEAST
    flops = 2 * nest.numel * axes.inner.extent.captured
    elements = sum(math.prod(tensor.shape) for tensor in tensors)
    eager = flops / _EAGER_FLOPS
    saved = eager - flops / _PARTS_FLOPS - elements * _SPLIT_SECONDS - 3 * LAUNCH_SECONDS
    total = eager + sum(node_seconds(node, device) for node in graph.nodes if node.op not in nest.ops)
    return round(max(total / (total - saved) - 1, _LEAST), 4)
