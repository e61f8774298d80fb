"""Whether a fused region is right for tensors of another floating dtype than the workload's, and what its result has then."""

import ast
from collections.abc import Collection, Mapping, Sequence

from kernelwright.nest.form import FLOATS
from kernelwright.place.source_env import environment
from kernelwright.place.source_map import SourceMap, references
from kernelwright.values import Node

_OWN = "own"  # the dtype that all floating inputs have in common
_METHODS = {"float": "float32", "half": "float16", "bfloat16": "bfloat16"}


def casts_for_any(source: SourceMap, nodes: Sequence[Node], inputs: Mapping[int, str]) -> bool | None:
    """Whether the result has a dtype that the text names, rather than that of its `inputs`, whichever they have.

    None where it is not known what it has for inputs of another floating dtype.
    """
    floats = set(inputs.values()) & set(FLOATS)
    if len(floats) != 1 or any(n.op == "rms_norm" and n.kwargs.get("eps") is None for n in nodes):
        return None  # a promotion, or an eps that is the dtype's
    kinds: dict[int, str] = {value: _OWN if dtype in FLOATS else "" for value, dtype in inputs.items()}
    for node in nodes:
        kind = _kind(source, node, kinds)
        if kind is None:
            return None
        kinds |= dict.fromkeys(node.outputs[:1], kind)
    return kinds[nodes[-1].outputs[0]] != _OWN


def _kind(source: SourceMap, node: Node, kinds: Mapping[int, str]) -> str | None:
    """The dtype that the node's result has: _OWN, a floating one, "" for others; None where that cannot be told."""
    made = source.graph.value(node.outputs[0]).type
    if node.op == "tensor" or made.dtype not in FLOATS:
        return ""
    if node.op == "to":
        return _cast(source, node, kinds)
    if node.kwargs.get("dtype") is not None:
        return None
    read = list(references(node))
    shaped = [v for v in read if source.graph.value(v).type.shape] or read  # numbers promote nothing
    return _promoted({kinds.get(v, "") for v in shaped} - {""})


def _promoted(kinds: Collection[str]) -> str | None:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "float32" if not kinds or set(kinds) == {_OWN, "float32"} else None


def _cast(source: SourceMap, node: Node, kinds: Mapping[int, str]) -> str | None:
    """The dtype as the text writes it: by a method's name, as one of torch's, or as that of a tensor of the region."""
    tree = source.expression(node)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute):
        return None
    if tree.func.attr in _METHODS:
        return _METHODS[tree.func.attr]
    written = [*tree.args, *(k.value for k in tree.keywords)]
    if len(written) != 1 or not isinstance(written[0], ast.Attribute):
        return None
    named, function = written[0], source.function(tree)
    if named.attr in FLOATS:
        return named.attr
    if named.attr != "dtype" or function is None:
        return None
    of = source.value_of(named.value, environment(source, function, set(), source.statement(tree)))
    return kinds.get(of) if of is not None else None
