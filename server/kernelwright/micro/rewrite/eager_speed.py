"""How far eager mode's own reductions and copies stay behind the memory roof: the gain where no traffic is saved.

The figures follow from how those kernels are laid out (one block a row, number of passes over it), not from measurements
of the user's device: they decide what is worth a measurement.
"""

from collections.abc import Sequence

from kernelwright.micro.rewrite.row_shapes import RowShape, folds, row_shape
from kernelwright.nest.layouts import layout_of
from kernelwright.ops import Eager, row
from kernelwright.values import Device, Graph, Node, TensorRef

MULTIPROCESSORS = 132  # where the device is not known
LAUNCH_SECONDS = 5e-6
"""What one more kernel launch costs at least, on current drivers."""

_ITEM_BYTES = {"float16": 2, "bfloat16": 2}
_SHARED_BYTES = 48 * 1024  # up to which eager mode's softmax keeps a row on the chip
_KEPT_BYTES = 32768 * 4  # up to which one program here keeps a row in registers
_BLOCK_PER_ROW = (Eager.BLOCK_PER_ROW, Eager.ROW_THREE_TIMES, Eager.MOMENTS_APART)
_MAY_GAIN = (
    "Eager mode runs one kernel that is near the roof; only a measurement can tell whether another one is nearer."
)


_COPY_MAY_GAIN = 1.0
_COPY = "Eager mode's copy between layouts touches neighbours on one side only; a tile has whole lines on both."


def converts_layout(graph: Graph, node: Node) -> bool:
    """Whether the node is a `contiguous` that copies its operand into another layout."""
    first = node.args[0] if node.op == "contiguous" else None
    if not isinstance(first, TensorRef):
        return False
    return layout_of(graph.value(first.id).type) != layout_of(graph.value(node.outputs[0]).type)


def eager_bytes(node: Node) -> int:
    """The memory traffic of a node in eager mode, which runs some ops as several kernels."""
    return node.estimated_bytes * row(node.op).passes


def node_seconds(node: Node, device: Device) -> float:
    """The least time of a node in eager mode, by the roofline."""
    bandwidth = device.bandwidth or 3e12
    peak = max(device.peak_flops.values(), default=0.0) or 5e13
    return max(eager_bytes(node) / bandwidth, node.estimated_flops / peak, LAUNCH_SECONDS)


def headroom(graph: Graph, nodes: Sequence[int], device: Device) -> tuple[float, str]:
    """(gain for the whole graph as a fraction, reason) of doing the reductions and copies among `nodes` better.

    (0.0, "") without one of these among them.
    """
    if not any(folds(graph.nodes[n]) or converts_layout(graph, graph.nodes[n]) for n in nodes):
        return 0.0, ""
    total = sum(node_seconds(node, device) for node in graph.nodes)
    gain, strongest, why = 0.0, 0.0, ""
    for node in (graph.nodes[n] for n in nodes):
        rows = row_shape(graph, node) if folds(node) else None
        if converts_layout(graph, node):
            own, reason = _COPY_MAY_GAIN, _COPY
        elif rows is None:
            own, reason = 0.03, _MAY_GAIN  # a pointwise op, which the reduction's kernel does beside
        else:
            item = _ITEM_BYTES.get(graph.value(node.tensor()).type.dtype, 4)
            own, reason = _of_form(row(node.op).eager, rows, item, device.multiprocessors or MULTIPROCESSORS)
        gain += own * node_seconds(node, device) / total
        if own > strongest:
            strongest, why = own, reason
    return gain, why


def _of_form(form: Eager, shape: RowShape, item: int, multiprocessors: int) -> tuple[float, str]:
    rows, length, inner = shape.outer, shape.length, shape.inner
    if inner > 1 and rows * -(-inner // 128) < multiprocessors:
        return 0.0, ""  # too few strips to keep this device busy in the form that would be printed
    few = inner == 1 and rows < 4 * multiprocessors and length > 16384
    if few and form in _BLOCK_PER_ROW:
        return max(0.3, min(multiprocessors / rows, 8.0)), (
            f"Eager mode gives each of the {rows} long rows to one block, which leaves much of the device idle."
        )
    kept = length * item <= _KEPT_BYTES if inner == 1 else length <= 512
    if form is Eager.ROW_THREE_TIMES:
        if inner == 1 and length * item <= _SHARED_BYTES:
            return 0.03, _MAY_GAIN
        passes = "once" if kept else "twice"
        return (
            0.5 if kept else 0.3,
            f"Eager mode reads each row three times before the result; reading it {passes} is enough.",
        )
    if form is Eager.MOMENTS_APART:
        if not kept:
            return 0.05, "Eager mode takes a kernel for the moments and one to apply them, as the fused form must too."
        return 0.4, "Eager mode reads everything once for the moments and again to apply them; a row fits on the chip."
    if form is Eager.BLOCK_PER_ROW:
        return 0.05, _MAY_GAIN
    if form is Eager.DIVIDING:
        return 0.15, "Eager mode's variance divides for every element, which costs more than reading it."
    if form is Eager.INDEXED:
        return 0.05, "Eager mode keeps a 64-bit index for every value that it compares."
    return 0.03, _MAY_GAIN
