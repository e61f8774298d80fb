"""Double precision that spreads through hot code."""

import ast
from collections.abc import Iterator

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.torch import Hot, TorchUnit, method
from kernelwright.source.trees import walk
from kernelwright.values import Language

_DOUBLE = ("torch.float64", "torch.double", "numpy.float64", "numpy.double")
_NARROWING = ("float", "half", "bfloat16", "type_as", "int", "long", "bool")
_MADE_BY_NUMPY = ("torch.from_numpy", "torch.as_tensor", "torch.tensor")
_FROM_PYTHON = ("numpy.array", "numpy.linspace", "numpy.zeros", "numpy.ones", "numpy.full", "numpy.sqrt", "numpy.exp")


def check(unit: TorchUnit) -> Iterator[Problem]:
    for view in unit.views:
        for node in view.nodes:
            if isinstance(node, ast.Call) and (wide := _widens(view, node)) and not _is_narrowed(view, node):
                yield _problem(view, node, wide)


def _problem(view: Hot, node: ast.Call, wide: ast.expr) -> Problem:
    message = (
        "This is double precision and everything computed with it becomes so too: "
        "GPUs do that at a fraction of their speed (1/64 on consumer cards)."
    )
    if isinstance(wide, ast.Attribute) and view.scope.canonical(wide).startswith("torch."):
        return Problem(
            node, message, fix="Use torch.float32", changes=(Change(wide, f"{ast.unparse(wide.value)}.float32"),)
        )
    if isinstance(node.func, ast.Attribute) and node.func.attr == "double":
        return Problem(node, message, fix="Drop .double()", changes=(Change(node, ast.unparse(node.func.value)),))
    return Problem(node, message)


def _widens(view: Hot, node: ast.Call) -> ast.expr | None:
    """The part that asks for double precision, in a call that makes a double tensor with dimensions."""
    if method(node) == "double" and not node.args and not view.scope.canonical(node):
        return node
    name = view.scope.canonical(node)
    dtype = next((k.value for k in node.keywords if k.arg == "dtype"), None)
    if method(node) == "to" and not name and node.args:
        dtype = dtype or node.args[0]
    if dtype is not None:
        is_double = view.scope.canonical(dtype) in _DOUBLE
        makes = name.startswith("torch.") or (not name and method(node) != "")
        return dtype if is_double and makes and not _is_scalar(view, node, name) else None
    if name in _MADE_BY_NUMPY and node.args and _is_numpy_double(view, node.args[0]):
        return node
    return None


def _is_scalar(view: Hot, node: ast.Call, name: str) -> bool:
    """A tensor without dimensions does not promote one that has some."""
    if name not in ("torch.tensor", "torch.as_tensor", "torch.scalar_tensor") or not node.args:
        return False
    value = view.scope.single(node.args[0])
    if isinstance(value, ast.List | ast.Tuple | ast.ListComp):
        return False
    return not (isinstance(value, ast.Call) and view.scope.canonical(value) in _FROM_PYTHON[:5])


def _is_numpy_double(view: Hot, node: ast.expr) -> bool:
    value = view.scope.single(node)
    if not isinstance(value, ast.Call) or view.scope.canonical(value) not in _FROM_PYTHON[:5]:
        return False
    if any(k.arg == "dtype" for k in value.keywords) or (
        len(value.args) > 1 and view.scope.canonical(value) == "numpy.array"
    ):
        return False
    if view.scope.canonical(value) != "numpy.array":
        return True
    numbers = [n.value for n in walk(value) if isinstance(n, ast.Constant)]
    return any(isinstance(n, float) for n in numbers)


def _is_narrowed(view: Hot, node: ast.Call) -> bool:
    """Whether the result is converted back on purpose, in this expression or by a name that it flows into."""
    holders = view.names_fed_by(node)
    return any(
        _narrows(view, call)
        and any(part is node or (isinstance(part, ast.Name) and part.id in holders) for part in walk(call.func))
        for call in view.nodes
        if isinstance(call, ast.Call) and call is not node
    )


def _narrows(view: Hot, call: ast.Call) -> bool:
    if method(call) in _NARROWING:
        return True
    if method(call) != "to":
        return False
    asked = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "dtype")]
    return any(view.scope.canonical(a) not in _DOUBLE for a in asked)


RULE = Rule(
    code="torch.float64",
    language=Language.TORCH,
    severity=Severity.WARNING,
    title="Double precision that spreads",
    doc="""A float64 tensor with at least one dimension makes everything that it meets float64. NumPy arrays of floats are
float64 unless told otherwise, and `torch.from_numpy` keeps that. Data-centre GPUs do float64 at half the speed
of float32 and twice the traffic, consumer cards at 1/64. Not said of a computation that is converted back on
purpose, nor of scalars, which do not promote.""",
    example_wrong="""
import torch
from torch import nn

class Weighted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64, device=x.device)
""",
    example_right="""
import torch
from torch import nn

class Weighted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor([0.25, 0.5, 0.25], dtype=x.dtype, device=x.device)
""",
    check=check,
)
