"""Which side of the roofline a kernel is on, and the least time that its work takes (Williams, Waterman, Patterson 2009)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.ops import row
from kernelwright.source.estimate import itemsize, value_of
from kernelwright.source.tensors import MATMULS
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.values import Device, Graph, Kernel, Node, Roof, TensorRef, TensorSpec, TensorType, Workload

_FLOATING = ("float", "bfloat")


@dataclass(frozen=True)
class Work:
    """Bytes that must move and operations that must be done, at least; `dtype` is what the arithmetic is done in."""

    bytes: int
    flops: int
    dtype: str = "float32"


@dataclass(frozen=True)
class Bound:
    """`kind` is "memory" or "compute"; `intensity` and `ridge` in FLOP per byte; `floor_ms` the least time.

    `memory_ms` is the share of the bytes alone: no algebra makes a kernel faster than that, while it can save
    operations.
    """

    kind: str
    floor_ms: float
    intensity: float
    ridge: float
    memory_ms: float = 0.0


def bound(work: Work, device: Device) -> Bound:
    """The side of the roofline of `device`. A ceiling that is not known (0) bounds nothing."""
    peak = _peak(device.peak_flops, work.dtype)
    memory = work.bytes / device.bandwidth * 1e3 if device.bandwidth else 0.0
    compute = work.flops / peak * 1e3 if peak else 0.0
    return Bound(
        kind="compute" if compute > memory else "memory",
        floor_ms=max(memory, compute),
        intensity=work.flops / work.bytes if work.bytes else math.inf if work.flops else 0.0,
        ridge=peak / device.bandwidth if device.bandwidth and peak else 0.0,
        memory_ms=memory,
    )


def roof_of(work: Work, device: Device) -> Roof:
    """What measurements of this work on `device` are told by."""
    return Roof(work.bytes, work.flops, work.dtype, device.bandwidth, _peak(device.peak_flops, work.dtype))


def known_work(kernel: Kernel, workload: Workload | None, graph: Graph | None) -> Work | None:
    """The work as the captured graph tells it, without one as the source does; None where neither does."""
    if graph is not None:
        return work_of_graph(graph)
    return work_of(kernel, workload) if workload is not None else None


def work_of(kernel: Kernel, workload: Workload) -> Work | None:
    """The work of a Triton kernel on the performance case; None when the source does not tell.

    PyTorch kernels give None: their captured graph tells (`work_of_graph`).
    """
    estimate = kernel.facts.estimate
    if estimate.bytes is None or not workload.cases or workload.entry != kernel.entry or kernel.is_module:
        return None
    try:
        call = evaluate(workload.cases[0].text)
    except WorkloadError:
        return None
    given = {**dict(zip(estimate.parameters, call.args, strict=False)), **call.kwargs}
    moved = value_of(estimate.bytes, estimate, given)
    if moved is None:
        return None
    flops = value_of(estimate.flops, estimate, given) if estimate.flops else None
    if flops is None and kernel.facts.dots:
        return None
    typed_by = given.get(estimate.typed_by or "")
    dtype = typed_by.dtype if isinstance(typed_by, TensorSpec) else "float32"
    if not kernel.facts.dots and not dtype.startswith(_FLOATING):  # it begins with its indices or labels
        tensors = (value.dtype for value in given.values() if isinstance(value, TensorSpec))
        dtype = next((one for one in tensors if one.startswith(_FLOATING)), dtype)
    return Work(moved, flops or 0, _arithmetic(dtype, bool(kernel.facts.dots)))


def work_of_graph(graph: Graph) -> Work:
    """What any implementation of the captured call must move: inputs and parameters read once, outputs written once.

    Operations are those that the nodes make as written.
    """
    readers: dict[int, list[Node]] = {}
    for node in graph.nodes:
        for id in {ref for argument in (*node.args, *node.kwargs.values()) for ref in _refs(argument)}:
            readers.setdefault(id, []).append(node)
    read = sum(_read_bytes(graph, id, nodes) for id, nodes in readers.items() if graph.value(id).origin != "node")
    written = sum(_bytes(graph.value(id).type) for id in set(graph.outputs) if graph.value(id).origin == "node")
    flops = sum(node.estimated_flops for node in graph.nodes)
    floating = [v.type.dtype for v in graph.values if v.type.dtype.startswith(_FLOATING)]
    dtype = max(sorted(set(floating)), key=floating.count) if floating else "float32"
    return Work(read + written, flops, _arithmetic(dtype, any(node.op in MATMULS for node in graph.nodes)))


def _read_bytes(graph: Graph, id: int, readers: list[Node]) -> int:
    whole = _bytes(graph.value(id).type)
    if not all(row(node.op).partial for node in readers):
        return whole
    parts = sum(_bytes(graph.value(out).type) for node in readers for out in node.outputs)
    return min(whole, parts)


def _bytes(type: TensorType) -> int:
    """Distinct elements only: an expanded axis has stride 0."""
    sizes = [n for n, stride in zip(type.shape, type.stride, strict=False) if stride or n == 0]
    sizes += type.shape[len(type.stride) :]
    return math.prod(sizes) * itemsize(type.dtype)


def _refs(argument: object) -> tuple[int, ...]:
    if isinstance(argument, TensorRef):
        return (argument.id,)
    if isinstance(argument, tuple | list):
        return tuple(id for item in argument for id in _refs(item))
    return ()


def _arithmetic(dtype: str, multiplies: bool) -> str:
    """float32 matrix products may run on the tensor cores, so their ceiling is TF32's."""
    return "tf32" if dtype == "float32" and multiplies else dtype


def _peak(peaks: Mapping[str, float], dtype: str) -> float:
    wanted = "float8" if dtype.startswith("float8") else dtype
    return peaks.get(wanted) or (peaks.get("float32", 0.0) if wanted == "tf32" else 0.0)
