"""Whether all that a module's forward does is to compute a result and update buffers, so that it needs no Python again."""

import ast

from kernelwright.ops import row
from kernelwright.place.layout import module_names
from kernelwright.place.source_map import SourceMap, attribute_path
from kernelwright.source.trees import walk
from kernelwright.values import Graph, Node, Refusal, TensorRef, TensorType

# What Python does apart from calling torch, by the module or function that does it.
_ON_THE_HOST = frozenset({"random", "numpy", "time", "os", "sys", "logging"})
_TOLD = frozenset({"print", "input", "open"})


def forward_of(source: SourceMap, name: str) -> ast.FunctionDef | Refusal:
    """The forward of the module class `name`, where it can be called in another way; otherwise why not."""
    owner = next((s for s in source.tree.body if isinstance(s, ast.ClassDef) and s.name == name), None)
    if owner is None:
        return Refusal(f"{name} is a function: only a module's forward can be run as a whole in another way.")
    if name != source.graph.entry:
        return Refusal(f"{name} is a part of {source.graph.entry}, which the workload calls.", owner.lineno - 1)
    forward = next((s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "forward"), None)
    if forward is None:
        return Refusal(f"{name} has no forward of its own.", owner.lineno - 1)
    if forward.decorator_list:
        return Refusal("The forward is decorated already.", forward.decorator_list[0].lineno - 1)
    if forward.args.vararg is not None or forward.args.kwarg is not None:
        return Refusal("The forward takes any number of arguments.", forward.lineno - 1)
    return forward


def not_repeatable(source: SourceMap, forward: ast.FunctionDef) -> Refusal | None:
    """Why a call does more than compute a result from its tensors and update buffers; None where it does not."""
    graph = source.graph
    for node in graph.nodes:
        if draws(node):
            mode = " in training mode" if node.kwargs.get("training") is True else ""
            return Refusal(f"{node.op} draws random numbers{mode}.", _line(node))
        written = _written(graph, node)
        origin = None if written is None else graph.value(storage_of(source, written))
        if origin is not None and origin.origin in _ORIGINS:
            name = f" {origin.name}" if origin.name else ""
            return Refusal(f"The call writes to {_ORIGINS[origin.origin]}{name}.", _line(node))
    return _unusual_result(source) or _unusual_statement(source, forward)


# What a call may not write to: its own tensors are nobody else's, and buffers are updated once by each repetition.
_ORIGINS = {
    "input": "the input",
    "parameter": "the parameter",
    "constant": "a tensor that was there before",
}


def _unusual_result(source: SourceMap) -> Refusal | None:
    graph = source.graph
    roots = [storage_of(source, value) for value in graph.outputs]
    if not roots:
        return Refusal("The call returns no tensor.")
    if any(graph.value(root).origin != "node" for root in roots):
        return Refusal("The call returns a tensor that it did not make.")
    if len(set(roots)) < len(roots):
        return Refusal("Two results of the call share their memory.")
    if not all(_is_dense(graph.value(value).type) for value in graph.outputs):
        return Refusal("A result of the call is a part of a larger tensor, or repeats one.")
    return None


def _unusual_statement(source: SourceMap, forward: ast.FunctionDef) -> Refusal | None:
    """What the functions that ran do beside calling torch: a repetition would leave it out."""
    functions = {forward: None}
    for node in source.graph.nodes:
        tree = source.expression(node)
        function = source.function(tree) if tree is not None else None
        if function is not None:
            functions[function] = None
    imported = module_names(source.tree)
    for item in (item for function in functions for item in walk(function)):
        line = getattr(item, "lineno", 1) - 1
        if isinstance(item, ast.Global | ast.Nonlocal):
            return Refusal("The forward changes variables outside of it.", line)
        if isinstance(item, ast.Attribute | ast.Subscript) and not isinstance(item.ctx, ast.Load):
            path = attribute_path(item)
            if path is not None:
                return Refusal(f"The forward sets self.{path}.", line)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            module = imported.get(item.id, "").split(".")[0]
            if module in _ON_THE_HOST or item.id in _TOLD:
                return Refusal(f"The forward uses {item.id}, which a repetition of its kernels would leave out.", line)
    return None


def draws(node: Node) -> bool:
    """Whether a node draws random numbers: a dropout that is off, or of probability 0, does not."""
    if not row(node.op).draws:
        return False
    return node.kwargs.get("training") is not False and node.kwargs.get("p") not in (0, 0.0)


def _written(graph: Graph, node: Node) -> int | None:
    """The Value that a node writes to, if it is one of those that were there before."""
    if row(node.op).effects and node.kwargs.get("training") is True:
        first = node.args[1] if len(node.args) > 1 else None
    else:
        first = node.args[0] if node.inplace and node.args else None
    return first.id if isinstance(first, TensorRef) else None


def storage_of(source: SourceMap, value: int) -> int:
    """The Value in whose memory another one may lie, itself where it has its own."""
    while (maker := source.producers.get(value)) is not None:
        first = maker.args[0] if maker.args else None
        found = row(maker.op)
        if not isinstance(first, TensorRef) or not (maker.inplace or found.view or found.passes_on):
            return value
        value = first.id
    return value


def _is_dense(type_: TensorType) -> bool:
    """Whether the elements fill their memory without gaps and repetitions, in some order of the dims."""
    expected = 1
    for size, stride in sorted(zip(type_.shape, type_.stride, strict=True), key=lambda pair: (pair[1], pair[0])):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _line(node: Node) -> int | None:
    return node.where.start_line if node.where else None
