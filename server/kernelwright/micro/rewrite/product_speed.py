"""What fp32 products gain as products of fp16 parts: the figures that decide whether one is worth a measurement.

They were measured on an H100 with products of 4096 by 4096 matrices, those of convolutions on an H200 with fifteen of them,
and are of no account for what is kept.
"""

import math

from kernelwright.micro.rewrite.eager_speed import LAUNCH_SECONDS, node_seconds
from kernelwright.micro.rewrite.nested_places import NestRegion
from kernelwright.nest.form import Load, Nest
from kernelwright.nest.roles import roles
from kernelwright.schedule.operands import is_windowed
from kernelwright.schedule.spaces import FEW
from kernelwright.values import Device, Graph

_EAGER_FLOPS, _PARTS_FLOPS = 5.0e13, 1.6e14  # of fp32 arithmetic a second
_SPLIT_SECONDS = 7e-12  # an element of an operand
_LEAST = 0.1
"""The gain to expect from what follows the product in the same kernel."""
_ROUNDED = 0.03
"""... where the library rounds to TF32 itself."""
_EAGER_WINDOWS, _OUR_WINDOWS = 1.7e14, 3.5e14  # of TF32 and fp16 arithmetic a second
_TURN_SECONDS = 2.5e-12  # an element of an image that is written channels last
_TURN_LAUNCHES = 6


def gain(graph: Graph, region: NestRegion, device: Device) -> float:
    """The gain for the whole graph of the region in all of its places, as a fraction."""
    if region.nest.product is not None and region.nest.product.rounded and not is_windowed(region.nest):
        return _ROUNDED
    times = [seconds for place in region.places if (seconds := _seconds(place.nest)) is not None]
    if not times:
        return _LEAST
    eager, ours = sum(before for before, _ in times), sum(after for _, after in times)
    replaced = set(region.all_nodes)
    rest = sum(node_seconds(node, device) for node in graph.nodes if node.id not in replaced)
    return round(max((eager + rest) / (ours + rest) - 1, _ROUNDED if is_windowed(region.nest) else _LEAST), 4)


def _seconds(nest: Nest) -> tuple[float, float] | None:
    """Seconds of an fp32 product in eager mode, and as one of fp16 numbers; None for another product."""
    product = nest.product
    assert product is not None
    operands = {name: let.expr for let in nest.lets for name in (product.left, product.right) if let.name == name}
    names = [load.tensor for load in operands.values() if isinstance(load, Load)]
    tensors = [tensor for tensor in nest.tensors if tensor.name in names]
    if len(names) < 2 or any(tensor.dtype != "float32" for tensor in tensors):
        return None
    axes = roles(nest)
    flops = 2 * nest.numel * axes.inner.extent.captured
    elements = sorted(math.prod(tensor.shape) for tensor in tensors)
    if is_windowed(nest):
        turned = elements[-1] * _TURN_SECONDS + _TURN_LAUNCHES * LAUNCH_SECONDS
        return max(flops / _EAGER_WINDOWS, LAUNCH_SECONDS), flops / _OUR_WINDOWS + turned
    few = min(axes.row.extent.captured, axes.column.extent.captured) <= FEW
    split = (elements[0] if few else sum(elements)) * _SPLIT_SECONDS
    return flops / _EAGER_FLOPS, flops / _PARTS_FLOPS + split + 3 * LAUNCH_SECONDS
