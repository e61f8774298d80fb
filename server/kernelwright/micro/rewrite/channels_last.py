"""Which values of a captured call would be stored channels-last if some convolutions were, and what that disturbs."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kernelwright.nest.layouts import is_channels_last
from kernelwright.ops import ROWS, Kind, Layout, row
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import CodeSpan, Graph, Node, TensorRef

CONVOLUTIONS = {row.name: row.spatial + 2 for row in ROWS.values() if row.kind is Kind.CONVOLUTION and row.spatial > 1}
"""The rank of each convolution's input."""
FORMATS = {4: "channels_last", 5: "channels_last_3d"}
_NEEDS_VIEWABLE = frozenset({"view", "view_as"})
_NEEDS_STRIDES = frozenset({"as_strided", "triton_kernel"})


class Format(StrEnum):
    """How a value will be stored: as captured, channels-last, or one of the two or otherwise."""

    CAPTURED = "captured"
    LAST = "channels-last"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Layouts:
    """The format of each Value, and the nodes that could not run on what they would get.

    `views` need a contiguous operand before them; `strided` read memory by its strides, so that nothing helps them.
    """

    of: Mapping[int, Format]
    views: tuple[Node, ...]
    strided: tuple[Node, ...]


def layouts(source: SourceMap, converted: frozenset[CodeSpan], given: frozenset[int] = frozenset()) -> Layouts:
    """The formats after the activations that enter the expressions `converted` have been made channels-last.

    So are the Values `given`, from the beginning of the call.
    """
    graph = source.graph
    of = dict.fromkeys(given, Format.LAST)
    views: list[Node] = []
    strided: list[Node] = []
    for node in graph.nodes:
        read = [_read_format(source, node, v, of, converted) for v in _activations(graph, node)]
        disturbed = any(f is not Format.CAPTURED for f in read)
        if disturbed and node.op in _NEEDS_VIEWABLE:
            views.append(node)
        if disturbed and node.op in _NEEDS_STRIDES:
            strided.append(node)
        for output in node.outputs:
            made = _made_format(graph, node, output, read) if disturbed else Format.CAPTURED
            of[output] = Format.CAPTURED if coincide(graph.value(output).type.shape) else made
    return Layouts(of, tuple(views), tuple(strided))


def convolutions(graph: Graph) -> Iterator[Node]:
    """The convolutions over batches of images or volumes."""
    for node in graph.nodes:
        rank = CONVOLUTIONS.get(node.op)
        first = node.args[0] if node.args else None
        if rank and isinstance(first, TensorRef) and len(graph.value(first.id).type.shape) == rank:
            yield node


def channels(graph: Graph, node: Node) -> tuple[int, int, int]:
    """(input channels, output channels, groups) of a convolution."""
    groups = node.kwargs.get("groups", node.args[6] if len(node.args) > 6 else 1)
    into = graph.value(node.tensor()).type.shape[1]
    out = graph.value(node.outputs[0]).type.shape[1]
    return into, out, groups if isinstance(groups, int) else 1


def _activations(graph: Graph, node: Node) -> list[int]:
    """The tensors that flow through the network; weights and biases of convolutions and norms do not."""
    if node.op in CONVOLUTIONS or node.op == "batch_norm":
        return [node.args[0].id] if isinstance(node.args[0], TensorRef) else []
    return list(dict.fromkeys(references(node)))


def _read_format(
    source: SourceMap, node: Node, value: int, of: Mapping[int, Format], converted: frozenset[CodeSpan]
) -> Format:
    """The format in which `node` reads `value`: an expression that is converted reads what enters it channels-last."""
    known = of.get(value, Format.CAPTURED)
    maker = source.producers.get(value)
    enters = node.where in converted and (maker is None or maker.where != node.where or _repeated(maker, node))
    if not enters or source.graph.value(value).origin in ("parameter", "buffer"):
        return known
    return Format.LAST if len(source.graph.value(value).type.shape) in FORMATS else known


def _repeated(maker: Node, node: Node) -> bool:
    """Whether the same layer made the operand in an earlier run of the expression."""
    return maker.module == node.module and maker.op == node.op


def _made_format(graph: Graph, node: Node, output: int, read: list[Format]) -> Format:
    type_ = graph.value(output).type
    if node.op in CONVOLUTIONS:
        return read[0]
    if node.kwargs.get("memory_format") not in (None, "preserve_format"):
        return Format.CAPTURED
    if row(node.op).layout is Layout.CONTIGUOUS or node.op in _NEEDS_VIEWABLE or len(type_.shape) < 3:
        return Format.CAPTURED
    if node.op == "cat" and len(set(read)) == 1:
        return read[0]
    if row(node.op).layout is not Layout.KEPT or len(node.outputs) > 1:
        return Format.UNSURE
    if node.inplace:
        return read[0]
    # Smaller operands are broadcast and have no say in the layout of the result.
    full = [
        f
        for f, v in zip(read, _activations(graph, node), strict=True)
        if math.prod(graph.value(v).type.shape) == math.prod(type_.shape) or len(read) == 1
    ]
    return full[0] if full and len(set(full)) == 1 else Format.UNSURE


def coincide(shape: tuple[int, ...]) -> bool:
    """Whether channels-last and contiguous are the same order of elements."""
    return len(shape) in FORMATS and (shape[1] == 1 or math.prod(shape[2:]) == 1)


def already_last(graph: Graph, node: Node) -> bool:
    """Whether the captured call ran this convolution on a channels-last input."""
    return is_channels_last(graph.value(node.tensor()).type)
