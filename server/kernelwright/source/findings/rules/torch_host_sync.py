"""Hot code that waits for the GPU to hand a value to Python."""

import ast
from collections.abc import Iterator

from kernelwright.ops import Kind, of_kind
from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.torch import Hot, TorchUnit, method
from kernelwright.source.trees import walk
from kernelwright.values import Language

_METHODS = ("item", "cpu", "tolist", "numpy")
_CONVERSIONS = ("bool", "int", "float")
_FACTORIES = frozenset(f"torch.{name}" for name in of_kind(Kind.CREATION) if not name.endswith("_like"))


def check(unit: TorchUnit) -> Iterator[Problem]:
    for view in unit.views:
        failing = {part for node in view.nodes if isinstance(node, ast.Raise) for part in walk(node)}
        for node in view.nodes:
            what = _waits(view, node)
            if what is not None and node not in failing:  # an error message may take its time
                place, cause = what
                if any(_is_made_on_cpu(view, part) for part in view.scope.walk(place)):
                    continue
                yield Problem(
                    place,
                    f"{cause} waits for the GPU and stops everything behind it: "
                    "keep the value on the device, or move this out of the hot path.",
                )


def _is_made_on_cpu(view: Hot, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or view.scope.canonical(node) not in _FACTORIES:
        return False
    device = next((k.value for k in node.keywords if k.arg == "device"), None)
    return device is None or (isinstance(device, ast.Constant) and device.value == "cpu")


def _waits(view: Hot, node: ast.AST) -> tuple[ast.AST, str] | None:
    match node:
        case ast.Call(func=ast.Name(id="print"), args=args) if any(_prints(view, a) for a in args):
            return node, "Printing a tensor"
        case ast.Call(func=ast.Name(id=name), args=[value]) if name in _CONVERSIONS and view.is_tensor(value):
            return node, f"{name}() of a tensor"
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=[]) if name in _METHODS and _may_be_tensor(
            view, of
        ):
            return node, f".{name}()"
        case ast.Call(args=[ast.Constant(value="cpu"), *_]) if method(node) == "to":
            return node, '.to("cpu")'
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            decided = _decided(view, test)
            return None if decided is None else (decided, "The truth of a tensor")
    return None


def _may_be_tensor(view: Hot, node: ast.expr) -> bool:
    """Everything but what is plainly something else: an attribute of a configuration, a numpy value."""
    if method(node) in _METHODS:
        return False  # said at the inner call
    return view.is_tensor(node) or not view.scope.canonical(node).startswith(("numpy.", "math."))


def _prints(view: Hot, node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(v, ast.FormattedValue) and view.is_tensor(v.value) for v in node.values)
    return view.is_tensor(node)


def _decided(view: Hot, test: ast.expr) -> ast.expr | None:
    match test:
        case ast.BoolOp(values=values):
            return next((found for v in values if (found := _decided(view, v)) is not None), None)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _decided(view, operand)
        case ast.Compare() | ast.Call() | ast.Name() | ast.BinOp() | ast.Subscript():
            return test if view.is_tensor(test) else None
    return None


RULE = Rule(
    code="torch.host-sync",
    language=Language.TORCH,
    severity=Severity.WARNING,
    title="Hot code waits for the GPU",
    doc="""PyTorch queues work on the GPU and runs ahead. `.item()`, `.cpu()`, `.tolist()`, `.numpy()`, printing a tensor
and deciding by one (`if x.sum() > 0`) need its value in Python: the CPU waits until everything queued is done,
and the GPU idles afterwards. Decide with `torch.where`, keep scalars as tensors, and print outside `forward`.""",
    example_wrong="""
import torch
from torch import nn

class Scale(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.abs().max().item()
""",
    example_right="""
import torch
from torch import nn

class Scale(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.abs().max()
""",
    check=check,
)
