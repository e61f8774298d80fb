"""Decides what is made channels-last in a captured call, and where: before convolutions, or where the call begins."""

import ast
import math
from dataclasses import dataclass, replace

from kernelwright.micro.rewrite.channels_last import (
    CONVOLUTIONS,
    FORMATS,
    Format,
    Layouts,
    already_last,
    channels,
    coincide,
    convolutions,
    layouts,
)
from kernelwright.micro.rewrite.whole_module import storage_of
from kernelwright.nest.layouts import is_channels_last
from kernelwright.place.source_map import SourceMap, operands, references
from kernelwright.source.trees import walk
from kernelwright.values import CodeSpan, Graph, Node, Refusal, TensorRef, TensorType

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.Lambda, ast.GeneratorExp, ast.ListComp)
_LARGE = 2**24  # bytes of a tensor whose copy takes much longer than a launch


def is_large(type_: TensorType) -> bool:
    """Whether a copy of fp32 or half-precision numbers of this type is worth a kernel of its own."""
    return math.prod(type_.shape) * (4 if type_.dtype == "float32" else 2) >= _LARGE


@dataclass(frozen=True)
class Plan:
    """A conversion of a captured call.

    `entries`: the expressions to make channels-last, or the arguments of the function, with their rank and, where they
    are what a convolution reads, their type. `views`: operands to make contiguous first.
    `results`: what the call returns and must be contiguous again. `nodes`: the convolutions that then run channels-last;
    `passed_on` says whether anything but a copy reads one of their results as it is. `constructor`: where the weights of
    the whole module can be converted in one line.
    """

    source: SourceMap
    entries: tuple[tuple[ast.expr | ast.arg, int, TensorType | None], ...]
    views: tuple[ast.expr, ...]
    results: tuple[ast.expr, ...]
    nodes: tuple[Node, ...]
    passed_on: bool
    function: ast.FunctionDef
    constructor: ast.FunctionDef | None = None

    @property
    def start_line(self) -> int:
        return min(tree.lineno for tree, *_ in self.entries) - 1

    @property
    def end_line(self) -> int:
        return max(tree.end_lineno or tree.lineno for tree in (*(t for t, *_ in self.entries), *self.results))

    @property
    def large_entries(self) -> bool:
        """Whether a conversion at an entry takes long enough to be worth a kernel."""
        return any(type_ is not None and is_large(type_) for *_, type_ in self.entries)


def plan(source: SourceMap, dtypes: frozenset[str]) -> Plan | Refusal:
    """The conversion of every worthwhile convolution in one of the `dtypes`, or why there is none."""
    graph = source.graph
    wanted, reason = _worthwhile(graph, dtypes)
    if not wanted:
        return reason
    converted: dict[CodeSpan, tuple[ast.expr, int, TensorType | None]] = {}
    after = layouts(source, frozenset())
    for node in wanted:
        if after.of.get(node.tensor()) is Format.LAST or node.where in converted:
            continue
        entry = _entry(source, node)
        if isinstance(entry, Refusal):
            reason = entry
            continue
        first = source.nodes_at[node.where][0] is node  # type: ignore[index]
        type_ = graph.value(node.tensor()).type if first else None
        converted[node.where] = (entry, CONVOLUTIONS[node.op], type_)  # type: ignore[index]
        after = layouts(source, frozenset(converted))
    if not converted:
        return reason
    return _planned(source, tuple(converted.values()), after, wanted)


def whole_plan(source: SourceMap, dtypes: frozenset[str]) -> Plan | Refusal:
    """The conversion of all that enters the call, where one of its convolutions is worth it, or why there is none.

    What runs in containers, loops and other classes of the file needs no edit of its own.
    """
    graph = source.graph
    wanted, reason = _worthwhile(graph, dtypes)
    if not wanted:
        return reason
    function = _entry_function(source)
    if function is None:
        return Refusal(f"The definition of {graph.entry} is not in this file.")
    values = {value.name: value for value in graph.values if value.origin == "input" and value.name}
    arguments = [(arg, values[arg.arg]) for arg in function.args.args if arg.arg in values]
    images = [(arg, v) for arg, v in arguments if len(v.type.shape) in FORMATS and not coincide(v.type.shape)]
    if not images:
        return Refusal("No image or volume enters the call as an argument.", function.lineno - 1)
    given = frozenset(value.id for _, value in images)
    for node in graph.nodes:
        if node.inplace and storage_of(source, node.tensor()) in given:
            return Refusal("The call writes to its input.", _line(node))
    if any(storage_of(source, value) in given for value in graph.outputs):
        return Refusal("The call returns its input, or a view of it.", function.lineno - 1)
    entries = tuple((arg, len(value.type.shape), value.type) for arg, value in images)
    after = layouts(source, frozenset(), given)
    planned = _planned(source, entries, after, wanted)
    if isinstance(planned, Refusal):
        return planned
    return replace(planned, constructor=_constructor(source, function, after))


def _planned(
    source: SourceMap,
    entries: tuple[tuple[ast.expr | ast.arg, int, TensorType | None], ...],
    after: Layouts,
    wanted: list[Node],
) -> Plan | Refusal:
    """The conversion of the `entries`, `after` which Values lie in other layouts."""
    graph = source.graph
    if after.strided:
        node = after.strided[0]
        what = "A Triton kernel" if node.op == "triton_kernel" else f"`{node.op}`"
        return Refusal(f"{what} reads memory by its strides, which would be channels-last there.", _line(node))
    views = _receivers(source, after)
    if isinstance(views, Refusal):
        return views
    function = _entry_function(source)
    if function is None:
        return Refusal(f"The definition of {graph.entry} is not in this file.")
    results = _results(source, function, after)
    if isinstance(results, Refusal):
        return results
    nodes = tuple(n for n in convolutions(graph) if after.of.get(n.outputs[0]) is Format.LAST)
    if not nodes:
        return Refusal("No convolution would read its input channels-last.", _line(wanted[0]))
    passed_on = any(user.op != "contiguous" for n in nodes for user in source.users.get(n.outputs[0], ()))
    return Plan(source, entries, views, results, nodes, passed_on, function)


def _worthwhile(graph: Graph, dtypes: frozenset[str]) -> tuple[list[Node], Refusal]:
    wanted: list[Node] = []
    reason = Refusal("There is no two- or three-dimensional convolution.")
    for node in convolutions(graph):
        dtype = graph.value(node.outputs[0]).type.dtype
        into, out, groups = channels(graph, node)
        if already_last(graph, node):
            reason = Refusal("The convolutions run channels-last already.", _line(node))
        elif dtype not in dtypes:
            reason = Refusal(f"Tensor cores of this GPU do not convolve {dtype}.", _line(node))
        elif groups > 1:
            reason = Refusal(f"A convolution in {groups} groups gains nothing from channels-last.", _line(node))
        elif not (_enough(into) and _enough(out)):
            few = f"{into} to {out} channels"
            reason = Refusal(
                f"{few}: tensor-core kernels want 16 or more, or a multiple of 8, on both sides.", _line(node)
            )
        else:
            wanted.append(node)
    return wanted, reason


def _enough(count: int) -> bool:
    return count >= 16 or count % 8 == 0


def _entry(source: SourceMap, node: Node) -> ast.expr | Refusal:
    """The expression of the convolution's input, or of what enters the container that holds it."""
    tree = source.expression(node)
    if not isinstance(tree, ast.Call) or node.where is None:
        return Refusal("A convolution is called outside this file.", _line(node))
    entry = operands(source, node, tree, {}).get("input")
    if entry is None or isinstance(entry, ast.Starred):
        return Refusal("The input of a convolution stands in no expression of its own.", _line(node))
    there = source.nodes_at[node.where]
    if _in_loop(source, tree) and any(n.op != node.op for n in there):
        return Refusal("The convolution's expression runs other layers too, in a loop.", _line(node))
    after = layouts(source, frozenset({node.where}))
    if any(after.of.get(n.outputs[0]) is not Format.LAST for n in there if n.id == node.id):
        return Refusal("What stands before the convolution, in the same expression, loses the layout.", _line(node))
    return entry


def _in_loop(source: SourceMap, tree: ast.AST) -> bool:
    parent = source.parents.get(tree)
    while parent is not None and not isinstance(parent, ast.FunctionDef):
        if isinstance(parent, _LOOPS):
            return True
        parent = source.parents.get(parent)
    return False


def _receivers(source: SourceMap, after: Layouts) -> tuple[ast.expr, ...] | Refusal:
    """The operands of views, which need a contiguous tensor before them."""
    found: dict[ast.expr, None] = {}
    written = next((n for n in source.graph.nodes if n.inplace), None)
    for node in after.views:
        tree = source.expression(node)
        if written is not None:
            return Refusal("A view of a convolution's result may be changed in place.", _line(written))
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
            return Refusal("A view of a channels-last tensor stands in no expression of its own.", _line(node))
        if len(source.nodes_at.get(node.where, ())) > 1:  # type: ignore[arg-type]
            return Refusal("A view of a channels-last tensor runs more than once.", _line(node))
        found[tree.func.value] = None
    return tuple(found)


def _entry_function(source: SourceMap) -> ast.FunctionDef | None:
    """The function that the workload calls: the entry, or its forward."""
    for item in source.tree.body:
        if isinstance(item, ast.FunctionDef) and item.name == source.graph.entry:
            return item
        if isinstance(item, ast.ClassDef) and item.name == source.graph.entry:
            return next((f for f in item.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)
    return None


def _results(source: SourceMap, function: ast.FunctionDef, after: Layouts) -> tuple[ast.expr, ...] | Refusal:
    """The returned expressions whose layout would change."""
    outputs = source.graph.outputs
    changed = [
        after.of.get(v, Format.CAPTURED) is not Format.CAPTURED
        and not (after.of[v] is Format.LAST and is_channels_last(source.graph.value(v).type))
        for v in outputs
    ]
    if not any(changed):
        return ()
    returns = [n for n in walk(function) if isinstance(n, ast.Return) and source.function(n) is function]
    if len(returns) != 1 or returns[0].value is None:
        return Refusal("The call has several return statements; its result must become contiguous again at one.",
                       function.lineno - 1)  # fmt: skip
    value = returns[0].value
    parts = list(value.elts) if isinstance(value, ast.Tuple | ast.List) else [value]
    if len(parts) != len(outputs) or any(isinstance(part, ast.Starred) for part in parts):
        return Refusal("The returned tensors do not stand side by side in the return statement.", value.lineno - 1)
    return tuple(part for part, needed in zip(parts, changed, strict=True) if needed)


def _constructor(source: SourceMap, function: ast.FunctionDef, after: Layouts) -> ast.FunctionDef | None:
    """The constructor of the module around `function`, where convolutions alone read what `.to()` would convert."""
    graph, readers = source.graph, list(convolutions(source.graph))
    for node in readers:
        here = node.outputs[0]
        as_before = after.of.get(here, Format.CAPTURED) is Format.CAPTURED
        if (as_before and not coincide(graph.value(here).type.shape)) or not only_convolves(source, node):
            return None
    weights = {node.tensor(1) for node in readers}
    kept = [v for v in graph.values if v.origin in ("parameter", "buffer") and len(v.type.shape) in FORMATS]
    if {v.id for v in kept} != weights or len({len(v.type.shape) for v in kept}) != 1:
        return None
    owner = source.parents[function]
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    found = next((s for s in body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
    if found is None or any(isinstance(item, ast.Return) and source.function(item) is found for item in walk(found)):
        return None
    return found


def only_convolves(source: SourceMap, node: Node) -> bool:
    """Whether nothing else reads the weight, which could depend on its strides."""
    weight = node.args[1] if len(node.args) > 1 else None
    users = source.users.get(weight.id, ()) if isinstance(weight, TensorRef) else ()
    return bool(users) and all(u.op in CONVOLUTIONS and next(references(u)) != weight.id for u in users)  # type: ignore[union-attr]


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None
