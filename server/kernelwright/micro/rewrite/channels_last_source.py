"""Writes the conversions to channels-last, and back at the end of the call, into the user's source."""

import ast
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kernelwright.micro.rewrite.channels_last import (
    CONVOLUTIONS,
    FORMATS,
    Format,
    Layouts,
    already_last,
    channels,
    convolutions,
    layouts,
)
from kernelwright.micro.rewrite.printed import Printed
from kernelwright.nest.layouts import is_channels_last
from kernelwright.place.layout import IMPORTS, import_conflict, insertion_edits, module_names, newline_of
from kernelwright.place.source_map import SourceMap, attribute_path, operands, references
from kernelwright.source.trees import walk
from kernelwright.values import CodeSpan, Edits, Graph, Node, Refusal, TensorRef, TensorType, TextEdit, digest

_LAYERS = frozenset({"Conv2d", "Conv3d", "ConvTranspose2d", "ConvTranspose3d"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension, ast.Lambda, ast.GeneratorExp, ast.ListComp)
_LABEL = "channels-last convolutions"
_LARGE = 2**24  # bytes of a tensor whose copy takes much longer than a launch

CopyKernel = Callable[[SourceMap, TensorType], Printed]
"""Prints the kernel that copies tensors of a type into channels-last memory."""


def is_large(type_: TensorType) -> bool:
    """Whether a copy of fp32 or half-precision numbers of this type is worth a kernel of its own."""
    return math.prod(type_.shape) * (4 if type_.dtype == "float32" else 2) >= _LARGE


@dataclass(frozen=True)
class Plan:
    """A conversion of a captured call.

    `entries`: the expressions to make channels-last, with their rank and, where they are what a convolution reads, their
    type. `views`: operands to make contiguous first.
    `results`: what the call returns and must be contiguous again. `nodes`: the convolutions that then run channels-last;
    `passed_on` says whether anything but a copy reads one of their results as it is.
    """

    source: SourceMap
    entries: tuple[tuple[ast.expr, int, TensorType | None], ...]
    views: tuple[ast.expr, ...]
    results: tuple[ast.expr, ...]
    nodes: tuple[Node, ...]
    passed_on: bool
    function: ast.FunctionDef

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
    return Plan(source, tuple(converted.values()), views, results, nodes, passed_on, function)


def write(plan: Plan, *, weights: bool, kernel: CopyKernel | None = None) -> Edits | Refusal:
    """The Edits of a plan; with `weights` the layers' weights are converted once, where the module is constructed.

    With `kernel` the Triton kernel that it prints converts large entries. A Refusal where `weights` is asked for and no
    layer is constructed in this file, or names that a kernel needs mean something else.
    """
    source = plan.source
    imported = module_names(source.tree)
    if imported.get("torch", "torch") != "torch":
        return Refusal(f"`torch` names {imported['torch']} in this file.")
    if kernel and (conflict := import_conflict(source.tree)) is not None:
        return conflict
    definitions: dict[int, Printed] = {}
    edits: list[TextEdit] = []
    for tree, rank, type_ in plan.entries:
        if kernel and type_ is not None and is_large(type_):
            definitions.setdefault(rank, kernel(source, type_))
            start, end = source.offsets(tree)
            edits += [TextEdit(start, start, f"{definitions[rank].call}("), TextEdit(end, end, ")")]
        else:
            edits += _wrapped(source, tree, f"memory_format=torch.{FORMATS[rank]}")
    edits += [e for tree in (*plan.views, *plan.results) for e in _wrapped(source, tree, "")]
    needed = tuple(IMPORTS) if definitions else ("torch",)
    text = "\n\n\n".join(printed.definitions for printed in definitions.values())
    edits += insertion_edits(source, plan.function, text, tuple(name for name in needed if name not in imported))
    if weights:
        constructed = _weight_edits(source, plan.nodes)
        if not constructed:
            return Refusal("The layers are not constructed by plain assignments in this file.")
        edits += constructed
    extra = [*(["weights included"] if weights else []), *(["converted by a kernel"] if kernel else [])]
    summary = ", ".join([_LABEL, *extra])
    return Edits(digest(source.text), tuple(sorted(edits, key=lambda e: (e.start, e.end))), summary)


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


def _wrapped(source: SourceMap, tree: ast.expr, argument: str) -> Iterable[TextEdit]:
    start, end = source.offsets(tree)
    if isinstance(tree, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        return [TextEdit(end, end, f".contiguous({argument})")]
    return [TextEdit(start, start, "("), TextEdit(end, end, f").contiguous({argument})")]


def _weight_edits(source: SourceMap, nodes: tuple[Node, ...]) -> list[TextEdit]:
    """A line after each construction of a layer that converts its weight once."""
    edits: dict[int, TextEdit] = {}
    newline = newline_of(source.text)
    for node in nodes:
        if not _only_convolves(source, node):
            continue
        statement = _construction(source, node)
        if statement is None:
            continue
        end = source.starts[statement.end_lineno or statement.lineno]
        rest = source.text[source.offsets(statement)[1] : end].strip()
        indent = source.text[source.starts[statement.lineno - 1] : source.offsets(statement)[0]]
        if indent.strip() or (rest and not rest.startswith("#")):
            continue
        layer = source.segment(statement.targets[0])
        line = f"{indent}{layer}.to(memory_format=torch.{FORMATS[CONVOLUTIONS[node.op]]}){newline}"
        edits[end] = TextEdit(end, end, line)
    return list(edits.values())


def _only_convolves(source: SourceMap, node: Node) -> bool:
    """Whether nothing else reads the weight, which could depend on its strides."""
    weight = node.args[1] if len(node.args) > 1 else None
    users = source.users.get(weight.id, ()) if isinstance(weight, TensorRef) else ()
    return bool(users) and all(u.op in CONVOLUTIONS and next(references(u)) != weight.id for u in users)  # type: ignore[union-attr]


def _construction(source: SourceMap, node: Node) -> ast.Assign | None:
    """`self.conv = nn.Conv2d(…)` in the class that calls `self.conv(…)`, where it is assigned only once."""
    tree = source.expression(node)
    path = attribute_path(tree.func) if isinstance(tree, ast.Call) else None
    owner: ast.AST | None = tree
    while owner is not None and not isinstance(owner, ast.ClassDef):
        owner = source.parents.get(owner)
    if path is None or owner is None:
        return None
    assigned = [
        s for s in walk(owner) if isinstance(s, ast.Assign) and any(attribute_path(t) == path for t in s.targets)
    ]
    if len(assigned) != 1 or len(assigned[0].targets) != 1 or not isinstance(assigned[0].value, ast.Call):
        return None
    called = assigned[0].value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    root = called
    while isinstance(root, ast.Attribute):
        root = root.value
    module = module_names(source.tree).get(getattr(root, "id", ""), "")
    plain = name in _LAYERS and module.split(".")[0] == "torch"
    return assigned[0] if plain and source.starts[-1] >= source.offsets(assigned[0])[1] else None


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None
