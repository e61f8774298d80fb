"""Attention written out as matmul, softmax, matmul."""

import ast
from collections.abc import Callable, Iterator

from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.torch import Hot, TorchUnit, method, on_self
from kernelwright.values import Language

_MATMULS = ("torch.matmul", "torch.bmm", "torch.baddbmm")
_SOFTMAXES = ("torch.softmax", "torch.nn.functional.softmax")
_PASSING_METHODS = (
    "masked_fill",
    "masked_fill_",
    "to",
    "float",
    "half",
    "type_as",
    "contiguous",
    "div",
    "mul",
    "add",
    "clone",
)
_PASSING = ("torch.where", "torch.nn.functional.dropout", "torch.masked_fill", "torch.div", "torch.mul", "torch.add")


def check(unit: TorchUnit) -> Iterator[Problem]:
    soft = _named(unit, "torch.nn.Softmax")
    passing = _named(unit, "torch.nn.Dropout") | _named(unit, "torch.nn.Identity")
    for view in unit.views:
        yield from _in_function(view, soft, passing)


def _named(unit: TorchUnit, kind: str) -> frozenset[str]:
    return frozenset(
        name for name, call in unit.modules.items() if unit.init is not None and unit.init.canonical(call) == kind
    )


def _in_function(view: Hot, soft: frozenset[str], passing: frozenset[str]) -> Iterator[Problem]:
    labels: dict[str, str] = {}

    def label(node: ast.expr) -> str:
        """ "scores" for q @ k^T through scaling and masking, "weights" for their softmax through dropout, else ""."""
        match node:
            case ast.Name(id=name):
                return labels.get(name, "")
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return "scores" if not label(left) and _is_transposed(view, right) else ""
            case ast.BinOp(left=left, right=right):
                return label(left) or label(right)
            case ast.Call(args=args):
                name, called = view.scope.canonical(node), on_self(node)
                labelled = [label(argument) for argument in args]
                first = labelled[0] if args else ""
                if name in _MATMULS and len(args) >= 2:
                    return "scores" if not first and _is_transposed(view, args[-1]) else ""
                if name == "torch.einsum" and args and _contracts_last(args[0]):
                    return "scores" if not any(labelled[1:]) else ""
                if name in _SOFTMAXES or called in soft:
                    return "weights" if first == "scores" else ""
                if name in _PASSING or called in passing:
                    return next(filter(None, labelled), "")
                if isinstance(node.func, ast.Attribute) and not name and not called:
                    of = label(node.func.value)
                    if node.func.attr == "softmax":
                        return "weights" if of == "scores" else ""
                    if node.func.attr in ("matmul", "bmm"):
                        return "scores" if not of and args and _is_transposed(view, args[0]) else ""
                    return of if node.func.attr in _PASSING_METHODS else ""
        return ""

    found: list[ast.AST] = []
    for node in view.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                labels[name] = label(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value) if not labels.get(name):
                labels[name] = label(value)
            case ast.Return(value=ast.expr() as value) if _gives_away(value, labels):
                return
            case ast.Assign(targets=[ast.Attribute()], value=value) if label(value) == "weights":
                return  # the weights are kept, and the fused form does not give them
        if _multiplies_weights(view, node, label):
            found.append(node)
    for node in found:
        yield Problem(
            node,
            "This is attention written out, which stores the whole score matrix: "
            "torch.nn.functional.scaled_dot_product_attention computes it in one fused kernel.",
        )


def _gives_away(value: ast.expr, labels: dict[str, str]) -> bool:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(isinstance(p, ast.Name) and labels.get(p.id) == "weights" for p in parts)


def _multiplies_weights(view: Hot, node: ast.AST, label: Callable[[ast.expr], str]) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.MatMult()):
            return label(left) == "weights"
        case ast.Call(args=[first, _, *_]) if view.scope.canonical(node) in _MATMULS:
            return label(first) == "weights"
        case ast.Call(args=[_, first, *_]) if view.scope.canonical(node) == "torch.einsum":
            return label(first) == "weights"
        case ast.Call(func=ast.Attribute(value=of), args=[_]) if method(node) in ("matmul", "bmm"):
            return label(of) == "weights"
    return False


def _is_transposed(view: Hot, node: ast.expr) -> bool:
    """k.transpose(-2, -1), k.mT, k.T or k.permute(...), directly or by a name made so."""
    match view.scope.single(node):
        case ast.Attribute(attr="T" | "mT"):
            return True
        case ast.Call() as call if method(call) == "permute":
            return True
        case ast.Call() as call if method(call) == "transpose" or view.scope.canonical(call) == "torch.transpose":
            numbers = {view.scope.number(a) for a in call.args[-2:]}
            return bool(numbers & {-1, 3}) or numbers == {1, 2} or numbers == {0, 1}
    return False


def _contracts_last(node: ast.expr) -> bool:
    """einsum("...id,...jd->...ij"): both operands end with the index that is summed."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    inputs, _, output = node.value.replace(" ", "").partition("->")
    operands = inputs.split(",")
    return len(operands) == 2 and all(operands) and operands[0][-1] == operands[1][-1] and operands[0][-1] not in output


RULE = Rule(
    code="torch.attention",
    language=Language.TORCH,
    severity=Severity.HINT,
    title="Hand-written attention",
    doc="""Written as matmul, softmax and matmul, attention writes a score matrix of sequence length squared to memory and
reads it back several times. `torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=…,
is_causal=…)` chooses a fused kernel that keeps it on chip. Not said where the weights themselves are returned
or kept.""",
    example_wrong="""
import math
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return torch.softmax(scores, dim=-1) @ v
""",
    example_right="""
import torch
from torch import nn
import torch.nn.functional as F

class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v)
""",
    check=check,
)
