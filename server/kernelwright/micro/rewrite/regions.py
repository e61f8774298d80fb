"""What regions of a graph that become one kernel share: names, the edit of the source, what they save."""

import math
from collections.abc import Collection, Sequence

from kernelwright.micro.rewrite.convolution_bias import Biased
from kernelwright.micro.rewrite.eager_speed import converts_layout, eager_bytes
from kernelwright.ops import Kind, row
from kernelwright.place.expression import RegionPlan, plan_region
from kernelwright.place.layout import free_names, import_conflict
from kernelwright.place.region import region_inputs
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Graph, Node, Refusal


def kernel_name(expression: str) -> str:
    """A parameter's name for an expression: `self.norm.weight` is weight, `self.linear(x)` is linear_out."""
    head = expression.split("(")[0].strip()
    last = head.rsplit(".", 1)[-1].strip("_")
    if not last.isidentifier():
        return "x"
    return f"{last.lower()}_out" if "(" in expression else last if last != "out" else "x"


def bias_name(expression: str) -> str:
    """A parameter's name for the bias of a convolution: `self.conv.bias` is conv_bias."""
    path = expression.removeprefix("self.").replace(".", "_")
    return path if path.isidentifier() else kernel_name(expression)


def unique(names: dict[int, str]) -> dict[int, str]:
    """The names with a number behind those that an earlier Value has already."""
    taken: set[str] = set()
    unique: dict[int, str] = {}
    for value, name in names.items():
        unique[value] = next(n for n in (name, *(f"{name}_{i}" for i in range(2, 99))) if n not in taken)
        taken.add(unique[value])
    return unique


def own_result(source: SourceMap, node: Node) -> bool:
    """An in-place op may be fused when it overwrites an intermediate result that nothing else sees."""
    first = next(references(node), None)
    if first is None:
        return False
    maker = source.producers.get(first)
    return maker is not None and not row(maker.op).reshapes and len(source.users.get(first, ())) == 1


def in_place_hazard(source: SourceMap, nodes: Sequence[int], counting: Collection[int] = ()) -> Refusal | None:
    """A tensor that the region reads and that is changed in place before the region's end.

    The nodes `counting` change their arguments in the new code, too.
    """
    inside = set(nodes)
    for id_ in region_inputs(source.graph, nodes):
        for user in source.users.get(id_, ()):
            if (
                user.inplace
                and user.id not in inside
                and min(inside) < user.id < max(inside)
                and next(references(user)) == id_
            ):
                return Refusal("An input is changed in place in the middle of the region.", _line(user))
    for n in inside:
        node = source.graph.nodes[n]
        if node.inplace and n not in counting and not own_result(source, node):
            return Refusal(f"{node.op} changes its argument in place.", _line(node))
    return None


def saved(
    graph: Graph, nodes: Sequence[int], output: int, biased: Sequence[Biased] = (), *, reads: int = 1
) -> tuple[int, int]:
    """(saved bytes, eager kernels) of a region against one kernel that reads its inputs once and writes its output.

    The bias of a convolution costs eager mode a pass that reads and writes its result.
    """
    inside = [graph.nodes[n] for n in nodes]
    read = sum(tensor_bytes(graph, v) for v in region_inputs(graph, nodes))
    fused = reads * read + tensor_bytes(graph, output)
    eager = sum(eager_bytes(n) for n in inside) + sum(2 * tensor_bytes(graph, one.result) for one in biased)
    kernels = sum(row(n.op).launches for n in inside if not _is_free(graph, n)) + len(biased)
    return max(eager - fused, 0), kernels


def _is_free(graph: Graph, node: Node) -> bool:
    """Whether eager mode launches no kernel for the node."""
    if node.op == "contiguous":
        return not converts_layout(graph, node)
    if node.op == "dropout":
        return not node.kwargs.get("training")
    return row(node.op).reshapes or row(node.op).kind is Kind.CREATION or node.op == "detach"


_SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "bool": 1, "float64": 8}


def tensor_bytes(graph: Graph, value: int) -> int:
    """The bytes of a Value."""
    type_ = graph.value(value).type
    return math.prod(type_.shape) * _SIZES.get(type_.dtype, 1)


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None


def plan(
    source: SourceMap,
    nodes: Sequence[int],
    biased: Sequence[Biased] = (),
    *,
    whole: bool = False,
    counting: Collection[int] = (),
) -> RegionPlan | Refusal:
    """The edit of the source for a region, or why there is none. `whole`: for all results of its last operator."""
    conflict = import_conflict(source.tree) or in_place_hazard(source, nodes, counting)
    calls, biases = [one.call for one in biased], [one.bias for one in biased]
    return conflict or plan_region(source, frozenset(nodes), calls, biases, whole=whole)


def names_for(source: SourceMap, base: str) -> tuple[str, str]:
    """Unused names for kernel and launcher."""
    kernel, launcher = free_names(source, (f"{base}_kernel", f"fused_{base}"))
    return kernel, launcher
