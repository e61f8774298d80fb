"""A region of a graph that can become one kernel: its Program, its edit of the source, what it saves."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelwright.micro.rewrite.channels import add_bias
from kernelwright.micro.rewrite.convolution_bias import Biased
from kernelwright.micro.rewrite.dtypes import with_dtypes
from kernelwright.micro.rewrite.eager_speed import converts_layout, eager_bytes
from kernelwright.micro.rewrite.lowering import Lowering, NotLowerable
from kernelwright.micro.rewrite.program import Domain, Program
from kernelwright.micro.rewrite.ranks import takes_any_rank
from kernelwright.micro.rewrite.sizes import result_shape, suffix
from kernelwright.nest.layouts import CONTIGUOUS, layout_of
from kernelwright.ops import Kind, row
from kernelwright.place.expression import RegionPlan, plan_region, region_inputs
from kernelwright.place.layout import free_names, import_conflict
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Graph, Node, Refusal

CACHED_ROW = 2**19  # bytes: with a row of this size on each multiprocessor the level-2 cache is full


@dataclass(frozen=True)
class FusedRegion:
    """Nodes that become one kernel. `saved_bytes`: memory traffic that eager mode has and the kernel has not.

    `biases`: inputs to which the kernel adds the bias of the convolution that makes them. `others`: for each other module that
    runs the code which is edited, the nodes that the same edit replaces.
    """

    nodes: tuple[int, ...]
    edit: RegionPlan
    output: int
    domain: Domain
    program: Program
    saved_bytes: int
    kernels: int  # that eager mode launches
    biases: Mapping[int, int] = field(default_factory=dict)
    others: tuple[tuple[int, ...], ...] = ()

    @property
    def all_nodes(self) -> tuple[int, ...]:
        """The nodes that the edit replaces, of every module that runs it."""
        return (*self.nodes, *(n for nodes in self.others for n in nodes))


def lower(
    graph: Graph,
    nodes: Sequence[int],
    output: int,
    domain: Domain,
    plan: RegionPlan | None = None,
    biased: Sequence[Biased] = (),
) -> Program:
    """The Program of a region, which adds the biases of the convolutions `biased` too.

    With a plan its inputs and numbers carry the source's names. Raises NotLowerable.
    """
    inside = [graph.nodes[n] for n in sorted(nodes)]
    lowering = started(graph, nodes, domain, plan, biased)
    program = lowering.run(inside, output)
    if plan is not None:
        program = with_dtypes(plan.source, inside, program)
        program = replace(program, any_rank=not biased and takes_any_rank(plan.source, inside, program))
    for operand in program.operands:
        for term in operand.terms or ():
            suffix(program, operand, term)
    if program.result_level == "row":
        if result_shape(program) is None:
            raise NotLowerable("The result's shape does not follow from the input's.", inside[-1])
    elif program.result_shape != program.domain.shape:
        raise NotLowerable("The result has another shape than the region's main input.", inside[-1])
    return program


def started(
    graph: Graph, nodes: Sequence[int], domain: Domain, plan: RegionPlan | None, biased: Sequence[Biased]
) -> Lowering:
    """A Lowering that has loaded the region's main input and added the biases. Raises NotLowerable."""
    first = graph.nodes[min(nodes)]
    main = _main_value(graph, region_inputs(graph, nodes), domain)
    if main is None:
        layout = domain.layout.replace("_", "-")
        raise NotLowerable(f"No {layout} input of the region has its full size.", first)
    domain = replace(domain, value=main, shape=graph.value(main).type.shape, axes=_axes(graph, main, domain))
    names = {v: kernel_name(text) for v, text in plan.names.items()} if plan else {}
    names |= {one.bias: bias_name(plan.names[one.bias]) for one in biased if plan}
    lowering = Lowering(graph, domain, unique(names), plan.scalars if plan else {}, plan.names if plan else None)
    lowering.operand(main, "element", domain.shape, first)
    for one in biased:
        add_bias(lowering, one.node, one.bias)
    return lowering


def _main_value(graph: Graph, inputs: Sequence[int], domain: Domain) -> int | None:
    """The first input with as many elements as the domain, preferably of its shape; no view is channels-last."""
    types = {v: graph.value(v).type for v in inputs}
    full = [v for v, t in types.items() if math.prod(t.shape) == domain.numel and layout_of(t) == domain.layout]
    same = [v for v in full if graph.value(v).type.shape == domain.shape]
    return next(iter(same or (full if domain.layout == CONTIGUOUS else [])), None)


def _axes(graph: Graph, main: int, domain: Domain) -> tuple[int, int] | None:
    """The reduced dims, in terms of the main input's shape."""
    if domain.groups:
        return None
    shape = graph.value(main).type.shape
    for start in range(len(shape) + 1):
        for stop in range(start, len(shape) + 1):
            parts = math.prod(shape[:start]), math.prod(shape[start:stop]), math.prod(shape[stop:])
            if parts == (domain.outer, domain.length, domain.inner) and (stop > start or domain.length == 1):
                if domain.shape == shape and domain.axes is not None:
                    return domain.axes
                return start, stop
    raise NotLowerable("The rows do not follow the dims of the region's main input.")


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


def measure(
    graph: Graph, nodes: Sequence[int], output: int, domain: Domain, biased: Sequence[Biased] = ()
) -> tuple[int, int]:
    """What `saved` says of a region of rows: those that no cache holds are read again to apply what was reduced."""
    row_bytes = tensor_bytes(graph, domain.value) // (domain.outer * domain.inner)
    long = domain.inner == 1 and row_bytes > CACHED_ROW
    twice = long and math.prod(graph.value(output).type.shape) == domain.numel
    return saved(graph, nodes, output, biased, reads=2 if twice else 1)


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


def group_text(graph: Graph, region: FusedRegion) -> tuple[str, dict[str, str]]:
    """How the launcher writes the number of groups of a group norm, and the further parameter that it needs for it."""
    if not region.domain.groups:
        return "", {}
    node = next(graph.nodes[n] for n in region.nodes if graph.nodes[n].op == "group_norm")
    expression = region.edit.scalars.get((node.id, "num_groups"))
    if expression is None:
        return str(region.domain.groups), {}
    return "num_groups", {"num_groups": expression}
