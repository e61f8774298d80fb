"""What a call as a whole could gain from fewer launches: estimates that decide what is worth a measurement."""

import math
from collections.abc import Iterator

from kernelwright.micro.rewrite.eager_speed import LAUNCH_SECONDS, converts_layout, eager_bytes
from kernelwright.micro.rewrite.whole_module import draws
from kernelwright.ops import Kind, row
from kernelwright.source.estimate import itemsize
from kernelwright.values import Device, Graph, Node, Refusal, TensorRef, TensorType

# In seconds.
_KERNEL, _KERNEL_OF_GRAPH = 2.5e-6, 2e-6  # a small kernel and the gap behind it, where the launch is not waited for
_REPLAY = 3e-6  # from the launch of a graph to its first kernel
_HIDDEN = 0.8e-3  # of launching: the clock overwrites the cache meanwhile
_FUSED = 0.5  # of the traffic that pointwise operators and reductions keep where a compiler fuses them
_FUSIBLE = (Kind.POINTWISE, Kind.REDUCTION, Kind.NORMALISATION, Kind.LAYOUT, Kind.LOSS, Kind.CREATION)


def launches(graph: Graph) -> int:
    """How many kernels a call launches in eager mode."""
    return sum(_launches(graph, node) for node in graph.nodes)


def few_to_replay(graph: Graph) -> Refusal | None:
    """Why replaying a call saves no launches: the copies of its tensors are launches, too."""
    count, copies = launches(graph), sum(1 for _ in _copied(graph))
    if count > copies + 1 or _has_unknown(graph):
        return None
    return Refusal(f"The call launches {_kernels(count)}, and a replay {copies} to copy tensors in and out.")


def few_to_compile(graph: Graph) -> Refusal | None:
    """Why a compiler has nothing to fuse in a call."""
    count = launches(graph)
    if count > 1 or _has_unknown(graph):
        return None
    return Refusal(f"The call launches {_kernels(count)}: there is nothing to fuse.")


def _has_unknown(graph: Graph) -> bool:
    """Whether a node launches as many kernels as its library finds right: a recurrent layer does."""
    return any(row(node.op).kind is Kind.RECURRENT for node in graph.nodes)


def _kernels(count: int) -> str:
    return "one kernel" if count == 1 else f"{count} kernels"


def replay_gain(graph: Graph, device: Device) -> float:
    """The gain to expect of launching all kernels at once, as a fraction."""
    return _gain(graph, device, _replayed(graph, device, kept=1.0))


def compiled_gain(graph: Graph, device: Device) -> float:
    """The gain to expect of a compiler that fuses what is not a product, and launches at once or one by one."""
    one_by_one = max(_running(graph, device, _KERNEL, kept=_FUSED), _launching(graph))
    return _gain(graph, device, min(_replayed(graph, device, kept=_FUSED), one_by_one))


def _gain(graph: Graph, device: Device, after: float) -> float:
    """The gain over eager mode of a call that takes `after` seconds."""
    before = max(_running(graph, device, _KERNEL, kept=1.0), _launching(graph))
    return max(before / after - 1.0, 0.0) if after > 0.0 else 0.0


def _replayed(graph: Graph, device: Device, *, kept: float) -> float:
    return _REPLAY + sum(_copies(graph, device)) + _running(graph, device, _KERNEL_OF_GRAPH, kept=kept)


def _running(graph: Graph, device: Device, least: float, *, kept: float) -> float:
    """What kernels of `least` seconds each take, of which those that a compiler fuses keep a part."""
    seconds = 0.0
    for node in graph.nodes:
        if count := _launches(graph, node):
            share = kept if row(node.op).kind in _FUSIBLE else 1.0
            seconds += share * max(_work(node, device), count * least)
    return seconds


def _launching(graph: Graph) -> float:
    return launches(graph) * LAUNCH_SECONDS - _HIDDEN


def _launches(graph: Graph, node: Node) -> int:
    found = row(node.op)
    if found.view or (found.passes_on and not _moves(graph, node)):
        return 0
    return found.launches


def _moves(graph: Graph, node: Node) -> bool:
    """Whether a node whose result may be its operand makes another one of it."""
    first = node.args[0] if node.args else None
    if not isinstance(first, TensorRef) or not node.outputs:
        return True
    same = graph.value(first.id).type == graph.value(node.outputs[0]).type
    return draws(node) or converts_layout(graph, node) or not same


def _work(node: Node, device: Device) -> float:
    bandwidth = device.bandwidth or 3e12
    peak = max(device.peak_flops.values(), default=0.0) or 5e13
    return max(eager_bytes(node) / bandwidth, node.estimated_flops / peak)


def _copies(graph: Graph, device: Device) -> Iterator[float]:
    """The time that it takes to copy each input in, and each result out."""
    for type_ in _copied(graph):
        moved = 2 * math.prod(type_.shape) * itemsize(type_.dtype)
        yield max(moved / (device.bandwidth or 3e12), _KERNEL)


def _copied(graph: Graph) -> Iterator[TensorType]:
    """The types of the inputs and results of a call."""
    yield from (value.type for value in graph.values if value.origin == "input")
    yield from (graph.value(id_).type for id_ in graph.outputs)
