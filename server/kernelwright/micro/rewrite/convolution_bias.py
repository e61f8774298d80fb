"""Convolutions whose bias a fused kernel can add: PyTorch runs cuDNN without it and adds it in a pass of its own."""

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kernelwright.ops import Kind, parameters, row
from kernelwright.place.layout import module_names
from kernelwright.place.new_calls import NewCall
from kernelwright.place.region import region_inputs
from kernelwright.place.source_map import SourceMap, is_module_call
from kernelwright.values import Argument, Node, TensorRef


@dataclass(frozen=True)
class Biased:
    """A convolution of the graph: the Values of its result and of its bias, and its call without the bias."""

    node: Node
    result: int
    bias: int
    call: NewCall


def biased_convolutions(source: SourceMap, nodes: Collection[int]) -> tuple[Biased, ...]:
    """The convolutions whose results nothing but `nodes` reads, where their calls can be written without the bias."""
    found = (_biased(source, nodes, value) for value in region_inputs(source.graph, nodes))
    return tuple(one for one in found if one is not None)


def _biased(source: SourceMap, nodes: Collection[int], value: int) -> Biased | None:
    node = source.producers.get(value)
    if (
        node is None
        or row(node.op).kind is not Kind.CONVOLUTION
        or node.where is None
        or len(source.nodes_at[node.where]) > 1
    ):
        return None
    others = [user for user in source.users.get(value, ()) if user.id not in nodes]
    if others or value in source.graph.outputs:
        return None
    given = dict(zip(parameter_names(node), node.args, strict=False)) | dict(node.kwargs)
    bias = given.get("bias")
    batched = len(source.graph.value(value).type.shape) == int(node.op[-2]) + 2
    if not isinstance(bias, TensorRef) or not batched or given.get("groups", 1) != 1:
        return None  # convolutions in groups have kernels that add the bias themselves
    tree = source.expression(node)
    call = _without_bias(source, node, tree, given) if isinstance(tree, ast.Call) else None
    return Biased(node, value, bias.id, call) if call else None


def _without_bias(source: SourceMap, node: Node, tree: ast.Call, given: Mapping[str, Argument]) -> NewCall | None:
    if any(isinstance(a, ast.Starred) for a in tree.args) or any(k.arg is None for k in tree.keywords):
        return None
    value = node.outputs[0]
    if not is_module_call(node, tree):
        name = tree.func.attr if isinstance(tree.func, ast.Attribute) else getattr(tree.func, "id", "")
        named = any(k.arg == "bias" for k in tree.keywords)
        if name != node.op or not (named or len(tree.args) > 2):
            return None
        arguments = [source.segment(a) for a in tree.args]
        arguments[2:3] = ["None"] * len(arguments[2:3])
        arguments += [source.segment(k) for k in tree.keywords if k.arg != "bias"]
        return NewCall(value, tree, source.segment(tree.func), tuple(arguments))
    names = [source.graph.value(ref.id).name for ref in (given["weight"], given["bias"]) if isinstance(ref, TensorRef)]
    if len(tree.args) != 1 or tree.keywords or names != [f"{node.module}.weight", f"{node.module}.bias"]:
        return None
    layer = source.segment(tree.func)
    options = (f"{layer}.{name}" for name in parameter_names(node)[3:])
    arguments = [source.segment(tree.args[0]), f"{layer}.weight", "None", *options]
    return NewCall(value, tree, f"{functional(source.tree)}.{node.op}", tuple(arguments))


def functional(tree: ast.Module) -> str:
    """How the file spells torch.nn.functional, once it has `import torch`."""
    names = {meaning: name for name, meaning in module_names(tree).items()}
    nn = names.get("torch.nn", f"{names.get('torch', 'torch')}.nn")
    return names.get("torch.nn.functional", f"{nn}.functional")


def parameter_names(node: Node) -> tuple[str, ...]:
    """Input, weight, bias and the options, which are parameters of the function and attributes of the layer alike."""
    return tuple(name for name, _ in parameters(node.op)[0])
